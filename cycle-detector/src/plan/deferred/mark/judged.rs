//! The bytes that the evidence for a mark of the deferred plan is weighed against: what the heap needs, and what a mark has judged.

use crate::evidence::Facts;
use tally_heap::Heap;

/// The heap as evidence sees it; for `in_doubt` see `Trials::in_doubt`.
pub(crate) fn facts(heap: &Heap, in_doubt: bool) -> Facts {
    // Dead entries of weak maps are not needed.
    let live = live_bytes(heap).saturating_sub(heap.dead_entry_bytes());
    Facts { live, epoch: heap.options().epoch_bytes, suspects: heap.suspects, in_doubt }
}

/// Bytes of objects not known to be dead, and of the records of special objects: these may take as much as the objects.
pub(super) fn live_bytes(heap: &Heap) -> u64 {
    heap.statistics.live_bytes + heap.services.specials.used_bytes()
}

/// What a mark has found, in bytes of objects.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Freed.
    pub(crate) freed: u64,
    /// Only finalizers need them.
    pub(crate) awaited: u64,
    /// Entries of maps with keys among those: they go with them.
    pub(crate) late: u64,
}

/// Bytes that a mark has judged to be alive, which began with `at_start` bytes of objects, and its late bytes, with records. What will
/// be dead when finalizers have run is not alive. Nor is what was born while the mark ran, although it is alive for the mark,
/// whatever has become of it: it may be most of the heap where marks are slow (those of large maps are).
pub(super) fn alive_and_late(heap: &Heap, at_start: u64, found: &Found) -> (u64, u64) {
    let objects = heap.statistics.live_bytes;
    let live = objects.saturating_sub(heap.dead_entry_bytes()).saturating_sub(found.awaited + found.late);
    let unjudged = (objects + found.freed).saturating_sub(at_start);
    // What the mark has judged has as many records as others, on average.
    let with_records = |bytes: u64| (bytes as f64 * live_bytes(heap) as f64 / objects.max(1) as f64) as u64;
    (with_records(live.saturating_sub(unjudged)), with_records(found.late))
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
            for (awaited, late) in [(0, 0), (1, 0), (1, 3)] {
                let found = Found { freed: 12 * MIB, awaited: awaited * MIB, late: late * MIB };
                let alive = alive_and_late(mutator.heap(), 20 * MIB, &found);
                assert_eq!(alive, ((8 - awaited - late) * MIB, late * MIB), "{born} MiB were born, {found:?}");
            }
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
