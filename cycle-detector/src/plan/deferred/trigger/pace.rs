//! Slices at allocation and at polls; is a flip due?

use super::{CHAIN_SHARE, OVERDUE_SLICES, POLL_UNITS};
use crate::account::Pressure;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::slice::SLICE_UNITS;
use std::time::Duration;
use tally_heap::Heap;

impl DeferredDriver {
    /// The mutator takes a block.
    pub(crate) fn pace_allocation(&mut self, heap: &mut Heap) {
        if !heap.is_running() {
            return;
        }
        let pressure = self.pressure(heap);
        if self.has_work(heap) && self.tracer.stops.program_had_its_turn(heap, heap.clock.given_bytes, pressure) {
            // A mark has as much as the passes.
            let shares = 1 + i64::from(self.mark.is_running());
            self.slice(heap, SLICE_UNITS * shares);
        }
        self.hurry(heap);
        if heap.clock.given_bytes >= heap.flip_at() {
            if self.flip_waits(heap) && pressure == Pressure::FULL {
                // Behind: a bigger slice, and the epoch is simply extended.
                self.slice(heap, SLICE_UNITS * 4);
            }
            if self.marks_again(heap) {
                return self.collect_or_count(heap);
            }
            if self.traces_instead(heap) {
                return self.trace_instead_of_counting(heap);
            }
            self.flip_now(heap);
        } else if heap.deferred.log.entries >= heap.deferred.log_poll_at {
            self.flip_for_the_log(heap);
        } else if heap.services.finalizers.has_chain() {
            self.flip_for_a_chain(heap);
        }
        self.update_poll(heap);
    }

    /// Garbage is bounded although the mark's share of the time does not suffice.
    pub(in crate::plan::deferred::trigger) fn hurry(&mut self, heap: &mut Heap) {
        let mut slices = 1;
        while slices < OVERDUE_SLICES && self.mark.is_overdue(heap) {
            self.slice_of_mark(heap, SLICE_UNITS * 2);
            slices += 1;
        }
    }

    /// The mutator polls.
    pub(crate) fn pace_poll(&mut self, heap: &mut Heap) {
        if !heap.is_running() {
            return heap.set_poll(false);
        }
        if heap.zeal.is_some() {
            return self.stopped(heap, DeferredDriver::run_epoch);
        }
        if self.has_work(heap) {
            if !self.tracer.stops.had_its_turn_at_poll(heap, heap.clock.given_bytes, Pressure::NONE) {
                return;
            }
            self.slice(heap, POLL_UNITS);
        }
        if heap.deferred.log.entries >= heap.deferred.log_poll_at {
            self.flip_for_the_log(heap);
        } else if heap.services.finalizers.has_chain() {
            self.flip_for_a_chain(heap);
        }
        self.update_poll(heap);
    }

    /// The next of a list of objects that ask for owners first is found when the last has been released, by the next flip. If each
    /// waited until as much was allocated as between two flips, a million of them would never come to their end.
    pub(in crate::plan::deferred::trigger) fn flip_for_a_chain(&mut self, heap: &mut Heap) {
        let predicted = Duration::from_nanos(self.tracer.stops.last_report.work_ns);
        let timed = heap.options().slice_units.is_none();
        if !timed || self.trigger.last_flip.elapsed() >= predicted * CHAIN_SHARE {
            self.flip_now(heap);
        }
    }

    pub(in crate::plan::deferred::trigger) fn flip_for_the_log(&mut self, heap: &mut Heap) {
        if self.phase != Phase::Idle {
            return;
        }
        if heap.options().slice_units.is_some() || self.trigger.log_pays(heap.deferred.log.entries) {
            self.flip_now(heap);
        } else {
            heap.deferred.log_poll_at = heap.deferred.log.entries + heap.options().log_entries / 16 + 1;
        }
    }

    /// Flips unless the last flip's passes are still running, or finalizers wait for the deaths that they have caused.
    pub(crate) fn flip_now(&mut self, heap: &mut Heap) {
        if self.flip_waits(heap) {
            return;
        }
        let stop_the_world = heap.options().stop_the_world;
        self.stopped(heap, |driver, heap| {
            driver.flip(heap);
            if stop_the_world {
                driver.finish(heap);
            }
        });
    }

    pub(crate) fn update_poll(&self, heap: &mut Heap) {
        let due = heap.zeal.is_some() || self.has_work(heap) || heap.deferred.log.entries >= heap.deferred.log_poll_at;
        let due = due || heap.services.finalizers.are_ready() || heap.services.finalizers.has_chain();
        heap.set_poll(due);
    }
}
