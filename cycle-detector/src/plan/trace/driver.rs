//! The heap's requests to its driver under the trace plan: each that does any work is a whole collection.

use super::TraceDriver;
use crate::plan::bump::verify::verify;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::report::violation::Violation;

impl TraceDriver {
    /// Collects at a safepoint of zeal. Where there are many objects not at each, or a program that grows would take
    /// quadratic time.
    fn collect_in_zeal(&mut self, heap: &mut Heap) {
        let looks = heap.options().zeal_looks;
        let is_due = heap.zeal.as_mut().is_none_or(|zeal| {
            zeal.begin_epoch(looks);
            zeal.round_is_due(looks)
        });
        if !is_due {
            return;
        }
        self.collect_now(heap);
        if heap.zeal.as_ref().is_some_and(|zeal| zeal.looks())
            && let Err(violation) = verify(heap)
        {
            heap.violation(violation.invariant, &violation.what);
        }
    }
}

impl EpochDriver for TraceDriver {
    fn on_block_taken(&mut self, heap: &mut Heap) {
        if heap.large.leaving.blocks() != 0 {
            heap.give_back_in_turn();
        }
        if self.trigger.is_due(heap) && heap.is_running() {
            self.stopped(heap, TraceDriver::collect_now);
        }
    }

    fn on_poll(&mut self, heap: &mut Heap) {
        heap.set_poll(heap.zeal.is_some() || heap.services.finalizers.are_ready());
        if heap.zeal.is_some() && heap.is_running() {
            self.stopped(heap, TraceDriver::collect_in_zeal);
        }
    }

    fn collect(&mut self, heap: &mut Heap) -> u64 {
        heap.zeal.iter_mut().for_each(|zeal| zeal.look_soon());
        let freed = self.stopped(heap, TraceDriver::collect_now);
        heap.give_all_back();
        freed
    }

    fn step(&mut self, heap: &mut Heap, _ns: u64) -> bool {
        self.collect(heap);
        true
    }

    fn epoch(&mut self, heap: &mut Heap) {
        self.stopped(heap, TraceDriver::collect_in_zeal);
    }

    /// Does nothing: nothing that a root holds is counted.
    fn protect_roots(&mut self, _heap: &mut Heap) {}

    /// Does nothing: every walk visits the whole stack, and no frame waits.
    fn frame_is_reached(&mut self, _heap: &mut Heap) {}

    fn flip(&mut self, heap: &mut Heap) {
        self.collect(heap);
    }

    fn work(&mut self, heap: &mut Heap, units: i64) {
        heap.large.leaving.give_back(units);
    }

    fn has_work(&self, heap: &Heap) -> bool {
        heap.large.leaving.blocks() != 0
    }

    fn verify(&mut self, heap: &mut Heap) -> Result<(), Violation> {
        verify(heap)
    }

    fn last_report(&self) -> &EpochReport {
        &self.stops.last_report
    }
}
