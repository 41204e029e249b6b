//! When to flip, and how much work a slice does.
//!
//! A flip is due after [`HeapOptions::epoch_bytes`](tally_heap::HeapOptions) of allocation. A program that writes without
//! allocating flips for its log's sake: when the log has enough entries *and* the work of the flip, predicted from what
//! earlier epochs cost per survivor and entry, is at most a tenth of the time since the last flip. Log entries are one
//! per object at most, so waiting costs bounded memory, and collection work is rationed.
//!
//! A list of objects with finalizers that are not found together (`company`) makes flips due as well: two find one link.
//!
//! Slices: at every block taken, sized so that an epoch's work is done well before the next flip is due; and at polls,
//! where the mutator gets at least as much time between two slices as the last one took. A mark that the heap's growth has overtaken
//! has several slices at a block.

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use std::time::{Duration, Instant};
use tally_heap::Heap;
use tally_heap::report::epoch_report::EpochReport;

/// Units of work per block taken.
const ALLOCATION_UNITS: i64 = 16_384;
/// As many times that while the dead wait to be taken apart and no block has room: a list of ten million nodes that was dropped
/// while the next was built took 80 MB more than one.
const URGENCY: i64 = 8;
/// Slices at one block while a mark is running that the heap's growth has overtaken. Each is as short as others, but the program has
/// no turn between them. (A weak map of a million entries: reading the log of its buckets took all of the mark's share, and the
/// mark never ended.) `[BOUND]`
const OVERDUE_SLICES: u32 = 8;
/// Units of work per poll.
const POLL_UNITS: i64 = 4_096;
/// Log-driven flips take at most this part of the time.
const LOG_SHARE: u64 = 10;

/// Flips for the sake of a list of objects with finalizers take at most this part of the time.
const CHAIN_SHARE: u32 = 4;

/// What the pacing remembers.
#[derive(Debug)]
pub struct Trigger {
    last_flip: Instant,
    /// Measured cost of one survivor or log entry.
    ns_per_item: f64,
}

impl Default for Trigger {
    fn default() -> Self {
        Trigger { last_flip: Instant::now(), ns_per_item: 25.0 }
    }
}

impl Trigger {
    pub(crate) fn note_flip(&mut self) {
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

    fn log_pays(&self, entries: u64) -> bool {
        let predicted = Duration::from_nanos((entries as f64 * self.ns_per_item) as u64);
        self.last_flip.elapsed() >= predicted * LOG_SHARE as u32
    }
}

impl DeferredDriver {
    /// The mutator takes a block.
    pub(crate) fn pace_allocation(&mut self, heap: &mut Heap) {
        if !heap.is_running() {
            return;
        }
        if self.has_work(heap) {
            // A structure dies, and the heap would grow meanwhile: it had better die faster.
            let urgency = if self.has_deaths(heap) && heap.blocks.grows() { URGENCY } else { 1 };
            // A mark has as much as the passes.
            let shares = 1 + i64::from(self.mark.is_running());
            self.slice(heap, ALLOCATION_UNITS * urgency * shares);
            self.hurry(heap);
        }
        if heap.given_bytes >= heap.options.epoch_bytes {
            if self.phase != Phase::Idle {
                // Behind: a bigger slice, and the epoch is simply extended.
                self.slice(heap, ALLOCATION_UNITS * 4);
            }
            self.flip_now(heap);
        } else if heap.log.entries >= heap.log_poll_at {
            self.flip_for_the_log(heap);
        } else if heap.finalizers.has_chain() {
            self.flip_for_a_chain(heap);
        }
        self.update_poll(heap);
    }

    /// Garbage is bounded although the mark's share of the time does not suffice.
    fn hurry(&mut self, heap: &mut Heap) {
        let mut slices = 1;
        while slices < OVERDUE_SLICES && self.mark.is_running() && self.mark.evidence.is_overdue(heap) {
            self.slice(heap, ALLOCATION_UNITS * 2);
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
            if heap.options.slice_units.is_none() && !self.stops.mutator_had_its_turn() {
                return;
            }
            self.slice(heap, POLL_UNITS);
        }
        if heap.log.entries >= heap.log_poll_at {
            self.flip_for_the_log(heap);
        } else if heap.finalizers.has_chain() {
            self.flip_for_a_chain(heap);
        }
        self.update_poll(heap);
    }

    /// The next of a list of objects that ask for owners first is found when the last has been let go of, by the next flip. If each
    /// waited until as much was allocated as between two flips, a million of them would never come to their end.
    fn flip_for_a_chain(&mut self, heap: &mut Heap) {
        let predicted = Duration::from_nanos(self.stops.last_report.work_ns);
        let timed = heap.options.slice_units.is_none();
        if !timed || self.trigger.last_flip.elapsed() >= predicted * CHAIN_SHARE {
            self.flip_now(heap);
        }
    }

    fn flip_for_the_log(&mut self, heap: &mut Heap) {
        if self.phase != Phase::Idle {
            return;
        }
        if heap.options.slice_units.is_some() || self.trigger.log_pays(heap.log.entries) {
            self.flip_now(heap);
        } else {
            heap.log_poll_at = heap.log.entries + heap.options.log_entries / 16 + 1;
        }
    }

    /// Flips unless the last flip's passes are still running.
    pub(crate) fn flip_now(&mut self, heap: &mut Heap) {
        if self.phase != Phase::Idle {
            return;
        }
        let stop_the_world = heap.options.stop_the_world;
        self.stopped(heap, |driver, heap| {
            driver.flip(heap);
            if stop_the_world {
                driver.finish(heap);
            }
        });
    }

    pub(crate) fn update_poll(&self, heap: &mut Heap) {
        let due = heap.zeal.is_some() || self.has_work(heap) || heap.log.entries >= heap.log_poll_at;
        let due = due || heap.finalizers.are_ready() || heap.finalizers.has_chain();
        heap.set_poll(due);
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
        let mut mutator = Mutator::new(HeapOptions::default()).expect("address space");
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
