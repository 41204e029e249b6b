//! Stops of the program for the driver of either plan: their duration, the work of the running slice, and the report
//! of the running epoch.
//!
//! How long the program must run before the next slice, the account says (`account`). Whether it has is measured in ticks of the
//! processor's clock, which polls can afford to read.

use crate::account::{Account, BYTES_PER_UNIT, Pressure};
use crate::collection_log::{CollectionLog, Kind};
use crate::root_source::RootSource;
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::report::epoch_report::EpochReport;

/// The last stop of the program, the work of the running slice, and the reports of two epochs.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    account: Account,
    /// When the last one ended, and how many bytes had been allocated.
    last_end: Option<Instant>,
    bytes_at_end: u64,
    /// The same in ticks, those of the running one's beginning, and those of all stops, with the nanoseconds that these are.
    last_end_ticks: u64,
    start_ticks: u64,
    measured: (u64, u64),
    /// Units of work that the running slice has done.
    pub(crate) slice_units: u64,
    /// The running epoch.
    pub(crate) report: EpochReport,
    /// The last epoch that has ended.
    pub(crate) last_report: EpochReport,
    log: CollectionLog,
}

impl Stops {
    /// Begins a stop, at which so many bytes have been allocated since some moment. Frames may have changed since the last one:
    /// `stack` is notified.
    pub(crate) fn begin(&mut self, heap: &Heap, stack: &mut dyn RootSource, bytes: u64) -> Instant {
        let start = Instant::now();
        self.start_ticks = tally_heap::arch::ticks();
        match (paces_by_units(heap), self.last_end) {
            (true, _) => self.account.pay(self.units_paid(bytes)),
            (false, Some(end)) => self.account.pay(start.saturating_duration_since(end).as_nanos() as u64),
            (false, None) => {}
        }
        self.bytes_at_end = bytes;
        stack.note_that_the_program_ran();
        start
    }

    /// Ends a stop, and notes its duration; `bytes` as at its beginning.
    pub(crate) fn end(&mut self, heap: &mut Heap, start: Instant, bytes: u64) {
        let (end, end_ticks) = (Instant::now(), tally_heap::arch::ticks());
        let ns = end.saturating_duration_since(start).as_nanos() as u64;
        heap.note_stop(start, ns);
        self.report.work_ns += ns;
        if !paces_by_units(heap) {
            self.account.charge_time(ns);
        }
        self.measured.0 = self.measured.0.saturating_add(end_ticks.saturating_sub(self.start_ticks));
        self.measured.1 = self.measured.1.saturating_add(ns);
        (self.last_end, self.last_end_ticks, self.bytes_at_end) = (Some(end), end_ticks, bytes);
        if heap.options().log_since.is_some() {
            self.log.note_stop(heap, ns, &self.last_report);
        }
    }

    /// Whether the program, which has allocated so many bytes by now, has run since the last stop for as long as it is owed.
    pub(crate) fn program_had_its_turn(&self, heap: &Heap, bytes: u64, pressure: Pressure) -> bool {
        let owed = self.account.owed(pressure);
        if paces_by_units(heap) {
            return self.units_paid(bytes) >= owed;
        }
        let (ticks_measured, ns) = self.measured;
        let passed = tally_heap::arch::ticks().wrapping_sub(self.last_end_ticks);
        u128::from(passed) * u128::from(ns) >= u128::from(owed) * u128::from(ticks_measured)
    }

    /// The same at a poll. A poll is all that a program in units does if it does not allocate, so it waits for nothing.
    pub(crate) fn had_its_turn_at_poll(&self, heap: &Heap, bytes: u64, pressure: Pressure) -> bool {
        heap.options().slice_units.is_some() || self.program_had_its_turn(heap, bytes, pressure)
    }

    fn units_paid(&self, bytes: u64) -> u64 {
        // A flip begins to count anew.
        bytes.checked_sub(self.bytes_at_end).unwrap_or(bytes) / BYTES_PER_UNIT
    }

    /// Notes the work of a slice that has ended.
    pub(crate) fn note_slice(&mut self, heap: &mut Heap) {
        if paces_by_units(heap) {
            self.account.charge_units(self.slice_units);
        }
        let statistics = &mut heap.statistics;
        statistics.slice_units_max = statistics.slice_units_max.max(self.slice_units);
    }

    /// Opens the report of an epoch that begins.
    #[inline(always)]
    pub(crate) fn open_report(&mut self, heap: &Heap, kind: Kind) {
        self.report = EpochReport::open(heap);
        self.log.begin(kind);
    }

    /// Closes the report of an epoch that has ended.
    pub(crate) fn close_report(&mut self, heap: &Heap) {
        self.report.close(heap);
        self.last_report = self.report.clone();
        self.log.note_end(heap);
    }
}

/// Whether slices have a fixed number of units, and no clock is looked at.
fn paces_by_units(heap: &Heap) -> bool {
    heap.options().slice_units.is_some()
}
