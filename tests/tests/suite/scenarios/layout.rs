//! Sizes that no heap holds, and the walk over what there is, under both plans.

use crate::scenarios::on_both;
use std::collections::BTreeSet;
use tally_heap::OutOfMemory;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// scenario 143: sizes beyond any heap, also those whose bytes wrap around, are refused, and the heap goes on.
#[test]
fn absurd_sizes_are_refused_under_both_plans() {
    on_both(|heap, plan| {
        for kind in [Kind::Array, Kind::Text, Kind::Records, Kind::TracedArray, Kind::AlignedArray] {
            for length in [u64::MAX, u64::MAX / 8, u64::MAX / 8 - 1, u64::MAX / 16 + 1, 1 << 61, 1 << 45] {
                let refused = heap.mutator.allocate_array(heap.type_of(kind), length);
                let right = matches!(refused, Err(OutOfMemory::Absurd { .. } | OutOfMemory::Range { .. }));
                assert!(right, "{plan:?}: {kind:?} of {length}: {refused:?}");
            }
        }
        let pair = heap.allocate(Kind::Pair, 0).expect("the heap still works");
        heap.push_root(Some(pair));
        heap.epoch();
        heap.verify().expect("in order");
        assert_eq!(heap.totals().live_objects, 1);
    });
}

/// scenario 152: a walk of the heap lists each live object once, of every kind and size, and none that died.
#[test]
fn heap_walk_lists_each_live_object_once_under_both_plans() {
    on_both(|heap, plan| {
        let mut expected = BTreeSet::new();
        for (index, kind) in Kind::without_finalizer().cycle().take(420).enumerate() {
            let length = if index % 50 == 0 { 4000 } else { index as u64 % 7 };
            let object = heap.allocate(kind, length).expect("room");
            if index % 3 != 0 {
                heap.push_root(Some(object));
                expected.insert(object);
            }
        }
        heap.epoch();
        let walked = heap.live_objects();
        assert_eq!(walked.len(), expected.len(), "{plan:?}");
        assert_eq!(walked.into_iter().collect::<BTreeSet<u64>>(), expected, "{plan:?}");
        heap.truncate_roots(0);
        heap.collect();
        assert!(heap.live_objects().is_empty(), "{plan:?}");
    });
}
