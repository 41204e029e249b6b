//! A safepoint of the prompt plan, a collection, a step of one, and the counters.

use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;
use crate::memory::size_class::CLASSES;
use crate::object::ObjectRef;
use crate::report::statistics::Statistics;
use crate::services::finalizer::{ROUNDS_MAX, Turn};
use crate::turn::LastTurn;

impl Heap {
    /// A safepoint of the prompt plan: drains; tries candidates when there are enough of them.
    #[inline(always)]
    pub fn prompt_safepoint(mut heap: HeapEntry, words: &[u64]) {
        if !heap.passes_over() && !heap.drains_quickly(words) {
            Heap::whole_safepoint(heap, words);
        }
    }

    #[inline(never)]
    fn whole_safepoint(mut heap: HeapEntry, words: &[u64]) {
        heap.inspect();
        let address_taken = heap.context_mut().address_taken;
        match address_taken {
            0 => Heap::drain_without_address_taken(heap, words),
            _ if heap.puts_drain_off() => return Heap::put_drain_off(heap, words),
            _ => Heap::drain(heap, words),
        }
        // Cycles are judged inside finalizers and callbacks, too, or the garbage of one that runs for long had no bound.
        let is_outside = heap.services.finalizers.depth() == 0;
        let zeal = heap.zeal.is_some() && is_outside;
        let external = heap.services.external.is_due;
        let judges = zeal || external || heap.mark_wants_its_turn() || heap.round_is_due();
        let finalizes = !heap.services.finalizers.queue.is_empty() && is_outside;
        if judges || finalizes {
            let held = heap.protect_in_flight(words);
            if external && heap.external_bytes_want_a_mark() {
                heap.with_driver(|driver, heap| driver.collect(heap));
                heap.note_external_mark();
            } else if judges {
                let all = zeal || external;
                if external {
                    heap.zeal.iter_mut().for_each(|zeal| zeal.try_soon());
                }
                heap.with_driver(|driver, heap| if all { driver.epoch(heap) } else { driver.on_poll(heap) });
            }
            Heap::end_round(heap, heap.begin_turn());
            heap.prompt.protected.truncate(held);
        }
        if heap.limits.soft_is_due && heap.services.finalizers.depth() == 0 {
            let held = heap.protect_in_flight(words);
            Heap::run_soft_limit_callback(heap);
            heap.prompt.protected.truncate(held);
        }
        heap.let_registered_anew_go();
    }

    /// Everything at zero dies, all candidates are tried, and what the verdicts bring to zero dies, too.
    pub fn prompt_epoch(mut heap: HeapEntry) {
        heap.refuse_at_work();
        heap.inspect();
        Heap::drain_all(heap);
        if heap.services.finalizers.depth() == 0 {
            heap.zeal.iter_mut().for_each(|zeal| zeal.try_soon());
            heap.with_driver(|driver, heap| driver.epoch(heap));
            Heap::end_round(heap, Turn::ALL);
            Heap::drain_all(heap);
        }
        heap.let_registered_anew_go();
    }

    /// Whether enough candidates wait for a round of trials.
    #[inline(always)]
    pub fn round_is_due(&self) -> bool {
        self.candidates.len() >= self.prompt.round_at || self.prompt.cells.nursery.is_due()
    }

    /// Explicit collection: when it returns nothing unreachable is left. Inside a finalizer it is put off until the
    /// outermost drain has ended. Returns how many objects died.
    pub(crate) fn prompt_collect(mut heap: HeapEntry) -> u64 {
        heap.refuse_at_work();
        if heap.services.finalizers.depth() > 0 && !Heap::notice_jumps(heap) {
            heap.services.finalizers.collect_wanted = true;
            return 0;
        }
        let before = heap.counted_frees();
        let outer = std::mem::replace(&mut heap.services.finalizers.collecting, true);
        for _ in 0..ROUNDS_MAX {
            Heap::drain_all(heap);
            heap.with_driver(|driver, heap| driver.collect(heap));
            let again = !heap.services.finalizers.queue.is_empty() || heap.context_mut().pending != 0;
            Heap::end_round(heap, Turn::ALL);
            if !again {
                break;
            }
        }
        heap.let_registered_anew_go();
        (heap.services.finalizers.collecting, heap.services.finalizers.collect_wanted) = (outer, false);
        heap.prompt.cells.give_idle_back();
        heap.give_all_back();
        heap.counted_frees() - before
    }

    /// An allocation inside a finalizer finds no room: all that no root reaches goes, but for what has a finalizer. That waits
    /// until none runs.
    pub(crate) fn collect_inside_finalizer(mut heap: HeapEntry) {
        heap.refuse_at_work();
        if Heap::notice_jumps(heap) {
            Heap::prompt_collect(heap);
            return;
        }
        Heap::drain_inside_finalizer(heap);
        heap.with_driver(|driver, heap| driver.collect(heap));
        Heap::drain_inside_finalizer(heap);
        heap.prompt.cells.give_idle_back();
        heap.give_all_back();
    }

    /// A part of an explicit collection: objects at zero die, in slices of `ns` nanoseconds; then cycles are judged.
    pub(crate) fn prompt_step(mut heap: HeapEntry, ns: u64) -> bool {
        heap.refuse_at_work();
        if heap.services.finalizers.depth() > 0 && !Heap::notice_jumps(heap) {
            // As a whole collection is: a loop until the last step would not end otherwise.
            heap.services.finalizers.collect_wanted = true;
            return true;
        }
        let calls_max = heap.calls_in_steps();
        let is_outermost = heap.keep_settings();
        let goal = std::mem::replace(&mut heap.prompt.sliced_drains, true);
        let slice_ns = std::mem::replace(&mut heap.options.slice_ns, ns);
        // A step gives the collector and finalizers their turn now.
        heap.prompt.slice_start = None;
        heap.services.finalizers.last_turn = LastTurn::default();
        heap.give_back_for(ns);
        Heap::drain(heap, &[]);
        let mut done = false;
        if !heap.has_dying() {
            let waited = !heap.services.finalizers.queue.is_empty();
            if !waited {
                done = heap.with_driver(|driver, heap| driver.step(heap, ns));
            }
            let finalizers = !heap.services.finalizers.queue.is_empty();
            Heap::end_round(heap, heap.begin_turn());
            done &= !finalizers && !heap.has_dying();
            // Further garbage of finalizers is the next collection's.
            let rounds = &mut heap.prompt.step_rounds;
            *rounds += u32::from(finalizers && !waited);
            done |= *rounds > ROUNDS_MAX;
            *rounds *= u32::from(!done);
        }
        done |= heap.services.finalizers.called > calls_max;
        heap.prompt.step_calls_max = (!done).then_some(calls_max);
        // Otherwise an object registered anew would be held for good in a host that only steps.
        heap.let_registered_anew_go();
        heap.options.slice_ns = slice_ns;
        heap.prompt.sliced_drains = goal;
        heap.forget_settings(is_outermost);
        done
    }

    /// Finalizers that may have been called when a collection in steps ends at the latest: one for each object that there was.
    pub(in crate::plan::prompt) fn calls_in_steps(&mut self) -> u64 {
        if let Some(most) = self.prompt.step_calls_max {
            return most;
        }
        self.refresh_statistics();
        self.services.finalizers.called + self.statistics.live_objects + u64::from(super::pending::NESTED_MAX)
    }

    /// If the program jumps out of a finalizer, the settings of now apply again. Returns whether this is the outermost request.
    pub(in crate::plan::prompt) fn keep_settings(&mut self) -> bool {
        let is_outermost = self.prompt.settings.is_none();
        self.prompt.settings.get_or_insert((self.prompt.sliced_drains, self.options.slice_ns));
        is_outermost
    }

    pub(in crate::plan::prompt) fn forget_settings(&mut self, is_outermost: bool) {
        if is_outermost {
            self.prompt.settings = None;
        }
    }

    /// Looks whether finalizers that run were left by `longjmp`; whether none runs any more. The hook is called, and those
    /// that waited for the set to be finalized go on.
    #[cold]
    pub(in crate::plan) fn notice_jumps(mut heap: HeapEntry) -> bool {
        let left = heap.abandon_left_calls();
        Heap::go_on_after_jumps(heap, left);
        heap.services.finalizers.depth() == 0
    }
    pub(in crate::plan::prompt) fn go_on_after_jumps(mut heap: HeapEntry, left: List<ObjectRef>) {
        let any = !left.is_empty();
        heap.prompt.landed |= any;
        Heap::tell_of_jumps(heap, left);
        if any && heap.services.finalizers.depth() == 0 {
            Heap::run_queue(heap, heap.begin_turn());
        }
    }

    /// Whether anything is being taken apart, or will be by the next drain; but for what finalizers bring without end.
    pub fn has_dying(&mut self) -> bool {
        let waits = !self.prompt.leaves_rest && self.pending_len() > self.prompt.protected.len();
        waits || !self.prompt.cascades.is_empty()
    }

    /// After the driver judged cycles: the finalizers it asked for run, as many as have their turn, and what its verdicts
    /// brought to zero dies. Inside a finalizer those wait until none runs.
    pub(in crate::plan::prompt) fn end_round(mut heap: HeapEntry, turn: Turn) {
        if heap.services.finalizers.depth() == 0 {
            heap.order_new_finalizers();
            Heap::run_queue(heap, turn);
        }
        if heap.context_mut().pending != 0 {
            Heap::drain(heap, &[]);
        }
    }
    pub(in crate::plan::prompt) fn run_queue(mut heap: HeapEntry, mut turn: Turn) {
        let runs = turn.is_all() || heap.finalizers_have_their_turn();
        while runs && !heap.services.finalizers.queue.is_empty() && heap.has_turn(&mut turn) {
            let Some(object) = heap.services.finalizers.queue.pop_front() else { break };
            heap.services.finalizers.ordered = heap.services.finalizers.ordered.saturating_sub(1);
            Heap::finalize_in_cycle(heap, object);
        }
    }

    /// The first free cell of each class, as the context has them.
    pub fn free_lists(&mut self) -> [u64; CLASSES as usize] {
        std::array::from_fn(|class| self.context_mut().free[class])
    }

    /// Objects freed so far.
    pub(in crate::plan::prompt) fn counted_frees(&mut self) -> u64 {
        self.refresh_statistics();
        self.statistics.freed_mature_objects
    }

    /// Bytes of the cells of all objects there are now, dead ones not yet found included.
    pub fn counted_live_bytes(&self) -> u64 {
        self.prompt.cells.tally(self.context_lists()).live_bytes + self.large.totals().1
    }

    /// Bytes of all cells allocated so far; those that wait on the context's lists count, too.
    pub fn counted_allocated_bytes(&self) -> u64 {
        self.prompt.cells.handed_bytes() + self.large.taken_bytes
    }

    pub(in crate::plan::prompt) fn context_lists(&self) -> &[u64] {
        // SAFETY: [CONTEXT] the context through which this heap allocates.
        unsafe { &(&(*self.context).free)[..CLASSES as usize] }
    }

    /// Brings the counters of a prompt heap up to date, which the inline paths do not maintain.
    pub fn refresh_statistics(&mut self) {
        self.statistics = self.statistics_now();
    }

    /// The counters that the inline paths do not maintain, as of now.
    pub(crate) fn count_cells_into(&self, statistics: &mut Statistics) {
        let mut cells = self.prompt.cells.tally(self.context_lists());
        if self.zeal.is_some() {
            // Dead cells are never given back.
            (cells.live_objects, cells.live_bytes) = self.prompt.cells.living();
        }
        let (large_objects, large_bytes) = self.large.totals();
        statistics.allocated_objects = cells.allocated_objects + self.large.taken_objects;
        statistics.allocated_bytes = cells.allocated_bytes + self.large.taken_bytes;
        statistics.size_histogram = cells.sizes;
        for (bucket, more) in statistics.size_histogram.buckets.iter_mut().zip(&self.large.taken_sizes.buckets) {
            *bucket += more;
        }
        statistics.live_objects = cells.live_objects + large_objects;
        statistics.live_bytes = cells.live_bytes + large_bytes;
        statistics.freed_mature_objects = statistics.allocated_objects - statistics.live_objects;
        statistics.freed_objects = statistics.freed_mature_objects;
    }
}
