//! Counts that are wrong: they are told of.

use crate::scenarios::on_both;
use tally_heap::ObjectRef;
use tally_heap::plan::Plan;
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::shape::Kind;

/// scenario 138: a live object's count is too low, or too high, by one: verification names the object and both numbers.
#[test]
fn wrong_count_of_a_live_object_is_named() {
    for change in [-1, 1] {
        on_both(|heap, plan| {
            let holder = heap.allocate(Kind::Array, 5).expect("room");
            heap.push_root(Some(holder));
            let pair = heap.allocate(Kind::Pair, 0).expect("room");
            (0..5).for_each(|index| heap.store(holder, Kind::Array.slot_offset(index), pair));
            heap.epoch();
            heap.verify().expect("in order so far");
            // SAFETY: [HEADER] an object that a rooted one holds.
            let object = unsafe { ObjectRef::from_address(pair) };
            assert_eq!(heap.mutator.count_of(object), 5);
            let wrong = (5 + change) as u32;
            match plan {
                Plan::Deferred => object.set_count(wrong as u8),
                Plan::Prompt => object.set_exact_count(wrong),
                Plan::Trace => unreachable!("nothing is counted"),
            }
            let complaint = heap.verify().expect_err("a count is wrong");
            for word in ["invariant", "Pair", &wrong.to_string(), "5"] {
                assert!(complaint.to_lowercase().contains(&word.to_lowercase()), "{word}: {complaint}");
            }
        });
    }
}
