//! The turns of a heap that may trace: at a flip that is due, at a collection that is due, after a mark that was given up.

use super::{NS_PER_ENTRY, Tracing, items};
use crate::plan::bump::tracer::Tracer;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::mark::Mark;
use crate::progress::Progress;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::heap::{LAST_EPOCH, Traces};

fn per_mebibyte(ns: u64, bytes: u64) -> u64 {
    ((u128::from(ns) << 20) / u128::from(bytes.max(1))) as u64
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
        let finalizers = &heap.services.finalizers;
        let is_quiet = !self.judges(heap) && !self.tracer.stack.has_rest() && self.progress == Progress::Idle;
        is_dear && is_quiet && finalizers.depth() == 0 && !finalizers.has_chain() && self.may_trace(heap)
    }

    /// Slices of fixed units are for runs that repeat: no clock decides then. Who says how long epochs are has them that long.
    fn may_trace(&self, heap: &Heap) -> bool {
        let options = heap.options();
        let may = match options.traces {
            Traces::Never => false,
            Traces::WhereItPays => options.slice_units.is_none() && options.epoch_grows,
            Traces::ByTurns(_) => true,
        };
        may && heap.zeal.is_none() && heap.clock.epoch < LAST_EPOCH - 2 && self.tracer.may_slice(heap)
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

    /// A heap that marks has given a mark up: whether it traces from here on.
    pub(in crate::plan::deferred) fn traces_instead_of_marking(&mut self, heap: &mut Heap) -> bool {
        let may = self.may_trace(heap);
        if may {
            heap.statistics.marks_aborted += 1;
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
        let is_small = self.marking.suffices_for(heap, heap.statistics.live_objects);
        match heap.options().traces {
            Traces::Never => true,
            Traces::WhereItPays => is_tried || is_small || heap.services.finalizers.wait_for_owners(),
            Traces::ByTurns(collections) => self.tracing.since >= collections,
        }
    }

    /// Lets the tracer work. If that has ended a collection after which the heap is to count, it counts; so it does when the stamps are used up,
    /// and a flip begins with the first again.
    pub(crate) fn trace<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Tracer, &mut Heap) -> T) -> T {
        let answer = work(&mut self.tracer, heap);
        let ends = heap.all_are_young() || !heap.has_a_stamp_for_slices();
        if ends && !self.tracer.is_running() {
            self.stopped(heap, |driver, heap| {
                if !heap.all_are_young() {
                    heap.make_all_young();
                }
                heap.count_again();
                driver.tracing.since = 0;
                driver.flip(heap);
                driver.trigger.forget_length();
            });
            self.update_poll(heap);
        }
        answer
    }

    /// What epochs have left is forgotten: marks decide from here on.
    pub(in crate::plan::deferred) fn forget_epochs(&mut self) {
        debug_assert!(self.last_log.is_empty() && self.last_roots.objects.is_empty() && self.last_late.is_empty());
        self.roots.clear();
        self.mark = Mark::default();
        self.progress = Progress::Idle;
        self.set_waits_for_company = false;
        self.trials.in_doubt = false;
    }
}
