//! The bytes that the evidence for a mark of the deferred plan is weighed against: what the heap needs, and what a mark has judged.

use crate::evidence::Facts;
use tally_heap::Heap;

/// The heap as evidence sees it; for `doubts` see `Trials::doubts`.
pub(crate) fn facts(heap: &Heap, doubts: u64) -> Facts {
    // Dead entries of weak maps are not needed.
    let live = live_bytes(heap).saturating_sub(heap.dead_entry_bytes());
    Facts { live, epoch: heap.options().epoch_bytes, suspects: heap.suspects, doubts }
}

/// Bytes of objects not known to be dead, and of the records of special objects: these may take as much as the objects.
pub(super) fn live_bytes(heap: &Heap) -> u64 {
    heap.statistics.live_bytes + heap.services.specials.used_bytes()
}

/// Bytes that a mark has judged to be alive, which began with `at_start` bytes of objects, has freed some, and found some that will be
/// dead when finalizers have run. Those are not alive. Nor is what was born while the mark ran, although it is alive for the mark,
/// whatever has become of it: it may be most of the heap where marks are slow (those of large maps are).
pub(super) fn alive_bytes(heap: &Heap, at_start: u64, freed: u64, awaited: u64) -> u64 {
    let objects = heap.statistics.live_bytes;
    let live = objects.saturating_sub(heap.dead_entry_bytes()).saturating_sub(awaited);
    let unjudged = (objects + freed).saturating_sub(at_start);
    // These are bytes of objects: what the mark has judged has as many records as others, on average.
    let judged = live.saturating_sub(unjudged) as f64;
    (judged * live_bytes(heap) as f64 / objects.max(1) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use tally_heap::HeapOptions;

    /// What was born while a mark ran is alive for it, but not judged: the next one does not wait until the heap is several
    /// times as large as both.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn what_is_born_while_a_mark_runs_is_no_base() {
        const MIB: u64 = 1 << 20;
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(HeapOptions::default()) }.expect("address space");
        for born in [0, 30] {
            // Of 20 MiB it frees 12.
            mutator.heap().statistics.live_bytes = (8 + born) * MIB;
            assert_eq!(alive_bytes(mutator.heap(), 20 * MIB, 12 * MIB, 0), 8 * MIB, "{born} MiB were born");
            assert_eq!(alive_bytes(mutator.heap(), 20 * MIB, 12 * MIB, MIB), 7 * MIB, "one waits for finalizers");
        }
    }

    /// Records of special objects may take as much as the objects.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn records_are_part_of_the_live_heap() {
        let options = HeapOptions { epoch_bytes: 1 << 10, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let without = live_bytes(mutator.heap()) - mutator.heap().statistics.live_bytes;
        let key = mutator.allocate_host(Box::new(())).expect("room");
        let before = live_bytes(mutator.heap()) - mutator.heap().statistics.live_bytes;
        mutator.new_ephemeron(key, None).expect("room");
        let with = live_bytes(mutator.heap()) - mutator.heap().statistics.live_bytes;
        assert_eq!((without, before, with), (0, 24, 24 + 24 + 32), "a record of each, and the slot's link");
    }
}
