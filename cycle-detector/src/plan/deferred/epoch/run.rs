//! The loop: a slice, the phases, deaths and the mark beside them. `[ORDER]` `[BOUND]`

use super::{Phase, share};
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::mark::facts;
use crate::slice::Slice;
use std::time::Instant;
use tally_heap::Heap;

impl DeferredDriver {
    /// One stop of the mutator: does up to `units` of work, but not beyond the slice's time.
    pub fn slice(&mut self, heap: &mut Heap, units: i64) {
        self.slice_of(heap, units, DeferredDriver::work);
    }

    /// The same, but all of it for the mark, unless that waits.
    pub(crate) fn slice_of_mark(&mut self, heap: &mut Heap, units: i64) {
        self.slice_of(heap, units, |driver, heap, units| {
            let left = driver.mark_for(heap, units);
            driver.tracer.stops.slice_units += (units - left) as u64;
            if left == units {
                driver.work(heap, units);
            }
            driver.release_complete_set(heap);
        });
    }

    fn slice_of(&mut self, heap: &mut Heap, units: i64, work: impl Fn(&mut Self, &mut Heap, i64)) {
        heap.statistics.slices += 1;
        self.stopped(heap, |driver, heap| {
            let mut slice = Slice::of_heap(heap.options(), units);
            driver.tracer.stops.slice_units = 0;
            while !slice.ends() && driver.has_work(heap) {
                let chunk = slice.chunk();
                work(driver, heap, chunk);
                slice.spend(chunk);
            }
            driver.tracer.stops.note_slice(heap);
        });
    }

    /// Does about `units` of work: the phase's, deaths, the mark's, memory's, in this order. Each task gets two thirds of the
    /// remaining budget while others wait. Together they exceed the budget by one step at most. `[BOUND]`
    pub(crate) fn work(&mut self, heap: &mut Heap, units: i64) {
        let leaves = heap.large.leaving.blocks() != 0;
        let others = self.has_deaths(heap) || self.mark.is_running() || leaves;
        let mut left = units - share(units, others);
        left += self.advance(heap, units - left);
        if left > 0 {
            let deaths = share(left, self.mark.is_running() || leaves);
            left += self.release_deaths(heap, deaths) - deaths;
        }
        if left > 0 {
            let mark = share(left, leaves);
            left += self.mark_for(heap, mark) - mark;
        }
        if left > 0 {
            left = heap.large.leaving.give_back(left);
        }
        self.release_complete_set(heap);
        self.tracer.stops.slice_units += (units - left) as u64;
    }

    pub(in crate::plan::deferred::epoch) fn mark_for(&mut self, heap: &mut Heap, units: i64) -> i64 {
        if !self.mark.is_running() {
            return units;
        }
        let start = Instant::now();
        let left = self.advance_mark(heap, units);
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        heap.statistics.mark_units += (units - left) as u64;
        left
    }

    /// The same as one slice of its own.
    pub(crate) fn work_slice(&mut self, heap: &mut Heap, units: i64) {
        self.tracer.stops.slice_units = 0;
        self.work(heap, units);
        self.tracer.stops.note_slice(heap);
    }

    /// Does up to `units` of the phase's work and moves on to the next phase when it is done; returns the units left.
    pub(in crate::plan::deferred::epoch) fn advance(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
        while units > 0 {
            let (left, done) = match self.phase {
                Phase::Idle => return units,
                Phase::Count => self.reconcile(heap, units),
                Phase::Sweep => self.sweep(heap, units),
                Phase::Release => self.release(heap, units),
                Phase::Try => {
                    let start = Instant::now();
                    let outcome = self.try_candidates(heap, units);
                    heap.statistics.trial_ns += start.elapsed().as_nanos() as u64;
                    outcome
                }
            };
            units = left;
            if done {
                self.enter_next_phase(heap);
            }
        }
        units
    }

    pub(in crate::plan::deferred::epoch) fn enter_next_phase(&mut self, heap: &mut Heap) {
        self.phase = match self.phase {
            Phase::Idle => Phase::Idle,
            Phase::Count => {
                self.quarantine_the_young(heap);
                Phase::Sweep
            }
            Phase::Sweep => Phase::Release,
            Phase::Release => {
                self.grant_trial_budget();
                Phase::Try
            }
            Phase::Try => {
                self.end_epoch(heap);
                Phase::Idle
            }
        };
    }

    pub(in crate::plan::deferred::epoch) fn end_epoch(&mut self, heap: &mut Heap) {
        self.tracer.stops.close_report(heap);
        heap.judge_fragmentation(self.tracer.stops.report.promoted);
        self.trigger.learn(&self.tracer.stops.report);
        self.set_waits = true;
        let given = (self.tracer.stops.report.given_bytes, self.tracer.stops.report.log_entries);
        self.mark.evidence.note_epoch(facts(heap, self.trials.in_doubt), heap.candidates.is_empty(), given);
        self.note_finalizers_of_mark(heap);
        if self.mark_is_due(heap) {
            self.start_mark(heap);
        }
    }
}
