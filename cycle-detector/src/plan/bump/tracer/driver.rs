//! The heap's requests to its driver where nothing is counted: a whole collection, or a slice of one.

use super::Tracer;
use crate::plan::bump::verify::verify;
use crate::slice::Slice;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::report::violation::Violation;

impl Tracer {
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
        if self.slices(heap) || self.sliced.is_running() {
            return self.zeal_slice(heap);
        }
        self.collect_now(heap);
        if heap.zeal.as_ref().is_some_and(|zeal| zeal.looks())
            && let Err(violation) = verify(heap)
        {
            heap.violation(violation.invariant, &violation.what);
        }
    }
}

impl Tracer {
    /// Collects all that is garbage now.
    fn collect_all(&mut self, heap: &mut Heap) -> u64 {
        let before = heap.statistics.freed_objects();
        self.settle(heap);
        self.forget_steps();
        self.collect_now(heap);
        heap.freed_since(before)
    }
}

impl EpochDriver for Tracer {
    fn on_block_taken(&mut self, heap: &mut Heap) {
        if heap.large.leaving.blocks() != 0 {
            heap.give_back_in_turn();
        }
        if !heap.is_running() {
            return;
        }
        if !self.sliced.is_running() && self.growth.is_due(heap) {
            match self.slices(heap) {
                true => self.begin_in_slices(heap),
                false => _ = self.stopped(heap, Tracer::collect_now),
            }
        }
        if self.sliced.is_running() {
            self.pace_slices(heap);
        }
    }

    fn on_poll(&mut self, heap: &mut Heap) {
        self.update_poll(heap);
        if !heap.is_running() {
            return;
        }
        if heap.zeal.is_some() {
            self.stopped(heap, Tracer::collect_in_zeal);
        } else if self.sliced.is_running() {
            self.poll_slices(heap);
        }
    }

    fn collect(&mut self, heap: &mut Heap) -> u64 {
        heap.zeal.iter_mut().for_each(|zeal| zeal.look_soon());
        let freed = self.stopped(heap, Tracer::collect_all);
        heap.give_all_back();
        freed
    }

    fn step(&mut self, heap: &mut Heap, ns: u64) -> bool {
        let ended = self.stopped(heap, |driver, heap| driver.step_for(heap, ns));
        if ended {
            heap.give_all_back();
        }
        ended
    }

    fn epoch(&mut self, heap: &mut Heap) {
        self.stopped(heap, |driver, heap| match heap.zeal.is_some() {
            true => driver.collect_in_zeal(heap),
            false => _ = driver.collect_all(heap),
        });
    }

    /// Does nothing: nothing that a root holds is counted.
    fn protect_roots(&mut self, _heap: &mut Heap) {}

    fn frame_is_reached(&mut self, heap: &mut Heap) {
        if self.stack.has_rest() {
            self.stopped(heap, |tracer, heap| _ = tracer.walk_on(heap));
        }
    }

    fn flip(&mut self, heap: &mut Heap) {
        match self.slices(heap) {
            true => self.begin_in_slices(heap),
            false => _ = self.collect(heap),
        }
    }

    fn work(&mut self, heap: &mut Heap, units: i64) {
        match self.sliced.is_running() {
            true => self.stopped(heap, |driver, heap| driver.slice(heap, Slice::of_units(units))),
            false => _ = heap.large.leaving.give_back(units),
        }
    }

    fn has_work(&self, heap: &Heap) -> bool {
        self.sliced.is_running() || heap.large.leaving.blocks() != 0
    }

    fn verify(&mut self, heap: &mut Heap) -> Result<(), Violation> {
        if self.sliced.is_running() {
            self.stopped(heap, Tracer::collect_all);
        }
        verify(heap)
    }

    fn last_report(&self) -> &EpochReport {
        &self.stops.last_report
    }
}
