//! Large arrays under a mark in slices: they are visited, summed and let go of by chunk, with the program running in between.

use crate::prompt::slices::{at_each_place, collect_and_read_weak, collect_with, is_there, ring};
use crate::prompt::{ARRAY, node, nodes, set, type_of};
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::services::host_roots::RootIndex;

/// Just beyond what lies in a cell: a few dozen chunks.
const LENGTH: u64 = 2100;
/// References to one object: more than a byte counts.
const MANY: u64 = 400;

/// An array in a ring with a node, to which [`MANY`] of its elements lead; the others lead to `survivor`. Held by the
/// root that is answered.
fn ring_with_array(m: &mut Mutator, survivor: ObjectRef) -> (RootIndex, ObjectRef, ObjectRef) {
    let array = m.allocate_array(type_of(&ARRAY), LENGTH).expect("room");
    let root = m.push_root(Some(array));
    let member = node(m);
    for index in 0..LENGTH {
        let target = if index % (LENGTH / MANY) == 0 { member } else { survivor };
        set(m, array, 8 + index * 8, Some(target));
    }
    set(m, member, 0, Some(array));
    (root, array, member)
}

/// In the middle of it the program takes references of the survivor out of its own fields, and puts others in.
#[test]
fn a_dead_ring_through_a_large_array_lets_go_of_survivors_chunk_by_chunk() {
    let mut at = 0;
    at_each_place(|m, _| {
        at += 2;
        let [survivor, holder] = nodes(m);
        m.push_root(Some(survivor));
        m.push_root(Some(holder));
        let (root, array, member) = ring_with_array(m, survivor);
        m.poll();
        m.set_root(root, None);
        let came = collect_with(m, at, |m| {
            set(m, holder, 0, Some(survivor));
            set(m, holder, 8, Some(survivor));
            set(m, holder, 0, None);
        });
        assert!(!is_there(m, array) && !is_there(m, member), "at {at}");
        assert!(is_there(m, survivor), "at {at}");
        assert_eq!(m.count_of(survivor), if came { 2 } else { 1 }, "at {at}: its root, and one field");
        came
    });
}

/// The only way to the ring is a weak slot; an upgrade finds all of the array, whichever of its chunks were summed.
#[test]
fn a_large_array_that_a_weak_slot_yields_between_its_chunks_lives() {
    let mut at = 0;
    at_each_place(|m, _| {
        at += 3;
        let survivor = node(m);
        m.push_root(Some(survivor));
        let (root, array, member) = ring_with_array(m, survivor);
        let (came, yielded) = collect_and_read_weak(m, at, root, member);
        assert_eq!(is_there(m, array), yielded.is_some(), "at {at}");
        if let Some(member) = yielded {
            assert_eq!(u64::from(m.count_of(member)), 1 + MANY.max(LENGTH.div_ceil(LENGTH / MANY)), "at {at}");
        }
        came
    });
}

/// From a chunk that the mark has not come to yet into one that it has visited, or the other way round.
#[test]
fn what_moves_between_the_chunks_of_a_large_array_lives() {
    at_each_place(|m, at| {
        let array = m.allocate_array(type_of(&ARRAY), LENGTH).expect("room");
        m.push_root(Some(array));
        let (first, last) = if at % 2 == 0 { (8, LENGTH * 8) } else { (LENGTH * 8, 8) };
        let (root, members) = ring(m, 3);
        set(m, array, last, Some(members[1]));
        m.set_root(root, None);
        m.poll();
        let came = collect_with(m, at, |m| {
            set(m, array, first, Some(members[2]));
            set(m, array, last, None);
        });
        assert!(members.iter().all(|&it| is_there(m, it)), "at {at}");
        came
    });
}
