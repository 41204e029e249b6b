//! Young objects: nothing is noted of them, and a batch judges them together.

use crate::prompt::{LEAF, live, mutator, node, nodes, options, set, type_of};
use std::cell::Cell;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::prompt::CellSpace;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;

/// Two nodes that refer to each other, held by nothing but one count in flight.
fn dead_pair(m: &mut Mutator) -> [ObjectRef; 2] {
    let [one, two] = nodes(m);
    set(m, one, 0, Some(two));
    set(m, two, 0, Some(one));
    [one, two]
}

/// A list of nodes by field 0, in a root.
fn list(m: &mut Mutator, length: usize) {
    let head = m.push_root(None);
    for _ in 0..length {
        let (new, rest) = (node(m), m.root(head));
        set(m, new, 0, rest);
        m.set_root(head, Some(new));
    }
}

#[test]
fn rings_that_die_young_go_with_their_batch_and_nobody_notes_them() {
    let mut m = mutator();
    for _ in 0..100_000 {
        dead_pair(&mut m);
    }
    let statistics = m.statistics();
    assert_eq!(statistics.marks, 0);
    assert!(statistics.trial_runs <= 2 * statistics.epochs, "a ring that was half made when a batch was judged");
    assert!(live(&m) < 40_000, "{} of 200,000 objects are left", live(&m));
    assert!(statistics.trial_edges <= 2 * 200_000, "{} references followed", statistics.trial_edges);
    m.epoch();
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}

#[test]
fn a_survivor_has_grown_up_and_its_decrements_are_noted() {
    let mut m = mutator();
    let [one, two, holder] = nodes(&mut m);
    set(&mut m, one, 0, Some(two));
    set(&mut m, two, 0, Some(one));
    set(&mut m, holder, 0, Some(two));
    m.push_root(Some(holder));
    assert!(one.is_settled() && two.is_settled() && CellSpace::is_young(two));
    m.epoch();
    assert_eq!((live(&m), m.count_of(one), m.count_of(two)), (3, 1, 2));
    assert!(!one.is_settled() && !two.is_settled());
    assert_eq!(m.heap().candidates[..], [holder], "a root holds it");
    set(&mut m, holder, 0, None);
    assert_eq!(m.heap().candidates[..], [holder, two]);
    m.epoch();
    assert_eq!(live(&m), 1);
}

#[test]
fn objects_in_cells_of_an_old_block_are_young_where_many_are_free_and_grown_up_where_few_are() {
    for (kept, young) in [(2, true), (15, false)] {
        let mut m = mutator();
        for _ in 0..50_000 {
            let object = node(&mut m);
            m.push_root(Some(object));
        }
        m.epoch();
        for index in 0..50_000 {
            if index % 16 >= kept {
                m.set_root(RootIndex(index), None);
            }
        }
        m.poll();
        let before = (live(&m), m.heap().prompt.cells.owned.len());
        // What is left on the context's list first.
        for _ in 0..2000 {
            node(&mut m);
        }
        m.poll();
        let [one, _] = dead_pair(&mut m);
        assert_eq!((one.is_settled(), CellSpace::is_young(one)), (young, young));
        for _ in 0..500 {
            dead_pair(&mut m);
        }
        m.verify().expect("sound");
        m.epoch();
        assert_eq!((live(&m), m.heap().prompt.cells.owned.len()), before, "dead, and in cells that were there");
        m.verify().expect("sound");
    }
}

#[test]
fn a_list_that_lives_costs_few_references_and_rings_after_it_are_found() {
    let mut m = mutator();
    list(&mut m, 1_000_000);
    let (edges, used) = (m.statistics().trial_edges, m.heap().used_bytes());
    assert!(edges < 1_000_000, "{edges} references followed for a million objects that live");
    for _ in 0..500_000 {
        dead_pair(&mut m);
    }
    assert!(m.heap().used_bytes() < used + used / 4, "{} bytes in use, {used} before", m.heap().used_bytes());
    assert!(m.statistics().marks <= 1, "what was passed over until they were seen is evidence");
    m.verify().expect("sound");
}

#[test]
fn garbage_that_was_passed_over_is_evidence_for_a_mark() {
    let mut m = mutator();
    list(&mut m, 300_000);
    let mut held = vec![];
    // Lists that live, and now and then a ring that dies: no batch pays.
    for step in 0..3_000_000u64 {
        let object = node(&mut m);
        held.push(m.push_root(Some(object)));
        if step % 25 == 0 {
            dead_pair(&mut m);
        }
        if held.len() == 100_000 {
            let first = held[0];
            held.clear();
            m.truncate_roots(first.0);
            m.poll();
        }
    }
    let kept = 400_000;
    assert!(live(&m) < 2 * kept, "{} objects live, of {kept} that are held", live(&m));
    m.verify().expect("sound");
}

#[test]
fn a_young_object_with_more_references_than_its_byte_holds_is_judged_by_itself() {
    let mut m = mutator();
    let hub = node(&mut m);
    let root = m.push_root(Some(hub));
    let mut last = hub;
    for _ in 0..1000 {
        let spoke = node(&mut m);
        set(&mut m, spoke, 0, Some(hub));
        set(&mut m, last, 8, Some(spoke));
        last = spoke;
    }
    assert_eq!(m.count_of(hub), 1001);
    m.set_root(root, None);
    m.verify().expect("sound");
    m.epoch();
    m.verify().expect("sound");
    m.epoch();
    assert_eq!(live(&m), 0);
}

thread_local!(static FINALIZED: Cell<u32> = const { Cell::new(0) });

unsafe extern "C-unwind" fn count(_: *mut std::ffi::c_void) {
    FINALIZED.set(FINALIZED.get() + 1);
}

// SAFETY: `count` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 16, &[0, 8]).finalized(count) };

#[test]
fn finalizers_of_a_ring_that_dies_young_run_once_and_what_only_leads_to_it_goes_first() {
    let mut m = mutator();
    FINALIZED.set(0);
    let file = m.allocate(type_of(&FILE)).expect("room");
    m.push_root(Some(file));
    let [inner, outer, other] = nodes(&mut m);
    set(&mut m, file, 0, Some(inner));
    set(&mut m, inner, 0, Some(file));
    set(&mut m, outer, 0, Some(other));
    set(&mut m, other, 0, Some(outer));
    set(&mut m, outer, 8, Some(file));
    m.truncate_roots(0);
    m.epoch();
    assert_eq!(
        (FINALIZED.get(), live(&m)),
        (1, 2),
        "the ring of two nodes is gone, that with the file is judged again"
    );
    m.verify().expect("sound");
    m.epoch();
    assert_eq!((FINALIZED.get(), live(&m)), (1, 0));
}

#[test]
fn references_from_dead_young_objects_to_old_ones_and_leaves_are_dropped() {
    let mut m = mutator();
    let old = node(&mut m);
    m.push_root(Some(old));
    m.epoch();
    let [one, two] = dead_pair(&mut m);
    m.push_root(Some(one));
    let leaf = m.allocate(type_of(&LEAF)).expect("room");
    set(&mut m, one, 8, Some(old));
    set(&mut m, two, 8, Some(leaf));
    assert_eq!(m.count_of(old), 2);
    m.truncate_roots(1);
    m.epoch();
    assert_eq!((live(&m), m.count_of(old)), (1, 1));
    m.verify().expect("sound");
}

#[test]
fn without_trials_nobody_is_young() {
    let mut m = new_mutator(HeapOptions { trials: false, ..options() }).expect("address space");
    let object = node(&mut m);
    assert!(!object.is_settled());
    m.verify().expect("sound");
}

#[test]
fn a_structure_that_is_taken_apart_in_slices_is_not_tried_meanwhile() {
    let mut m = new_mutator(HeapOptions { pause_goal_ns: Some(1), slice_units: Some(10), ..options() }).expect("room");
    list(&mut m, 50_000);
    m.epoch();
    // Its nodes become candidates, and then die.
    let mut object = m.root(RootIndex(0));
    while let Some(at) = object {
        let root = m.push_root(Some(at));
        m.set_root(root, None);
        // SAFETY: a node's field.
        object = Some(at.slot(0).read()).filter(|&word| word != 0).map(|word| unsafe { ObjectRef::from_address(word) });
    }
    m.truncate_roots(0);
    for _ in 0..40_000 {
        dead_pair(&mut m);
    }
    m.collect();
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}
