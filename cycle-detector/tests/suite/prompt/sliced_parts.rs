//! A collection in parts that says that it is complete has left nothing that was unreachable when it began, whatever held that.

use crate::prompt::sliced_marks::{CLOSED, DOOR};
use crate::prompt::slices::{is_there, ring, sliced};
use crate::prompt::{ARRAY, node, set, type_of};
use tally_collector::Mutator;
use tally_heap::ObjectRef;

/// A ring in a large array that takes many slices to die, and that a root holds; all are grown up.
fn ring_in_an_array(m: &mut Mutator) -> (ObjectRef, Vec<ObjectRef>) {
    let array = m.allocate_array(type_of(&ARRAY), 6000).expect("room");
    m.push_root(Some(array));
    let (root, ring) = ring(m, 3);
    (0..6000).for_each(|index| set(m, array, 8 + index * 8, Some(ring[index as usize % 3])));
    m.set_root(root, None);
    m.collect();
    (array, ring)
}

/// Parts until one is complete, and with `round_at` polls between them, where a round is due before that part: then
/// nothing of `garbage` is there. Returns how many parts that took.
fn collect_in_parts(m: &mut Mutator, round_at: Option<usize>, garbage: &[ObjectRef]) -> usize {
    for part in 0..1_000_000 {
        if let Some(round_at) = round_at {
            m.heap().prompt.round_at = if part == round_at { 0 } else { usize::MAX };
            m.poll();
        }
        if m.collect_for(0) {
            let left = garbage.iter().filter(|&&object| is_there(m, object)).count();
            assert_eq!(left, 0, "objects left that were unreachable when the first part began");
            m.verify().expect("sound");
            return part;
        }
    }
    panic!("never complete");
}

/// The batch with which a mark begins frees the young ring; its array is taken apart while the mark runs, and holds the
/// old one all the while.
#[test]
fn a_ring_that_an_array_of_a_young_ring_held_is_gone_when_the_parts_are_complete() {
    for (trials, round_at) in [(false, None), (true, None), (false, Some(3)), (true, Some(3))] {
        let mut m = sliced(7, trials);
        let (array, old) = ring_in_an_array(&mut m);
        let (_, young) = ring(&mut m, 2);
        set(&mut m, young[0], 0, Some(array));
        m.truncate_roots(0);
        let garbage: Vec<ObjectRef> = old.into_iter().chain(young).chain([array]).collect();
        collect_in_parts(&mut m, round_at, &garbage);
    }
}

/// The same where a round of trials frees the outer ring between two parts.
#[test]
fn a_ring_that_an_array_of_a_tried_ring_held_is_gone_when_the_parts_are_complete() {
    for round_at in 0.. {
        let mut m = sliced(7, true);
        let (array, inner) = ring_in_an_array(&mut m);
        let (_, outer) = ring(&mut m, 2);
        set(&mut m, outer[0], 0, Some(array));
        let holder = node(&mut m);
        m.push_root(Some(holder));
        set(&mut m, holder, 0, Some(outer[0]));
        m.truncate_roots(0);
        m.push_root(Some(holder));
        m.collect();
        set(&mut m, holder, 0, None);
        let garbage: Vec<ObjectRef> = inner.into_iter().chain(outer).chain([array]).collect();
        let parts = collect_in_parts(&mut m, Some(round_at), &garbage);
        if parts < round_at {
            assert!(parts > 8, "the collection had {parts} parts only");
            return;
        }
    }
}

/// Its finalizer runs before the mark begins, which would keep alive what a queued object holds.
#[test]
fn a_ring_that_a_young_object_with_a_finalizer_held_is_gone_when_the_parts_are_complete() {
    for trials in [false, true] {
        let mut m = sliced(7, trials);
        let (_, old) = ring(&mut m, 3);
        m.collect();
        let (_, young) = ring(&mut m, 2);
        let door = m.allocate(type_of(&DOOR)).expect("room");
        set(&mut m, young[0], 0, Some(door));
        set(&mut m, door, 0, Some(young[1]));
        set(&mut m, door, 8, Some(old[0]));
        m.truncate_roots(0);
        CLOSED.set(0);
        let garbage: Vec<ObjectRef> = old.into_iter().chain(young).chain([door]).collect();
        collect_in_parts(&mut m, None, &garbage);
        assert_eq!(CLOSED.get(), 1);
    }
}
