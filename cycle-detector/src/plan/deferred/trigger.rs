//! When to flip, and how much work a slice does.
//!
//! A flip is due after [`Heap::epoch_bytes`](tally_heap::Heap::epoch_bytes) of allocation. A program that writes without
//! allocating flips for its log's sake: when the log has enough entries *and* the work of the flip, predicted from what
//! earlier epochs cost per survivor and entry, is at most a tenth of the time since the last flip. Log entries are one
//! per object at most, so waiting costs bounded memory, and collection work is rationed.
//!
//! A list of objects with finalizers that are not found together (`company`) makes flips due as well: two find one link.
//!
//! Slices: at every block taken, sized so that an epoch's work is done well before the next flip is due; and at polls,
//! where the mutator gets at least as much time between two slices as the last one took. A mark that the heap's growth has overtaken
//! has several slices at a block.

mod pace;
mod pressure;

use crate::account;
use crate::slice::SLICE_UNITS;
use std::time::{Duration, Instant};
use tally_heap::report::epoch_report::EpochReport;

/// Slices at one block while a mark is running that the heap's growth has overtaken. Each is as short as others, but the program has
/// no turn between them. (A weak map of a million entries: reading the log of its buckets took all of the mark's share, and the
/// mark never ended.) `[BOUND]`
const OVERDUE_SLICES: u32 = 8;
/// Units of work per poll.
const POLL_UNITS: i64 = SLICE_UNITS / 4;
/// Log-driven flips take at most this part of the time.
const LOG_SHARE: u64 = 10;

/// Flips for the sake of a list of objects with finalizers take at most this part of the time.
const CHAIN_SHARE: u32 = 4;

/// The state of the pacing.
#[derive(Debug)]
pub(crate) struct Trigger {
    last_flip: Instant,
    /// Measured cost of one survivor or log entry.
    ns_per_item: f64,
    /// Bytes in use when nothing waited for a slice.
    used_before: u64,
    /// The work of the last epoch leaves the program its turns (`account`).
    leaves_turns: bool,
}

impl Default for Trigger {
    fn default() -> Self {
        Trigger { last_flip: Instant::now(), ns_per_item: 25.0, used_before: 0, leaves_turns: true }
    }
}

impl Trigger {
    /// A flip, after an epoch for which the program was stopped so many nanoseconds; nothing is known where slices have a fixed
    /// number of units.
    pub(crate) fn note_flip(&mut self, work_ns: Option<u64>) {
        let elapsed = self.last_flip.elapsed().as_nanos() as u64;
        self.leaves_turns = work_ns.is_none_or(|work_ns| account::leaves_turns(work_ns, elapsed));
        self.last_flip = Instant::now();
    }

    /// Takes a finished epoch's report into the prediction.
    pub(crate) fn learn(&mut self, report: &EpochReport) {
        let items = report.log_entries + report.promoted;
        if items > 1024 {
            let measured = (report.work_ns as f64 / items as f64).clamp(5.0, 500.0);
            self.ns_per_item += (measured - self.ns_per_item) / 4.0;
        }
    }

    /// Nanoseconds that counting has cost for an object that was promoted or logged.
    pub(in crate::plan::deferred) fn ns_per_item(&self) -> u64 {
        self.ns_per_item as u64
    }

    fn log_pays(&self, entries: u64) -> bool {
        let predicted = Duration::from_nanos((entries as f64 * self.ns_per_item) as u64);
        self.last_flip.elapsed() >= predicted * LOG_SHARE as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use tally_heap::HeapOptions;

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn prediction_follows_what_epochs_cost() {
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(HeapOptions::default()) }.expect("address space");
        let mut report = EpochReport::open(mutator.heap());
        let mut trigger = Trigger::default();
        for (log_entries, promoted, work_ns, predicted) in [
            (1000, 24, 1 << 40, 25.0),
            (1000, 1000, 2000 * 105, 45.0),
            (0, 2000, 2000 * 5, 35.0),
            (2000, 0, 2000 * 100_000, 151.25),
        ] {
            (report.log_entries, report.promoted, report.work_ns) = (log_entries, promoted, work_ns);
            trigger.learn(&report);
            assert_eq!(trigger.ns_per_item, predicted);
        }
    }
}
