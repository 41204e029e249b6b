//! How much is allocated between two collections that mark from the roots.
//!
//! A collection costs what lives, so the heap may grow by what lives before the next: then a mark follows at most about
//! one reference for each that the program has made since, however large the heap is (Jones, Hosking & Moss, *The
//! Garbage Collection Handbook*, §10). And it may grow by so much for each unit of the last collection that collections take a small part of
//! the time: a mebibyte at least, an epoch at most. Where next to nothing lives they are nearly free, and the heap need not be
//! large. Dead entries of weak maps, which are room for new ones, do not live, nor do objects that wait for their finalizers. Who says how
//! long epochs are has that length. A heap with a limit may grow by half of what is left to the limit, so that a collection in slices is
//! over before.

use crate::account;
use tally_heap::Heap;
use tally_heap::memory::range::BLOCK_BYTES;

/// Bytes for a unit of a collection. A unit takes about 10 ns, and a program a nanosecond for a byte or two.
const BYTES_PER_UNIT: u64 = 128 * account::BYTES_PER_UNIT;
/// No epoch is shorter. What a collection costs whatever lives is a hundredth of the time in which so much is allocated.
const SHORTEST: u64 = 32 * BLOCK_BYTES;

/// When the next collection is due.
#[derive(Debug, Default)]
pub(in crate::plan) struct Growth {
    /// Units of the last collection.
    units: u64,
    /// Bytes of objects that it has left, without the most of those that were born meanwhile.
    left: u64,
    /// Bytes of objects whose finalizers were to run when that was known of the running one.
    waited: u64,
}

impl Growth {
    /// Notes the end of a collection that has taken so many units.
    pub(in crate::plan) fn note_collection(&mut self, heap: &Heap, units: u64) {
        self.note_dead_that_wait(heap);
        let dead = heap.dead_entry_bytes().saturating_add(std::mem::take(&mut self.waited));
        let left = heap.statistics.live_bytes.saturating_sub(dead);
        // Half of it may have been born while the collection ran, in slices. More may all be garbage: if each collection were to allow for
        // what was made during the last, it would have more to do than that and take longer, without an end.
        let born = heap.clock.given_bytes.min(left);
        (self.units, self.left) = (units, left - born + born.min(left / 2));
    }

    /// A collection that goes on has found what is dead, and the finalizers of that begin to run.
    pub(in crate::plan) fn note_dead_that_wait(&mut self, heap: &Heap) {
        self.waited = self.waited.max(heap.bytes_that_wait_for_finalizers());
    }

    /// The heap has so many bytes of living objects, and marks from here on.
    pub(in crate::plan) fn expect(&mut self, left: u64) {
        self.left = left;
    }

    /// Units of the last collection.
    pub(in crate::plan) fn units(&self) -> u64 {
        self.units
    }

    /// Bytes to allocate from one collection to the next.
    pub(in crate::plan) fn due_at(&self, heap: &Heap) -> u64 {
        let epoch = heap.options().epoch_bytes;
        let length = match heap.options().epoch_grows {
            true => self.units.saturating_mul(BYTES_PER_UNIT).clamp(SHORTEST.min(epoch), epoch),
            false => epoch,
        };
        let length = length.max(self.left);
        match heap.options().heap_limit {
            Some(limit) => length.min((limit.saturating_sub(self.left) / 2).max(SHORTEST.min(length))),
            None => length,
        }
    }

    /// Whether so much has been allocated.
    pub(in crate::plan) fn is_due(&self, heap: &Heap) -> bool {
        heap.clock.given_bytes >= self.due_at(heap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use tally_heap::HeapOptions;
    use tally_heap::services::weak_map::WeakMode;

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn epochs_are_short_where_marks_cost_next_to_nothing() {
        const MIB: u64 = 1 << 20;
        for (grows, heap_limit, units, left, due) in [
            (true, None, 0, 0, MIB),
            (true, None, 8192, MIB, 4 * MIB),
            (true, None, 1 << 20, 5 * MIB, 8 * MIB),
            (true, None, 1 << 20, 11 * MIB, 11 * MIB),
            (false, None, 0, MIB, 8 * MIB),
            (true, Some(20 * MIB), 1 << 20, 11 * MIB, 9 * MIB / 2),
            (true, Some(11 * MIB), 1 << 20, 11 * MIB, MIB),
        ] {
            let options = HeapOptions { epoch_grows: grows, heap_limit, ..HeapOptions::default() };
            // SAFETY: [HELD] nothing is allocated.
            let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
            let growth = Growth { units, left, waited: 0 };
            mutator.heap().clock.given_bytes = due - 1;
            assert!(!growth.is_due(mutator.heap()), "{grows} {units} {left}");
            mutator.heap().clock.given_bytes = due;
            assert!(growth.is_due(mutator.heap()), "{grows} {units} {left}");
        }
    }

    /// They stand in the map until their places are used again. If each collection were to allow for those that the last has left, a map
    /// whose entries all die would let the heap grow without a bound.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn dead_entries_of_weak_maps_are_no_living_heap() {
        let options = HeapOptions { epoch_bytes: 1 << 10, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut m = unsafe { Mutator::new(options) }.expect("address space");
        let map = m.new_weak_map(WeakMode::Keys).expect("room");
        m.push_root(Some(map));
        let due_after = |m: &mut Mutator, entries: u64| {
            for _ in 0..entries {
                let key = m.allocate_host(Box::new(())).expect("room");
                m.push_root(Some(key));
                m.weak_map_set(map, key, map).expect("room");
                m.truncate_roots(1);
            }
            m.collect();
            let mut growth = Growth::default();
            growth.note_collection(m.heap(), 0);
            growth.due_at(m.heap())
        };
        let [few, many] = [8, 2_000].map(|entries| due_after(&mut m, entries));
        assert!(m.heap().dead_entry_bytes() > many && many < 4 * few, "{few} bytes, then {many}");
    }
}
