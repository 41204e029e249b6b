//! Values of weak maps that have no record, keys of maps where both are weak, and what gives them one.

use super::risen::RISEN;
use super::{FINALIZED, FINALIZERS, MAPS, NODE, SEEN, for_all_heaps, map, records, rooted};
use std::cell::Cell;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, nothing_is_left, set};

const WEAK_VALUES: [WeakMode; 2] = [WeakMode::Values, WeakMode::Both];

fn let_go(m: &mut Mutator, top: usize) {
    m.truncate_roots(top);
    m.collect();
    m.collect();
}

fn bonds(m: &mut Mutator) -> u32 {
    m.heap().services.specials.slots()
}

fn verify(m: &mut Mutator) {
    m.verify().unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn sides_of_one_entry_have_no_record_and_the_first_takes_the_entry_along() {
    for_all_heaps(|m| {
        for (mode, by_key) in [(WeakMode::Values, false), (WeakMode::Both, false), (WeakMode::Both, true)] {
            let start = m.root_count();
            let map = map(m, mode);
            let before = records(m);
            let kept = m.root_count();
            let keys: Vec<ObjectRef> = (0..600).map(|_| rooted(m, &NODE)).collect();
            let values: Vec<ObjectRef> = (0..600).map(|_| rooted(m, &NODE)).collect();
            for (&key, &value) in keys.iter().zip(&values) {
                m.weak_map_set(map, key, value).expect("memory");
            }
            m.collect();
            verify(m);
            assert_eq!((m.weak_map_count(map), records(m), bonds(m)), (600, before, 600));
            // Every third goes, and then all.
            let first = kept + if by_key { 0 } else { 600 };
            (0..600).step_by(3).for_each(|at| m.set_root(RootIndex(first + at), None));
            m.collect();
            m.collect();
            verify(m);
            assert_eq!((m.weak_map_count(map), records(m), bonds(m)), (400, before, 400));
            (1..600).step_by(3).for_each(|at| assert_eq!(m.weak_map_get(map, keys[at]), Some(values[at])));
            (0..600).for_each(|at| m.set_root(RootIndex(first + at), None));
            m.collect();
            m.collect();
            assert_eq!((m.weak_map_count(map), records(m), bonds(m)), (0, before, 0));
            let_go(m, start);
        }
    });
}

/// A weak reference to it, a second map of each kind, a weak slot in it and a weak set, each before and after the map. One of both
/// sides has the reason, and one of both dies.
#[test]
fn side_with_and_without_another_reason_for_a_record() {
    for_all_heaps(|m| {
        for (mode, reason) in WEAK_VALUES.into_iter().flat_map(|mode| (0..48).map(move |reason| (mode, reason))) {
            let top = m.root_count();
            let map = map(m, mode);
            let other = super::map(m, WEAK_VALUES[reason / 12 % 2]);
            let fixed = rooted(m, &NODE);
            let kept = m.root_count();
            let sides = [rooted(m, &NODE), rooted(m, &NODE)];
            let (has, dies) = (sides[reason / 6 % 2], reason / 24);
            let weak = Cell::new(None);
            let give = |m: &mut Mutator| match reason % 6 / 2 * 2 + usize::from(reason % 6 == 5) {
                0 => {
                    weak.set(Some(m.new_weak(has).expect("memory")));
                    m.push_root(weak.get());
                }
                2 => m.weak_map_set(other, fixed, has).expect("memory"),
                4 => m.write_weak(has, has.slot(16), Some(fixed)),
                _ => {
                    let set = m.heap().new_weak_set(16).expect("memory");
                    m.push_root(Some(set));
                    m.heap().weak_set_add(set, has).expect("memory");
                }
            };
            if reason % 2 == 0 {
                give(m);
                m.weak_map_set(map, sides[0], sides[1]).expect("memory");
            } else {
                m.weak_map_set(map, sides[0], sides[1]).expect("memory");
                m.collect();
                give(m);
            }
            m.collect();
            verify(m);
            assert_eq!(m.weak_map_get(map, sides[0]), Some(sides[1]), "{mode:?} {reason}");
            m.set_root(RootIndex(kept + dies), None);
            m.collect();
            m.collect();
            let left = u64::from(mode == WeakMode::Values && dies == 0);
            assert_eq!(m.weak_map_count(map), left, "{mode:?} {reason}: a counted key lives on");
            verify(m);
            if let Some(weak) = weak.get().filter(|_| has == sides[dies] && left == 0) {
                assert_eq!(m.read_weak(weak.slot(0)), None);
            }
            let_go(m, top);
        }
        assert_eq!(bonds(m), 0);
    });
}

/// The same object is both sides, is the value of two entries, and gets another value.
#[test]
fn object_on_both_sides_and_in_two_entries() {
    for_all_heaps(|m| {
        for mode in WEAK_VALUES {
            let top = m.root_count();
            let map = map(m, mode);
            let [one, two, three] = [0, 1, 2].map(|_| rooted(m, &NODE));
            for (key, value) in [(one, one), (one, two), (two, two), (two, one), (three, one), (one, three), (one, one)]
            {
                m.weak_map_set(map, key, value).expect("memory");
                assert_eq!(m.weak_map_get(map, key), Some(value));
                m.collect();
                verify(m);
            }
            assert_eq!(m.weak_map_count(map), 3);
            assert!(m.weak_map_remove(map, two));
            m.weak_map_set(map, two, three).expect("memory");
            m.collect();
            verify(m);
            // What has `one` as its value goes, in the map with counted keys when the key lets it.
            m.weak_map_remove(map, one);
            m.set_root(RootIndex(top + 1), None);
            m.collect();
            m.collect();
            verify(m);
            assert_eq!((m.weak_map_get(map, three), m.weak_map_get(map, two)), (None, Some(three)));
            let_go(m, top);
        }
        assert_eq!(bonds(m), 0);
    });
}

/// Another map finds nothing under what the dead one had, and takes it.
#[test]
fn map_dies_with_and_before_its_sides() {
    for_all_heaps(|m| {
        for (mode, they_die) in WEAK_VALUES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
            let top = m.root_count();
            let objects: Vec<ObjectRef> = (0..300).map(|_| rooted(m, &NODE)).collect();
            let first_map = m.root_count();
            let map = map(m, mode);
            for sides in objects.chunks(2) {
                m.weak_map_set(map, sides[0], sides[1]).expect("memory");
            }
            m.collect();
            m.set_root(RootIndex(first_map), None);
            if they_die {
                m.truncate_roots(top);
            }
            m.collect();
            verify(m);
            assert_eq!(bonds(m), 0);
            let other = super::map(m, mode);
            for sides in objects.chunks(2).filter(|_| !they_die) {
                assert_eq!(m.weak_map_get(other, sides[0]), None);
                m.weak_map_set(other, sides[0], sides[1]).expect("memory");
            }
            m.collect();
            assert_eq!(m.weak_map_count(other), if they_die { 0 } else { 150 });
            let_go(m, top);
        }
    });
}

/// The map is in a ring of its own, and its sides lead to it and to each other: a mark finds them, and finalizers come between.
#[test]
fn map_in_a_ring_dies_with_sides_that_hold_it() {
    for_all_heaps(|m| {
        for mode in WEAK_VALUES {
            FINALIZERS.set(0);
            let top = m.root_count();
            let map = map(m, mode);
            let holder = rooted(m, &NODE);
            set(m, holder, 0, Some(map));
            for at in 0..40 {
                let [key, value] = [at % 2 == 0, at % 4 < 2].map(|it| rooted(m, if it { &NODE } else { &FINALIZED }));
                set(m, value, 0, Some(key));
                set(m, key, 0, Some(holder));
                m.weak_map_set(map, key, value).expect("memory");
            }
            m.truncate_roots(top + 1);
            for _ in 0..3 {
                m.collect();
            }
            assert_eq!((m.weak_map_count(map), FINALIZERS.get()), (0, 40), "{mode:?}");
            let_go(m, top);
            assert_eq!(bonds(m), 0);
        }
    });
}

/// The map, its entries and their sides are found dead together; finalizers bring the sides back, the memory of the entries is used again,
/// and then the sides die.
#[test]
fn sides_that_their_finalizers_bring_back_have_no_entries_of_a_dead_map() {
    for_all_heaps(|m| {
        for mode in WEAK_VALUES {
            let top = m.root_count();
            let map = map(m, mode);
            for _ in 0..10 {
                let [key, value] = [0, 1].map(|_| rooted(m, &RISEN));
                m.weak_map_set(map, key, value).expect("memory");
            }
            m.truncate_roots(top);
            while m.root_count() < top + 20 {
                m.epoch();
            }
            let many = if m.heap().zeal.is_some() { 10 } else { 3000 };
            let mut nodes = Vec::new();
            for _ in 0..many {
                let node = rooted(m, &NODE);
                [0, 8].into_iter().for_each(|field| set(m, node, field, Some(node)));
                nodes.push(node);
            }
            (top..top + 20).for_each(|root| m.set_root(RootIndex(root), None));
            m.collect();
            let are_whole = |node: &ObjectRef| [0, 8].iter().all(|&field| node.slot(field).read() == node.address());
            assert!(nodes.iter().all(are_whole), "something else was cleared");
            let_go(m, top);
            assert_eq!(bonds(m), 0);
        }
    });
}

/// A value that its finalizer brings back is in no map any more; a weak key that its finalizer brings back lives on in its own.
#[test]
fn finalizer_brings_a_side_back_whose_map_is_alive() {
    for_all_heaps(|m| {
        for (mode, side) in [(WeakMode::Values, 1), (WeakMode::Both, 0), (WeakMode::Both, 1)] {
            for is_young in [true, false] {
                let top = m.root_count();
                let map = map(m, mode);
                let sides = [0, 1].map(|at| rooted(m, if at == side { &RISEN } else { &NODE }));
                m.weak_map_set(map, sides[0], sides[1]).expect("memory");
                if !is_young {
                    m.collect();
                }
                m.set_root(RootIndex(top + 1 + side), None);
                while m.root_count() == top + 3 {
                    m.epoch();
                }
                m.epoch();
                verify(m);
                let found = m.weak_map_get(map, sides[0]);
                assert_eq!(found, (side == 0).then_some(sides[1]), "{mode:?} {side}");
                m.weak_map_set(map, sides[0], sides[1]).expect("memory");
                m.collect();
                verify(m);
                assert_eq!(m.weak_map_count(map), 1);
                let_go(m, top);
                assert_eq!(bonds(m), 0);
            }
        }
    });
}

/// Without trials only a mark finds it: the finalizer finds the entry gone.
#[test]
fn value_that_holds_itself_leaves_its_map_before_its_finalizer() {
    for plan in Plan::ALL {
        let mut m = new_mutator(HeapOptions { plan, trials: false, ..HeapOptions::default() }).expect("address space");
        let m = &mut m;
        for mode in WEAK_VALUES {
            FINALIZERS.set(0);
            let top = m.root_count();
            let (by_key, by_value) = (map(m, WeakMode::Keys), map(m, mode));
            let key = rooted(m, &NODE);
            let value = rooted(m, &FINALIZED);
            set(m, value, 0, Some(value));
            m.weak_map_set(by_value, key, value).expect("memory");
            m.collect();
            MAPS.set([by_key.address(), by_value.address()]);
            m.truncate_roots(top + 3);
            while FINALIZERS.get() == 0 {
                m.collect();
            }
            MAPS.set([0; 2]);
            assert!(!SEEN.get()[1], "{plan:?} {mode:?}: the entry was there");
            let_go(m, top);
        }
        nothing_is_left(m);
    }
}

/// Values that hold themselves are found by a mark in slices, and the program gives their keys records between them.
#[test]
fn keys_get_records_while_a_mark_clears_values() {
    for plan in Plan::ALL {
        let options = HeapOptions { plan, slice_ns: 20_000, slice_units: Some(64), ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("address space");
        let m = &mut m;
        for mode in WEAK_VALUES {
            let top = m.root_count();
            let map = map(m, mode);
            let keys: Vec<ObjectRef> = (0..500).map(|_| rooted(m, &NODE)).collect();
            for &key in &keys {
                let value = rooted(m, &NODE);
                set(m, value, 0, Some(value));
                m.weak_map_set(map, key, value).expect("memory");
                m.truncate_roots(top + 1 + keys.len());
            }
            let mut weak = Vec::new();
            for &key in keys.iter().cycle().take(3000) {
                if m.weak_map_get(map, key).is_some() && weak.len() % 2 == 0 {
                    let made = m.new_weak(key).expect("memory");
                    m.push_root(Some(made));
                    weak.push(made);
                } else {
                    weak.push(map);
                }
                m.collect_for(1);
            }
            m.collect();
            verify(m);
            assert_eq!((m.weak_map_count(map), bonds(m)), (0, 0), "{plan:?} {mode:?}");
            let_go(m, top);
        }
        nothing_is_left(m);
    }
}
