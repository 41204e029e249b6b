//! The epoch: one loop, one match. Everything after a flip happens here, a slice at a time.
//!
//! ```text
//!  flip ──► Count ──────────► Sweep ─────────► Release ─────────────► Try ──────────► Idle
//!           increments:       blocks that      decrements: the dead   candidates:     wait for the
//!           promote, count    were allocated   the log named, last    local trial     next flip
//!           the log's words   into             roots, old values      deletion
//!  beside it, whenever there is any: deaths (children of zero counts), the backup mark
//! ```
//!
//! `[ORDER]` Count ends before Release begins: all increments of a flip come before its decrements, and nothing is freed
//! in between that the increments could still reach.
//!
//! A slice is bounded by units of work (about one reference each) and by the clock, looked at every [`CHUNK_UNITS`]
//! units. `[BOUND]`

use crate::collector::Collector;
use rc_runtime::Heap;
use std::time::Instant;

/// Units of work between two looks at the clock.
pub const CHUNK_UNITS: i64 = 4096;

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

impl Collector {
    /// One stop of the mutator: does up to `units` of work, but not beyond the slice's time.
    pub fn slice(&mut self, heap: &mut Heap, units: i64) {
        if let Some(units) = heap.options.slice_units {
            heap.statistics.slices += 1;
            return self.stopped(heap, |collector, heap| collector.work_slice(heap, units.into()));
        }
        let limit_ns = heap.options.slice_ns;
        self.stopped(heap, |collector, heap| {
            let start = Instant::now();
            let mut left = units;
            collector.slice_units = 0;
            while left > 0 && collector.has_work(heap) {
                collector.work(heap, CHUNK_UNITS.min(left));
                left -= CHUNK_UNITS;
                if start.elapsed().as_nanos() as u64 > limit_ns {
                    break;
                }
            }
            collector.note_slice(heap);
            heap.statistics.slices += 1;
        });
    }

    /// Does about `units` of whatever work there is.
    pub(crate) fn work(&mut self, heap: &mut Heap, units: i64) {
        let mut done = units - self.advance(heap, units);
        done += units - self.release_deaths(heap, units);
        if self.mark.is_running() {
            let start = Instant::now();
            let spent = units - self.advance_mark(heap, units);
            heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
            heap.statistics.mark_units += spent as u64;
            done += spent;
        }
        self.slice_units += done as u64;
    }

    /// The same as one slice of its own.
    pub(crate) fn work_slice(&mut self, heap: &mut Heap, units: i64) {
        self.slice_units = 0;
        self.work(heap, units);
        self.note_slice(heap);
    }

    fn note_slice(&mut self, heap: &mut Heap) {
        let statistics = &mut heap.statistics;
        statistics.slice_units_max = statistics.slice_units_max.max(self.slice_units);
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
                self.last_log.clear();
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
        self.report.close(heap);
        self.trigger.learn(&self.report);
        self.last_report = self.report.clone();
        heap.release_finalizers();
        self.mark.evidence.note_epoch(self.report.given_bytes, self.report.log_entries);
        if self.mark_is_due(heap) {
            self.start_mark(heap);
        }
    }

    /// Runs `work` with its duration counted as a stop of the mutator.
    pub(crate) fn stopped<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Self, &mut Heap) -> T) -> T {
        let start = Instant::now();
        self.trigger.note_stop_start();
        let answer = work(self, heap);
        self.trigger.note_stop_end();
        let ns = start.elapsed().as_nanos() as u64;
        heap.statistics.note_pause(ns);
        self.report.work_ns += ns;
        answer
    }
}
