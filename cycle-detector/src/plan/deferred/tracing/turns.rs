//! The turns of a heap that may trace: at a flip that is due, at a collection that is due, after a mark that was given up.

use super::{NS_PER_BLOCK, NS_PER_ENTRY, Tracing, items};
use crate::plan::bump::tracer::Tracer;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::mark::Mark;
use crate::progress::Progress;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::heap::{LAST_EPOCH, Traces};
use tally_heap::memory::range::BLOCK_BYTES;
use tally_heap::plan::Rules;

fn per_mebibyte(ns: u64, bytes: u64) -> u64 {
    ((u128::from(ns) << 20) / u128::from(bytes.max(1))) as u64
}

/// Whether the stop in which the rules change is short: it costs some instructions for each block. `[BOUND]`
fn changes_in_time(heap: &Heap) -> bool {
    let blocks = heap.used_bytes() / BLOCK_BYTES;
    blocks * NS_PER_BLOCK <= heap.options().mark_bound_ns() || matches!(heap.options().traces, Traces::ByTurns(_))
}

/// Whether a heap that traces could grow by what lives before it comes to its limit.
fn has_room(heap: &Heap) -> bool {
    heap.options().heap_limit.is_none_or(|limit| heap.statistics.live_bytes <= limit / 2)
}

impl DeferredDriver {
    /// At a flip that is due: whether the heap traces instead.
    pub(in crate::plan::deferred) fn traces_instead(&mut self, heap: &mut Heap) -> bool {
        let is_dear = match heap.options().traces {
            Traces::Never => return false,
            Traces::WhereItPays => {
                let ns = self.tracer.stops.report.work_ns + heap.deferred.log.entries * NS_PER_ENTRY;
                self.phase == Phase::Idle && self.tracing.counting_is_dear(per_mebibyte(ns, heap.clock.given_bytes))
            }
            Traces::ByTurns(_) => {
                self.stopped(heap, DeferredDriver::finish);
                true
            }
        };
        let is_quiet = !self.judges(heap) && !self.tracer.stack.has_rest() && self.progress == Progress::Idle;
        // What waits for its finalizer has an order that counts tell.
        let finalizers = &heap.services.finalizers;
        let may = finalizers.are_at_rest() && !finalizers.has_chain() && changes_in_time(heap) && self.may_trace(heap);
        is_dear && is_quiet && may
    }

    /// Slices of fixed units are for runs that repeat: no clock decides then. Who says how long epochs are has them that long.
    fn may_trace(&self, heap: &Heap) -> bool {
        let options = heap.options();
        let may = match options.traces {
            Traces::Never => false,
            Traces::WhereItPays => options.slice_units.is_none() && options.epoch_grows,
            Traces::ByTurns(_) => true,
        };
        may && has_room(heap) && heap.zeal.is_none() && heap.clock.epoch < LAST_EPOCH - 2 && self.tracer.may_slice(heap)
    }

    /// A heap that counts traces from here on.
    pub(in crate::plan::deferred) fn trace_instead_of_counting(&mut self, heap: &mut Heap) {
        self.stopped(heap, |driver, heap| {
            driver.forget_epochs();
            driver.tracing.begin(heap);
            heap.begin_tracing();
            driver.tracer.growth.expect(heap.statistics.live_bytes);
            driver.tracer.begin_in_slices(heap);
        });
    }

    /// A heap that marks has given a mark up: whether it traces from here on. If not it counts, as it does where that has paid before.
    pub(in crate::plan::deferred) fn traces_instead_of_marking(&mut self, heap: &mut Heap) -> bool {
        let may = self.may_trace(heap) && !self.tracing.counting_pays;
        if may {
            heap.statistics.marks_aborted += 1;
            self.marking.note_given_up();
            self.tracer.leave_rest(heap);
            self.roots.clear();
            self.tracing = Tracing { items: items(heap), ..Tracing::default() };
            let young = heap.clock.given_bytes / 2;
            heap.begin_tracing_of_marking();
            self.tracer.growth.expect(heap.statistics.live_bytes + young);
            self.tracer.begin_in_slices(heap);
        }
        may
    }

    /// The mutator takes a block of a heap that traces.
    pub(crate) fn pace_tracing(&mut self, heap: &mut Heap) {
        let may_begin = heap.is_running() && !self.tracer.is_running() && self.tracer.may_slice(heap);
        let is_due = self.tracer.growth.is_due(heap) || heap.services.finalizers.wait_for_owners();
        if may_begin && is_due && self.counts_again(heap) {
            self.tracer.begin_last(heap);
        }
        self.trace(heap, Tracer::on_block_taken);
    }

    /// At a collection that is due: whether the heap counts after it. For a chain of objects that are finalized after their owners there
    /// would be a collection for each, where counting has a flip; and a heap that has become small marks after its next flips.
    fn counts_again(&mut self, heap: &Heap) -> bool {
        let (before, items) = (self.tracing.items, items(heap));
        self.tracing.items = items;
        let least = items.saturating_sub(before) * self.trigger.ns_per_item();
        let given = heap.clock.given_bytes;
        let cost = per_mebibyte(self.tracer.stops.report.work_ns, given);
        let is_tried = self.tracing.counting_is_tried(cost, per_mebibyte(least, given));
        let is_small =
            self.marking.may_again() && self.marking.suffices_for_units(heap, self.tracer.growth.units() as f64);
        let must = heap.services.finalizers.wait_for_owners() || !has_room(heap);
        match heap.options().traces {
            Traces::Never => true,
            Traces::WhereItPays => must || is_small || is_tried && changes_in_time(heap),
            Traces::ByTurns(collections) => must || self.tracing.since >= collections,
        }
    }

    /// Lets the tracer work. If that has ended a collection after which the heap is to count, it counts; so it does when the stamps are used up,
    /// and a flip begins with the first again.
    pub(crate) fn trace<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Tracer, &mut Heap) -> T) -> T {
        let answer = work(&mut self.tracer, heap);
        let ends = heap.all_are_young() || !heap.has_a_stamp_for_slices();
        // What waits for its finalizer has an order that marks have found.
        if ends && !self.tracer.is_running() && heap.services.finalizers.are_at_rest() {
            self.stopped(heap, DeferredDriver::count_again);
            self.update_poll(heap);
        }
        answer
    }

    /// The same for a collection that is asked for: nothing waits afterwards.
    pub(crate) fn trace_all<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Tracer, &mut Heap) -> T) -> T {
        let answer = self.trace(heap, work);
        if heap.rules() == Rules::Counting {
            self.stopped(heap, DeferredDriver::finish);
            self.update_poll(heap);
        }
        answer
    }

    /// The rules for a collection that is asked for: counting ends a chain of owners.
    pub(in crate::plan::deferred) fn rules_of_request(&mut self, heap: &mut Heap) -> Rules {
        if heap.services.finalizers.wait_for_owners() {
            match heap.rules() {
                Rules::Counting => {}
                Rules::Marking => self.count_for_owners(heap),
                Rules::Tracing => self.end_tracing_for_owners(heap),
            }
        }
        heap.rules()
    }

    fn end_tracing_for_owners(&mut self, heap: &mut Heap) {
        if self.tracer.is_running() {
            self.tracer.collect(heap);
        }
        if heap.services.finalizers.are_at_rest() {
            self.stopped(heap, DeferredDriver::count_again);
        }
    }

    fn count_again(&mut self, heap: &mut Heap) {
        debug_assert!(!self.tracer.is_running());
        if !heap.all_are_young() {
            heap.make_all_young();
        }
        heap.count_again();
        self.tracing.since = 0;
        self.flip(heap);
    }

    /// What epochs have left is forgotten: marks decide from here on.
    pub(in crate::plan::deferred) fn forget_epochs(&mut self) {
        debug_assert!(self.last_log.is_empty() && self.last_roots.objects.is_empty() && self.last_late.is_empty());
        self.roots.clear();
        self.mark = Mark::default();
        self.progress = Progress::Idle;
        self.set_waits = false;
        self.trials.in_doubt = false;
    }
}
