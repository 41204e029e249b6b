//! How much is allocated between two collections of a heap that marks.
//!
//! A collection costs what lives, so the heap may grow by what lives before the next, as under the trace plan.

use super::Marking;
use tally_heap::Heap;

impl Marking {
    /// Notes the end of a collection that has taken so many units.
    pub(super) fn note_collection(&mut self, heap: &Heap, _units: u64) {
        self.due_at = heap.statistics.live_bytes;
    }
}
