//! Stops of the program for the driver of either plan: their duration, the work of the running slice, and the report
//! of the running epoch.
//!
//! The time between two stops is measured in ticks of the processor's clock, which polls can afford to read.

use crate::root_source::RootSource;
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::report::epoch_report::EpochReport;

/// The last stop of the program, the work of the running slice, and the reports of two epochs.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    last_start: u64,
    last_end: u64,
    /// Units of work that the running slice has done.
    pub(crate) slice_units: u64,
    /// The running epoch.
    pub(crate) report: EpochReport,
    /// The last epoch that has ended.
    pub(crate) last_report: EpochReport,
}

impl Stops {
    /// Begins a stop. Frames may have changed since the last one: `stack` is notified.
    pub(crate) fn begin(&mut self, stack: &mut dyn RootSource) -> Instant {
        let start = Instant::now();
        self.last_start = ticks();
        stack.note_that_the_program_ran();
        start
    }

    /// Ends a stop, and notes its duration.
    pub(crate) fn end(&mut self, heap: &mut Heap, start: Instant) {
        self.last_end = ticks();
        let ns = start.elapsed().as_nanos() as u64;
        heap.note_stop(start, ns);
        self.report.work_ns += ns;
    }

    /// Whether the program has run since the last stop for at least as long as that stop took.
    pub(crate) fn mutator_had_its_turn(&self) -> bool {
        let stopped = self.last_end.wrapping_sub(self.last_start);
        ticks().wrapping_sub(self.last_end) >= stopped
    }

    /// Notes the work of a slice that has ended.
    pub(crate) fn note_slice(&self, heap: &mut Heap) {
        let statistics = &mut heap.statistics;
        statistics.slice_units_max = statistics.slice_units_max.max(self.slice_units);
    }

    /// Closes the report of an epoch that has ended.
    pub(crate) fn close_report(&mut self, heap: &Heap) {
        self.report.close(heap);
        self.last_report = self.report.clone();
    }
}

/// The processor's time stamp: only differences on one thread are used, and only to compare them with each other.
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}
