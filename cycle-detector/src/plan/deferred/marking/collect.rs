//! A collection of a heap that marks, within the bound; and how the heap begins to count, or to mark again.

use crate::account::Pressure;
use crate::collection_log::Kind;
use crate::plan::bump::mark_and_sweep::mark_and_sweep;
use crate::plan::deferred::DeferredDriver;
use crate::root_source::FRAMES_AT_FLIP;
use crate::slice::{CHUNK_UNITS, Slice, thread_time};
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::plan::Rules;

impl DeferredDriver {
    /// The mutator takes a block of a heap that marks.
    pub(crate) fn pace_marking(&mut self, heap: &mut Heap) {
        self.give_memory_back(heap);
        if heap.is_running() && heap.services.finalizers.wait_for_owners() {
            self.count_for_owners(heap);
            self.update_poll(heap);
        } else if heap.is_running() && self.marking.growth.is_due(heap) {
            self.collect_or_count(heap);
        }
    }

    /// Objects that are finalized after their owners wait: of a chain of them each mark would find one, and a flip costs less.
    pub(in crate::plan::deferred) fn count_for_owners(&mut self, heap: &mut Heap) {
        self.stopped(heap, DeferredDriver::begin_counting_in_a_stop);
    }

    /// The heap counts from here on. Where the program waits for it, the first epoch ends in the same stop.
    fn begin_counting_in_a_stop(&mut self, heap: &mut Heap) {
        self.begin_counting(heap);
        if heap.options().stop_the_world {
            self.finish(heap);
        }
    }

    /// Collects; if that takes too long the heap counts from here on. One that counts begins to mark.
    pub(crate) fn collect_or_count(&mut self, heap: &mut Heap) {
        self.stopped(heap, |driver, heap| {
            if !heap.marks_instead_of_counting() {
                driver.begin_marking(heap);
            }
            let slice = Slice::of_mark(heap.options());
            if !driver.collect_within(heap, slice, FRAMES_AT_FLIP) && !driver.traces_instead_of_marking(heap) {
                heap.statistics.marks_aborted += 1;
                driver.begin_counting_in_a_stop(heap);
            }
        });
        match heap.rules() {
            Rules::Tracing => self.tracer.update_poll(heap),
            Rules::Counting | Rules::Marking => self.update_poll(heap),
        }
    }

    /// The mutator polls in a heap that marks.
    pub(crate) fn poll_marking(&mut self, heap: &mut Heap) {
        self.give_memory_back(heap);
        self.update_poll(heap);
    }

    /// Memory of dead large objects goes on its way to the system, if the program has had its turn.
    fn give_memory_back(&mut self, heap: &mut Heap) {
        let waits = heap.is_running() && heap.large.leaving.blocks() != 0;
        if waits && self.tracer.stops.had_its_turn_at_poll(heap, heap.clock.given_bytes, Pressure::NONE) {
            self.stopped(heap, |_, heap| _ = heap.large.leaving.give_back(CHUNK_UNITS));
        }
    }

    /// A collection without a bound. Returns how many objects died.
    pub(crate) fn collect_by_mark(&mut self, heap: &mut Heap) -> u64 {
        let before = heap.statistics.freed_objects();
        let all = self.collect_within(heap, Slice::default(), usize::MAX);
        debug_assert!(all);
        self.update_poll(heap);
        heap.freed_since(before)
    }

    /// A step of an explicit collection: all of it, or, if that takes longer than `ns`, the heap counts from here on, and
    /// the next steps collect. Returns whether that was all.
    pub(crate) fn step_by_mark(&mut self, heap: &mut Heap, ns: u64) -> bool {
        let all = self.collect_within(heap, Slice::of_time(i64::MAX, ns), FRAMES_AT_FLIP);
        if !all {
            heap.statistics.marks_aborted += 1;
            self.begin_counting(heap);
        }
        all
    }

    /// Collects. False if the slice has ended before all was marked, or if the stack has more frames: nothing has been freed,
    /// and the heap must begin to count.
    fn collect_within(&mut self, heap: &mut Heap, slice: Slice, frames: usize) -> bool {
        let (start, cpu) = (Instant::now(), thread_time());
        heap.inspect();
        self.tracer.stack.lay_down(heap);
        heap.begin_collection();
        self.tracer.stops.open_report(heap, Kind::Collection);
        self.find_roots(heap, frames);
        if self.tracer.stack.has_rest() {
            return false;
        }
        self.tracer.stops.report.roots = self.roots.len() as u64;
        let collected = mark_and_sweep(heap, &mut self.roots, slice);
        heap.statistics.mark_units += collected.units;
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        let left = collected.freed.map(|_| heap.statistics.live_objects);
        self.marking.learn(collected.units, (thread_time() - cpu).as_nanos() as u64, left);
        let Some(freed) = collected.freed else { return false };
        self.tracer.stops.report.freed_by_mark = freed;
        self.tracer.stops.close_report(heap);
        self.marking.growth.note_collection(heap, collected.units);
        true
    }

    /// The heap marks from here on.
    fn begin_marking(&mut self, heap: &mut Heap) {
        self.forget_epochs();
        heap.begin_marking();
    }

    /// The heap counts from here on. If a walk over the stack has begun it goes on.
    fn begin_counting(&mut self, heap: &mut Heap) {
        self.marking.note_given_up();
        heap.begin_counting();
        let begun = std::mem::take(&mut self.roots);
        self.flip_from(heap, begun);
    }
}
