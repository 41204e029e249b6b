//! Cycles: by trial at safepoints, by the mark when asked.

use crate::prompt::{ARRAY, live, mutator, node, nodes, options, set, type_of};
use tally_collector::Mutator;
use tally_heap::object::prompt_flag;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;

/// A ring of `length` nodes by field 0, each referring to its predecessor by field 8; returns one that a root holds.
fn ring(m: &mut Mutator, length: u64) -> usize {
    let base = m.root_count();
    let first = node(m);
    let root = m.push_root(Some(first));
    let previous = m.push_root(Some(first));
    for _ in 1..length {
        let (next, last) = (node(m), m.root(previous).expect("set"));
        set(m, last, 0, Some(next));
        set(m, next, 8, Some(last));
        m.set_root(previous, Some(next));
    }
    let last = m.root(previous).expect("set");
    set(m, last, 0, Some(first));
    set(m, first, 8, Some(last));
    m.truncate_roots(base + 1);
    assert_eq!(root.0, base);
    base
}

/// scenario 37.
#[test]
fn rings_of_every_size_that_are_dropped_are_found_by_trials_alone() {
    for length in [1, 2, 4, 7, 8, 9, 64, 65, 1000, 5000] {
        let mut m = mutator();
        for _ in 0..200_000 / length + 3 {
            let base = ring(&mut m, length);
            m.truncate_roots(base);
            m.poll();
        }
        let left = live(&m);
        assert!(left < 40_000 + 8 * length, "{left} objects are left of rings of {length}");
        assert_eq!(m.statistics().marks, 0);
        assert!(m.statistics().cyclic_garbage_objects > 150_000, "rings of {length}");
        m.verify().expect("sound");
        m.collect();
        assert_eq!(live(&m), 0);
    }
}

#[test]
fn an_epoch_tries_every_candidate_whatever_the_budget() {
    for length in [3, 100, 30_000] {
        let mut m = mutator();
        let base = ring(&mut m, length);
        m.truncate_roots(base);
        m.epoch();
        assert_eq!(live(&m), 0);
        assert_eq!(m.last_report().freed_by_trial, length);
    }
}

#[test]
fn an_old_object_that_was_at_zero_and_refers_to_itself_now_is_found() {
    let mut m = mutator();
    let object = node(&mut m);
    let root = m.push_root(Some(object));
    m.epoch();
    m.set_root(root, None);
    set(&mut m, object, 0, Some(object));
    assert_eq!((live(&m), m.count_of(object)), (1, 1));
    m.epoch();
    assert_eq!(live(&m), 0);
}

#[test]
fn a_ring_that_a_root_holds_survives_and_its_counts_are_as_before() {
    let mut m = mutator();
    let base = ring(&mut m, 500);
    m.poll();
    let kept = m.root(tally_heap::services::host_roots::RootIndex(base)).expect("set");
    let before: Vec<(ObjectRef, u64)> = m.live_objects().iter().map(|&object| (object, object.header())).collect();
    m.epoch();
    assert_eq!((live(&m), m.count_of(kept)), (500, 3));
    for (object, header) in before {
        let noted = u64::from(prompt_flag::CANDIDATE) << 32;
        assert_eq!(object.header() & !noted, header & !noted, "[TRIAL]");
    }
    m.verify().expect("sound");
}

#[test]
fn a_protected_ring_survives_a_round_although_no_count_holds_it() {
    let mut m = mutator();
    let base = ring(&mut m, 4);
    let kept = m.root(tally_heap::services::host_roots::RootIndex(base)).expect("set");
    m.truncate_roots(base);
    while m.heap().prompt.round_at > 1 {
        m.heap().prompt.round_at = 1;
    }
    m.drain(&[kept.address()]);
    assert_eq!((live(&m), m.count_of(kept)), (4, 2));
    m.epoch();
    m.epoch();
    assert!(live(&m) == 0 || m.collect() == 4);
}

/// A result on its way to the caller is such an object.
#[test]
fn a_protected_object_whose_last_reference_a_dead_ring_held_is_pending() {
    for is_young in [true, false] {
        let mut m = mutator();
        let [holder, object] = nodes(&mut m);
        set(&mut m, holder, 0, Some(object));
        set(&mut m, holder, 8, Some(holder));
        let roots = [holder, object].map(|one| m.push_root(Some(one)));
        if !is_young {
            m.epoch();
        }
        roots.into_iter().for_each(|root| m.set_root(root, None));
        m.heap().prompt.round_at = 0;
        m.drain(&[object.address()]);
        m.verify().expect("sound");
        m.poll();
        m.epoch();
        assert_eq!(live(&m), 0, "is_young: {is_young}");
    }
}

#[test]
fn a_dead_ring_on_a_large_live_heap_is_found_and_costs_little() {
    let options = HeapOptions { slice_units: Some(16_384), ..options() };
    let mut m = new_mutator(options).expect("address space");
    let base = ring(&mut m, 100_000);
    let heap_root = tally_heap::services::host_roots::RootIndex(base);
    let mut place = m.root(heap_root).expect("set");
    m.epoch();
    let edges = m.statistics().trial_edges;
    for _ in 0..20_000 {
        let [one, two] = nodes(&mut m);
        set(&mut m, one, 0, Some(two));
        set(&mut m, two, 0, Some(one));
        set(&mut m, two, 8, Some(place));
        // SAFETY: the ring's reference to its next member.
        place = unsafe { ObjectRef::from_address(place.slot(0).read()) };
        let root = m.push_root(Some(one));
        m.set_root(root, None);
        m.truncate_roots(base + 1);
        m.poll();
    }
    let statistics = m.statistics();
    assert_eq!(statistics.marks, 0);
    assert!(live(&m) < 100_000 + 20_000, "{} live", live(&m));
    let edges = statistics.trial_edges - edges;
    assert!(edges < 40 * 40_000, "{edges} references followed for 40,000 objects allocated");
    m.verify().expect("sound");
}

/// scenario 33.
#[test]
fn collections_take_cycles_through_large_arrays_and_leave_the_rest() {
    let mut m = mutator();
    let kept = node(&mut m);
    m.push_root(Some(kept));
    let array = m.allocate_array(type_of(&ARRAY), 1_000_000).expect("room");
    m.push_root(Some(array));
    for index in 0..1000 {
        let element = node(&mut m);
        set(&mut m, element, 0, Some(array));
        set(&mut m, element, 8, Some(kept));
        set(&mut m, array, 8 + index * 997 * 8, Some(element));
    }
    assert_eq!(m.count_of(kept), 1001);
    m.truncate_roots(1);
    m.poll();
    assert_eq!(live(&m), 1002);
    assert_eq!(m.collect(), 1001);
    assert_eq!((live(&m), m.count_of(kept)), (1, 1));
    m.verify().expect("sound");
    assert_eq!(m.collect(), 0, "scenario 33: twice in a row");
}

#[test]
fn a_chain_of_dead_rings_goes_ring_by_ring() {
    let mut m = mutator();
    let root = m.push_root(None);
    for _ in 0..1000 {
        let [one, two] = nodes(&mut m);
        set(&mut m, one, 0, Some(two));
        set(&mut m, two, 0, Some(one));
        let rest = m.root(root);
        set(&mut m, two, 8, rest);
        m.set_root(root, Some(one));
    }
    m.epoch();
    assert_eq!(live(&m), 2000);
    m.set_root(root, None);
    m.epoch();
    assert_eq!(live(&m), 0);
}

#[test]
fn mutation_of_a_live_heap_alone_costs_no_trials() {
    let mut m = mutator();
    let objects: Vec<ObjectRef> = (0..10_000)
        .map(|_| {
            let object = node(&mut m);
            m.push_root(Some(object));
            object
        })
        .collect();
    m.poll();
    let edges = m.statistics().trial_edges;
    for step in 0..1_000_000usize {
        let (from, to) = (objects[step * 7 % 10_000], objects[step * 13 % 10_000]);
        set(&mut m, from, 8 * (step as u64 % 2), Some(to));
        if step % 100 == 0 {
            m.poll();
        }
    }
    let edges = m.statistics().trial_edges - edges;
    assert!(edges < 300_000, "{edges} references followed, and nothing was allocated");
    m.verify().expect("sound");
}

#[test]
fn without_trials_the_mark_comes_by_evidence() {
    let mut m = new_mutator(HeapOptions { trials: false, ..options() }).expect("address space");
    for _ in 0..1_000_000 {
        let base = ring(&mut m, 2);
        m.truncate_roots(base);
        m.poll();
    }
    let statistics = m.statistics();
    assert!(statistics.marks > 0);
    assert!(statistics.live_objects < 1_500_000, "{statistics:?}");
}

/// scenario 38.
#[test]
fn objects_of_acyclic_types_are_never_candidates() {
    let mut m = mutator();
    let leaf = m.allocate(type_of(&crate::prompt::LEAF)).expect("room");
    let root = m.push_root(Some(leaf));
    m.push_root(Some(leaf));
    m.truncate_roots(1);
    assert!(m.heap().candidates.is_empty());
    assert!(leaf.is_settled() && !leaf.has(prompt_flag::CANDIDATE));
    m.set_root(root, None);
    m.poll();
    assert_eq!(live(&m), 0);
}

#[test]
fn an_array_of_many_references_that_dies_is_work_for_many_rounds_and_not_for_one() {
    let mut m = mutator();
    let array = m.allocate_array(type_of(&ARRAY), 100_000).expect("room");
    m.push_root(Some(array));
    for index in 0..100_000 {
        let object = node(&mut m);
        set(&mut m, array, 8 + index * 8, Some(object));
        set(&mut m, object, 0, Some(object));
    }
    m.epoch();
    m.truncate_roots(0);
    m.poll();
    let mut most = 0;
    for _ in 0..2_000_000 {
        let before = m.statistics();
        let [one] = nodes(&mut m);
        set(&mut m, one, 0, Some(one));
        let now = m.statistics();
        most = most.max(now.candidates - before.candidates);
        assert!(now.marks == 0 && now.epochs - before.epochs <= 1);
        if now.live_objects < 40_000 {
            break;
        }
    }
    assert!((1000..40_000).contains(&most), "{most} candidates in one round");
    assert!(live(&m) < 40_000, "{} objects are left", live(&m));
    m.verify().expect("sound");
    assert!(live(&m) < 1000, "{} objects were passed over", live(&m));
    m.collect();
    assert_eq!(live(&m), 0);
}
