//! How much is allocated between two collections of the trace plan.
//!
//! A collection costs what lives, so the heap may grow by what lives before the next: then a mark follows at most about
//! one reference for each that the program has made since, however large the heap is (Jones, Hosking & Moss, *The
//! Garbage Collection Handbook*, §10). A small heap grows by an epoch.

use tally_heap::Heap;

/// When the next collection is due.
#[derive(Debug, Default)]
pub(super) struct Trigger {
    /// Bytes of objects that the last collection has left.
    left: u64,
}

impl Trigger {
    /// Whether the program has allocated as much since the last collection as lived after it, and an epoch.
    pub(super) fn is_due(&self, heap: &Heap) -> bool {
        heap.clock.given_bytes >= self.due_at(heap)
    }

    /// Bytes to allocate until then.
    pub(super) fn due_at(&self, heap: &Heap) -> u64 {
        self.left.max(heap.options().epoch_bytes)
    }

    /// Notes the end of a collection.
    pub(super) fn note_collection(&mut self, heap: &Heap) {
        self.left = heap.statistics.live_bytes;
    }
}
