//! Slices that end by the clock, as those of programs do. The clock is taken out of the tests: a slice has no time at
//! all, or all of it.

use crate::prompt::{live, node, nodes, options, set};
use tally_collector::Mutator;
use tally_heap::HeapOptions;
use tally_heap::object::ObjectRef;
use tally_heap::plan::prompt::CellSpace;
use tally_kit::nodes::new_mutator;

/// Units between two looks at the clock.
const CHUNK: u64 = 4096;

/// A heap with a pause goal whose slices end at the first look at the clock.
fn timed() -> Mutator {
    let options = HeapOptions { pause_goal_ns: Some(1), slice_ns: 0, trials: false, ..options() };
    new_mutator(options).expect("address space")
}

/// A list of so many nodes in the only root.
fn list(m: &mut Mutator, count: u64) {
    let head = m.push_root(None);
    for _ in 0..count {
        let cell = node(m);
        let old = m.root(head);
        set(m, cell, 0, old);
        m.set_root(head, Some(cell));
    }
    while live(m) != count || m.heap().context_mut().pending != 0 {
        m.poll();
    }
}

fn is_there(object: ObjectRef) -> bool {
    // SAFETY: a block of the test's own.
    let there = unsafe { CellSpace::object_at(object.address()) };
    there == Some(object)
}

#[test]
fn a_slice_ends_at_the_look_at_the_clock_that_finds_its_time_over() {
    let mut m = timed();
    list(&mut m, 10 * CHUNK);
    m.truncate_roots(0);
    let (mut before, mut slices) = (live(&m), m.statistics().slices);
    while before != 0 {
        m.poll();
        let now = live(&m);
        assert!(now < before && before - now <= CHUNK + 1, "{} died in one slice", before - now);
        assert_eq!(m.heap().context_mut().pending != 0, now != 0, "compiled code drains again while anything is left");
        if now != 0 {
            assert_eq!(m.statistics().slices, slices + 1, "each is counted as one");
        }
        (before, slices) = (now, m.statistics().slices);
    }
    m.verify().expect("sound");
}

#[test]
fn a_slice_with_time_left_goes_on_chunk_by_chunk() {
    let mut m = timed();
    list(&mut m, 10 * CHUNK);
    m.truncate_roots(0);
    m.heap().options_mut().slice_ns = u64::MAX;
    m.poll();
    assert_eq!((live(&m), m.heap().context_mut().pending), (0, 0));
    m.verify().expect("sound");
}

/// A program that polls all the time would else spend all of it on the old structure.
#[test]
fn a_structure_waits_until_the_program_has_had_as_much_time_as_its_slice() {
    let mut m = timed();
    list(&mut m, 4 * CHUNK);
    m.truncate_roots(0);
    m.poll();
    let left = live(&m);
    assert!(left > CHUNK);
    // A slice takes forever from now on, and so does the program's turn.
    m.heap().options_mut().slice_ns = u64::MAX;
    for _ in 0..10 {
        let [small, other] = nodes(&mut m);
        m.poll();
        assert!(!is_there(small) && !is_there(other), "what dies meanwhile dies at once");
        assert_eq!(live(&m), left, "the structure waits");
        assert_ne!(m.heap().context_mut().pending, 0, "and is not forgotten");
    }
    m.heap().options_mut().slice_ns = 0;
    m.poll();
    assert!(live(&m) < left, "the program's turn is over");
    m.heap().options_mut().slice_ns = u64::MAX;
    m.collect();
    assert_eq!(live(&m), 0, "a collection waits for nothing");
    m.verify().expect("sound");
}

/// A mark whose slices have no time comes to its end all the same: each does a chunk.
#[test]
fn a_mark_goes_on_by_a_chunk_in_a_slice_without_time() {
    let options = HeapOptions { eager_marks: true, ..HeapOptions { pause_goal_ns: Some(1), slice_ns: 0, ..options() } };
    let mut m = new_mutator(HeapOptions { trials: false, ..options }).expect("address space");
    let [first, second] = nodes(&mut m);
    set(&mut m, first, 0, Some(second));
    set(&mut m, second, 0, Some(first));
    m.push_root(Some(first));
    let kept = node(&mut m);
    m.push_root(Some(kept));
    m.poll();
    m.set_root(tally_heap::services::host_roots::RootIndex(0), None);
    let begun = m.statistics().marks;
    for _ in 0..10_000 {
        m.poll();
    }
    assert!(m.statistics().marks > begun + 1, "one mark after the other has come to its end");
    assert_eq!(live(&m), 1);
    m.verify().expect("sound");
}

/// That mark has seen alive what died since; so the collection, which promises more, makes one of its own.
#[test]
fn a_collection_in_parts_that_begins_beside_a_mark_leaves_nothing() {
    for polls in 0..40 {
        let options = HeapOptions { slice_units: Some(1), eager_marks: true, trials: false, ..options() };
        let mut m = new_mutator(HeapOptions { pause_goal_ns: Some(1), ..options }).expect("address space");
        let [first, second] = nodes(&mut m);
        set(&mut m, first, 0, Some(second));
        set(&mut m, second, 0, Some(first));
        m.push_root(Some(first));
        (0..polls).for_each(|_| m.poll());
        m.truncate_roots(0);
        let mut parts = 1;
        while !m.collect_for(0) {
            parts += 1;
            assert!(parts < 10_000, "after {polls} polls: never complete");
        }
        assert_eq!(live(&m), 0, "after {polls} polls and {parts} parts");
        m.verify().expect("sound");
    }
}
