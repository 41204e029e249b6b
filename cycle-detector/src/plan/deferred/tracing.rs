//! A heap that traces instead of counting: when it begins to, and when it counts again.
//!
//! ```text
//!   marking, a mark is given up, because too much lives for one stop:   it traces; a collection begins
//!   tracing, a collection is due, and counting promises to cost less:   the collection makes its survivors young
//!            that has ended:                                            it counts; a flip
//!   counting, a flip is due, nothing waits, and counting costs more:    it traces; a collection begins
//! ```
//!
//! A collection costs what lives, and comes when as much was allocated: that is seen. What counting would cost is a matter of what survives
//! and what is written to. Objects that were promoted, and that have died later, would have cost their counts, and so would
//! the references that objects had that were written to while a collection ran: that is the least. Where it is next to nothing, counting is
//! tried. If it costs more than the collections have, because of what is written between them, the next trial comes
//! after twice as many collections. Compared is the time for which the program was stopped, and that of its log, for what it
//! allocates. What the heap does to change its rules is
//! [`tally_heap::plan::deferred::tracing`]; when the driver asks, `turns` says.

mod turns;

use crate::plan::deferred::marking;
use tally_heap::Heap;
use tally_heap::heap::MARK_NS_PER_UNIT;
use tally_heap::services::special::SLOT_UNITS;

/// Collections before counting is tried, and the most.
const PATIENCE: u32 = 2 * marking::PATIENCE;
const PATIENCE_MAX: u32 = 16 * PATIENCE;
/// Epochs after which the cost of counting is known: the first has promoted all that lives.
const TELLING_EPOCHS: u32 = marking::PATIENCE;
/// Counting that has gone on for so many epochs was no trial that failed.
const LASTING_EPOCHS: u32 = 2 * PATIENCE;
/// Counting is tried where its least is at most this part of what collections cost, and stays while it costs at most the second: a heap
/// that traces has less memory.
const PROMISING: u64 = 8;
const STAYING: u64 = PROMISING / 4;
/// What counting costs for a mebibyte at least.
const NS_PER_MEBIBYTE: u64 = 5_000;
/// What an entry of the log costs the program.
const NS_PER_ENTRY: u64 = 2 * MARK_NS_PER_UNIT;

/// What a change of rules costs for a block.
const NS_PER_BLOCK: u64 = 20 * MARK_NS_PER_UNIT;

/// What both ways have cost lately, in nanoseconds for a mebibyte allocated.
#[derive(Debug)]
pub(crate) struct Tracing {
    counting: u64,
    tracing: u64,
    /// Epochs since the heap has begun to count, or collections since it has begun to trace.
    since: u32,
    /// Collections until counting is tried.
    patience: u32,
    /// Counting has cost little enough when the heap counted last.
    counting_pays: bool,
    /// What counting would have worked for until the last collection: [`items`].
    items: u64,
}

impl Default for Tracing {
    fn default() -> Self {
        Tracing { counting: 0, tracing: 0, since: 0, patience: PATIENCE, counting_pays: false, items: 0 }
    }
}

impl Tracing {
    /// Takes an epoch of counting. Whether the heap traces instead of the next.
    fn counting_is_dear(&mut self, cost: u64) -> bool {
        self.since += 1;
        if self.since < TELLING_EPOCHS {
            return false;
        }
        self.counting = if self.since == TELLING_EPOCHS { cost } else { self.counting.midpoint(cost) };
        self.counting_pays = self.counting <= self.tracing / STAYING;
        !self.counting_pays
    }

    /// Takes a collection, for which counting would have cost so much at least. Whether counting is tried.
    fn counting_is_tried(&mut self, cost: u64, least: u64) -> bool {
        self.since += 1;
        // The first has cleared what counting had left.
        self.tracing = if self.since <= 2 { cost } else { self.tracing.midpoint(cost) };
        self.since >= self.patience && self.tracing / PROMISING > least.max(NS_PER_MEBIBYTE)
    }

    /// The heap traces from here on.
    fn begin(&mut self, heap: &Heap) {
        let has_lasted = self.since >= LASTING_EPOCHS;
        self.patience = if has_lasted { PATIENCE } else { (2 * self.patience).min(PATIENCE_MAX) };
        (self.since, self.items, self.counting_pays) = (0, items(heap), false);
    }
}

/// Objects for which counting would have worked so far: promoted, freed when they were mature, decremented since a logged object had referred
/// to them. To clear a weak slot costs as much under either rule; and the keys of ephemerons would have waited for a mark.
fn items(heap: &Heap) -> u64 {
    let cleared = heap.services.specials.cleared * SLOT_UNITS as u64;
    heap.statistics.promoted_objects + heap.statistics.freed_mature_objects + heap.trace.shown() + cleared
}

#[cfg(test)]
mod tests {
    use super::*;
    use tally_heap::heap::Traces;
    use tally_heap::plan::Rules;
    use tally_heap::services::weak_map::WeakMode;
    use tally_heap::{HeapOptions, TypeDescriptor, type_registry};

    static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 16, &[0, 8]);

    /// After how many collections counting is tried, and after how many epochs it ends; each costs the same every time.
    fn turns(tracing: u64, least: u64, counting: u64) -> (Option<u32>, Option<u32>) {
        let mut costs = Tracing::default();
        let tried = (1..=1000).find(|_| costs.counting_is_tried(tracing, least));
        costs.since = 0;
        (tried, (1..=1000).find(|_| costs.counting_is_dear(counting)))
    }

    #[test]
    fn counting_is_tried_where_next_to_nothing_survives_and_stays_where_it_costs_no_more() {
        assert_eq!(turns(1_000_000, 10_000, 400_000), (Some(PATIENCE), None));
        assert_eq!(turns(1_000_000, 10_000, 600_000), (Some(PATIENCE), Some(TELLING_EPOCHS)));
        assert_eq!(turns(1_000_000, 200_000, 0).0, None, "what survives would be counted");
        assert_eq!(turns(30_000, 0, 0).0, None, "nothing could be saved");
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn trials_that_fail_come_less_and_less_often() {
        // SAFETY: [HELD] nothing is allocated.
        let mut mutator = unsafe { crate::Mutator::new(tally_heap::HeapOptions::default()) }.expect("address space");
        let heap = mutator.heap();
        let mut costs = Tracing::default();
        let tried = |costs: &mut Tracing| (1..=1000).find(|_| costs.counting_is_tried(1_000_000, 0)).expect("a trial");
        for expected in [4, 8, 16, 32, 64, 64] {
            assert_eq!(tried(&mut costs), expected);
            costs.since = 2;
            costs.begin(heap);
        }
        costs.since = LASTING_EPOCHS;
        costs.begin(heap);
        assert_eq!(tried(&mut costs), PATIENCE);
    }

    /// A heap whose weak maps' entries all die at once seemed to have next to nothing to count. It counted, found none of them
    /// dead before a mark, and needed the memory of all until then.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn dead_entries_of_weak_maps_would_cost_counting_their_slots() {
        const ENTRIES: u64 = 100;
        for mode in [WeakMode::Keys, WeakMode::Values, WeakMode::Both] {
            // SAFETY: [HELD] references are used as it says.
            let mut m = unsafe { crate::Mutator::new(tally_heap::HeapOptions::default()) }.expect("address space");
            let map = m.new_weak_map(mode).expect("room");
            m.push_root(Some(map));
            for _ in 0..ENTRIES {
                let [key, value] = [(); 2].map(|()| {
                    let object = m.allocate_host(Box::new(())).expect("room");
                    m.push_root(Some(object));
                    object
                });
                m.weak_map_set(map, key, value).expect("room");
                m.truncate_roots(1);
            }
            let before = items(m.heap());
            m.collect();
            assert_eq!(m.weak_map_count(map), 0, "{mode:?}");
            assert!(items(m.heap()) - before >= ENTRIES * SLOT_UNITS as u64, "{mode:?}");
        }
    }

    /// A list of sessions by last use, of which each request writes to three, promised to cost counting nothing but the few that came and
    /// went. So counting was tried again and again, and each trial left half as many blocks again as the heap had.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn old_objects_that_are_written_to_would_cost_counting_what_they_referred_to() {
        const OLD: usize = 2_000;
        let items_of_writes = |writes: bool| {
            let options = HeapOptions {
                epoch_bytes: 64 << 10,
                slice_units: Some(64),
                traces: Traces::ByTurns(u32::MAX),
                ..HeapOptions::default()
            };
            // SAFETY: [HELD] references are used as it says.
            let mut m = unsafe { crate::Mutator::new(options) }.expect("address space");
            let node = type_registry::register(&NODE).expect("sound");
            let old: Vec<_> = (0..OLD).map(|_| m.allocate(node).expect("room")).collect();
            for &object in &old {
                m.push_root(Some(object));
                m.write(object, object.slot(8), old[0].address());
            }
            let allocate = |m: &mut crate::Mutator, turn: usize| {
                m.allocate(node).expect("room");
                let object = old[turn % OLD];
                if writes && m.heap().rules() == Rules::Tracing {
                    m.write(object, object.slot(8), object.address());
                }
                m.poll();
            };
            let mut turns = 0..;
            while m.heap().statistics.marks < 4 {
                allocate(&mut m, turns.next().expect("numbers"));
            }
            let (marks, before) = (m.heap().statistics.marks, items(m.heap()));
            while m.heap().statistics.marks < marks + 4 {
                allocate(&mut m, turns.next().expect("numbers"));
            }
            items(m.heap()) - before
        };
        assert_eq!(items_of_writes(false), 0);
        assert!(items_of_writes(true) > 100, "{} items", items_of_writes(true));
    }
}
