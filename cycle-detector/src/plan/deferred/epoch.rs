//! The epoch: one loop, one match. Everything after a flip happens here, a slice at a time.
//!
//! ```text
//!  flip ──► Count ──────────► Sweep ─────────► Release ─────────────► Try ──────────► Idle
//!           increments:       blocks that      decrements: the dead   candidates:     wait for the
//!           promote, count    were allocated   the log named, last    local trial     next flip
//!           the log's words   into             roots, old values      deletion
//!  beside it, whenever there is any: deaths (children of zero counts), the backup mark, memory of large objects that leaves
//! ```
//!
//! `[ORDER]` Count ends before Release begins: all increments of a flip come before its decrements, and nothing is freed
//! in between that the increments could still reach.
//!
//! A slice is bounded by units of work (about one reference each) and by the clock, looked at every [`CHUNK_UNITS`]
//! units. `[BOUND]`

use crate::plan::deferred::DeferredDriver;
use std::time::Instant;
use tally_heap::Heap;

/// Units of work between two looks at the clock: 0.1 to 0.2 ms where nothing is in the cache.
pub const CHUNK_UNITS: i64 = 1024;

/// What a slice may do beyond its budget: one step. The longest are a trial with its larger bound, and one object's
/// references.
pub const STEP_UNITS_MAX: u64 = 16_384;

/// What a step of the mark does in one block, but for its last object: a whole block of dead objects takes half a millisecond.
pub const BLOCK_STEP_UNITS: i64 = 1024;

/// Where the passes of the last flip are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Done; waiting for the next flip.
    #[default]
    Idle,
    /// Increments and promotion.
    Count,
    /// Giving back large objects that died young, sweeping the blocks that were allocated into.
    Sweep,
    /// Decrements.
    Release,
    /// Trial deletion.
    Try,
}

/// What of `units` the first of two may use.
fn share(units: i64, of_two: bool) -> i64 {
    if of_two { (units - units / 3).max(1) } else { units }
}

impl DeferredDriver {
    /// One stop of the mutator: does up to `units` of work, but not beyond the slice's time.
    pub fn slice(&mut self, heap: &mut Heap, units: i64) {
        if let Some(units) = heap.options.slice_units {
            heap.statistics.slices += 1;
            return self.stopped(heap, |driver, heap| driver.work_slice(heap, units.into()));
        }
        let limit_ns = heap.options.slice_ns;
        self.stopped(heap, |driver, heap| {
            let start = Instant::now();
            let mut left = units;
            driver.stops.slice_units = 0;
            while left > 0 && driver.has_work(heap) {
                driver.work(heap, CHUNK_UNITS.min(left));
                left -= CHUNK_UNITS;
                if start.elapsed().as_nanos() as u64 > limit_ns {
                    break;
                }
            }
            driver.stops.note_slice(heap);
            heap.statistics.slices += 1;
        });
    }

    /// Does about `units` of whatever work there is: the phase's, deaths, the mark's, memory's, in this order. Each has most of
    /// what is left while the next has something to do, and the next what that leaves: together they exceed the budget
    /// by one step. `[BOUND]`
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
        self.stops.slice_units += (units - left) as u64;
    }

    fn mark_for(&mut self, heap: &mut Heap, units: i64) -> i64 {
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
        self.stops.slice_units = 0;
        self.work(heap, units);
        self.stops.note_slice(heap);
    }

    /// Does up to `units` of the phase's work and moves on to the next phase when it is done; what is left.
    fn advance(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
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

    fn enter_next_phase(&mut self, heap: &mut Heap) {
        self.phase = match self.phase {
            Phase::Idle => Phase::Idle,
            Phase::Count => {
                self.bury_the_young(heap);
                Phase::Sweep
            }
            Phase::Sweep => Phase::Release,
            Phase::Release => {
                self.fill_purse();
                Phase::Try
            }
            Phase::Try => {
                self.end_epoch(heap);
                Phase::Idle
            }
        };
    }

    fn end_epoch(&mut self, heap: &mut Heap) {
        self.stops.close_report(heap);
        self.trigger.learn(&self.stops.report);
        self.release_complete_set(heap);
        let given = (self.stops.report.given_bytes, self.stops.report.log_entries);
        self.mark.evidence.note_epoch(heap, self.trials.doubts, given);
        if self.mark_is_due(heap) {
            self.start_mark(heap);
        }
    }
}
