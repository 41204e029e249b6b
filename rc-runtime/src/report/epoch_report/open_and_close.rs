//! The figures that a report takes from its heap: when its epoch begins, and when it ends.

use super::EpochReport;
use crate::Heap;

impl EpochReport {
    /// The report of an epoch that begins now.
    pub fn open(heap: &Heap) -> EpochReport {
        EpochReport {
            epoch: heap.clock.epoch,
            given_bytes: heap.clock.given_bytes,
            log_entries: heap.log_entries(),
            promoted_before: heap.statistics.promoted_objects,
            ..EpochReport::default()
        }
    }

    /// The epoch ends now.
    pub fn close(&mut self, heap: &Heap) {
        self.promoted = heap.statistics.promoted_objects - self.promoted_before;
        self.live_objects = heap.statistics.live_objects;
    }
}
