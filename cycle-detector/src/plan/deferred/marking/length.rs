//! How much is allocated between two collections of a heap that marks.
//!
//! A collection costs what lives. So the heap may grow by what lives before the next, as under the trace plan, and by so
//! much for each unit of the last mark that marks take a small part of the time: a mebibyte at least, an epoch at most.
//! Where next to nothing lives collections are nearly free, and the heap need not be large. Who says how long epochs are
//! has that length.

use super::Marking;
use crate::account;
use tally_heap::Heap;
use tally_heap::memory::range::BLOCK_BYTES;

/// Bytes for a unit of a mark. A unit takes about 10 ns, and a program a nanosecond for a byte or two.
const BYTES_PER_UNIT: u64 = 128 * account::BYTES_PER_UNIT;
/// No epoch is shorter. What a collection costs whatever lives is a hundredth of the time in which so much is allocated.
const SHORTEST: u64 = 32 * BLOCK_BYTES;

impl Marking {
    /// Notes the end of a collection that has taken so many units.
    pub(super) fn note_collection(&mut self, heap: &Heap, units: u64) {
        (self.units, self.left) = (units, heap.statistics.live_bytes - heap.bump.floating_bytes);
    }

    /// Whether a collection is due.
    pub(super) fn is_due(&self, heap: &Heap) -> bool {
        let epoch = heap.options().epoch_bytes;
        let length = match heap.options().epoch_grows {
            true => (self.units * BYTES_PER_UNIT).clamp(SHORTEST.min(epoch), epoch),
            false => epoch,
        };
        let length = length.max(self.left);
        // The rest of the room is for what is allocated while it runs.
        heap.clock.given_bytes >= if self.goes_in_slices(heap) { length / 4 * 3 } else { length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use tally_heap::HeapOptions;

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn epochs_are_short_where_marks_cost_next_to_nothing() {
        const MIB: u64 = 1 << 20;
        for (grows, units, left, due) in [
            (true, 0, 0, MIB),
            (true, 8192, MIB, 4 * MIB),
            (true, 1 << 20, 5 * MIB, 8 * MIB),
            (true, 1 << 20, 11 * MIB, 11 * MIB),
            (false, 0, MIB, 8 * MIB),
        ] {
            let options = HeapOptions { epoch_grows: grows, ..HeapOptions::default() };
            // SAFETY: [HELD] nothing is allocated.
            let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
            let marking = Marking { units, left, ..Marking::default() };
            mutator.heap().clock.given_bytes = due - 1;
            assert!(!marking.is_due(mutator.heap()), "{grows} {units} {left}");
            mutator.heap().clock.given_bytes = due;
            assert!(marking.is_due(mutator.heap()), "{grows} {units} {left}");
        }
    }
}
