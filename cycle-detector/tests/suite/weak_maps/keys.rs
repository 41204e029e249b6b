//! Keys of a weak map that have no record, and what gives them one.

use super::risen::RISEN;
use super::{FINALIZED, FINALIZERS, NODE, TEXT, for_all_heaps, map, records, rooted};
use std::cell::Cell;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::weak::WeakKind;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{new_mutator, nothing_is_left, set};

static EPHEMERON: TypeDescriptor = TypeDescriptor::plain(c"Ephemeron", 16, &[0]).ephemeron();

/// The last root is let go of, and what hung on it goes.
fn let_go(m: &mut Mutator, top: usize) {
    m.truncate_roots(top);
    m.collect();
}

#[test]
fn key_of_one_map_has_no_record_and_dies_with_its_entry() {
    for_all_heaps(|m| {
        let map = map(m, WeakMode::Keys);
        let value = rooted(m, &NODE);
        let before = records(m);
        let top = m.root_count();
        for _ in 0..600 {
            let key = rooted(m, &NODE);
            m.weak_map_set(map, key, value).expect("memory");
        }
        m.collect();
        assert_eq!((m.weak_map_count(map), records(m)), (600, before));
        let_go(m, top);
        assert_eq!((m.weak_map_count(map), records(m)), (0, before));
    });
}

/// A weak reference to it, a second map, a weak slot in it, a weak set and an ephemeron, each before and after the map.
#[test]
fn key_with_and_without_another_reason_for_a_record() {
    for_all_heaps(|m| {
        for reason in 0..10 {
            let top = m.root_count();
            let map = map(m, WeakMode::Keys);
            let value = rooted(m, &NODE);
            let kept = m.root_count();
            let key = rooted(m, &NODE);
            let weak = Cell::new(None);
            let give = |m: &mut Mutator| match reason % 5 {
                0 => {
                    weak.set(Some(m.new_weak(key).expect("memory")));
                    m.push_root(weak.get());
                }
                1 => {
                    let other = super::map(m, WeakMode::Keys);
                    m.weak_map_set(other, key, key).expect("memory");
                }
                2 => m.write_weak(key, key.slot(16), Some(value)),
                3 => {
                    let set = m.heap().new_weak_set(16).expect("memory");
                    m.push_root(Some(set));
                    m.heap().weak_set_add(set, key).expect("memory");
                }
                _ => {
                    let ephemeron = rooted(m, &EPHEMERON);
                    m.heap().write_weak(ephemeron, ephemeron.slot(8), Some(key), WeakKind::Key);
                    m.write(ephemeron, ephemeron.slot(0), value.address());
                }
            };
            if reason < 5 {
                give(m);
                m.weak_map_set(map, key, value).expect("memory");
            } else {
                m.weak_map_set(map, key, value).expect("memory");
                m.collect();
                give(m);
            }
            m.collect();
            m.verify().unwrap_or_else(|violation| panic!("{reason}: {violation}"));
            assert_eq!(m.weak_map_get(map, key), Some(value), "{reason}");
            m.set_root(RootIndex(kept), None);
            m.collect();
            assert_eq!(m.weak_map_count(map), 0, "{reason}");
            if let Some(weak) = weak.get() {
                assert_eq!(m.read_weak(weak.slot(0)), None);
            }
            let_go(m, top);
        }
    });
}

/// Another map finds nothing under the key that the dead one had, and takes it.
#[test]
fn map_dies_with_and_before_its_keys() {
    for_all_heaps(|m| {
        for keys_die in [false, true] {
            let top = m.root_count();
            let keys: Vec<ObjectRef> = (0..300).map(|_| rooted(m, &NODE)).collect();
            let first_map = m.root_count();
            let map = map(m, WeakMode::Keys);
            for &key in &keys {
                m.weak_map_set(map, key, key).expect("memory");
            }
            m.collect();
            m.set_root(RootIndex(first_map), None);
            if keys_die {
                m.truncate_roots(top);
            }
            m.collect();
            m.verify().unwrap_or_else(|violation| panic!("{keys_die}: {violation}"));
            let other = super::map(m, WeakMode::Keys);
            for &key in keys.iter().filter(|_| !keys_die) {
                assert_eq!(m.weak_map_get(other, key), None);
                m.weak_map_set(other, key, key).expect("memory");
            }
            m.collect();
            assert_eq!(m.weak_map_count(other), if keys_die { 0 } else { 300 });
            let_go(m, top);
        }
    });
}

/// The map is in a ring of its own, and its values lead to its keys.
#[test]
fn map_in_a_ring_dies_with_keys_that_its_values_hold() {
    for_all_heaps(|m| {
        let top = m.root_count();
        let map = map(m, WeakMode::Keys);
        let holder = rooted(m, &NODE);
        set(m, holder, 0, Some(map));
        for at in 0..20 {
            let (key, value) = (rooted(m, if at % 2 == 0 { &NODE } else { &FINALIZED }), rooted(m, &NODE));
            set(m, value, 0, Some(key));
            set(m, value, 8, Some(holder));
            m.weak_map_set(map, key, value).expect("memory");
        }
        m.truncate_roots(top + 1);
        m.collect();
        m.collect();
        assert_eq!((m.weak_map_count(map), FINALIZERS.get()), (0, 10), "values that lead to their keys are no reason");
        let key = rooted(m, &NODE);
        let holder = holder_of(m, map);
        m.weak_map_set(map, key, holder).expect("memory");
        let_go(m, top);
    });
}

/// The map, its entries and its keys are found dead together; finalizers bring the keys back, the memory of the entries is used again, and
/// then the keys die.
#[test]
fn keys_that_their_finalizers_bring_back_have_no_entries_of_a_dead_map() {
    for_all_heaps(|m| {
        let top = m.root_count();
        let map = map(m, WeakMode::Keys);
        let value = rooted(m, &NODE);
        for _ in 0..20 {
            let key = rooted(m, &RISEN);
            m.weak_map_set(map, key, value).expect("memory");
        }
        m.truncate_roots(top);
        while m.root_count() < top + 20 {
            m.epoch();
        }
        let mut nodes = Vec::new();
        // Under zeal no memory is used again.
        let many = if m.heap().zeal.is_some() { 10 } else { 3000 };
        for _ in 0..many {
            let node = rooted(m, &NODE);
            set(m, node, 0, Some(node));
            set(m, node, 8, Some(node));
            nodes.push(node);
        }
        (top..top + 20).for_each(|root| m.set_root(RootIndex(root), None));
        m.collect();
        let are_whole = |node: &ObjectRef| [0, 8].iter().all(|&field| node.slot(field).read() == node.address());
        assert!(nodes.iter().all(are_whole), "something else was cleared");
        let_go(m, top);
    });
}

fn holder_of(m: &mut Mutator, map: ObjectRef) -> ObjectRef {
    let holder = rooted(m, &NODE);
    set(m, holder, 0, Some(map));
    holder
}

/// Keys of the first heap were never taken out of its maps: another heap has its blocks, and a map with the same number.
#[test]
fn blocks_of_a_heap_that_went_with_its_maps_serve_another() {
    for plan in [Plan::Deferred, Plan::Prompt, Plan::Trace] {
        for _ in 0..3 {
            let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
            let first = map(&mut m, WeakMode::Keys);
            let weak_map = map(&mut m, WeakMode::Keys);
            for at in 0..200 {
                let key = rooted(&mut m, if at % 3 == 0 { &TEXT } else { &NODE });
                let weak = m.new_weak(key).expect("memory");
                m.push_root(Some(weak));
                m.weak_map_set(if at % 2 == 0 { first } else { weak_map }, key, key).expect("memory");
                assert_eq!(m.read_weak(weak.slot(0)), Some(key));
            }
            for at in 0..200 {
                let key = rooted(&mut m, &NODE);
                m.weak_map_set(if at % 2 == 0 { first } else { weak_map }, key, key).expect("memory");
            }
            m.collect();
            assert_eq!(m.weak_map_count(first) + m.weak_map_count(weak_map), 400, "{plan:?}");
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}: {violation}"));
        }
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
        nothing_is_left(&mut m);
    }
}

#[test]
fn map_that_was_asked_last_is_forgotten_when_it_dies() {
    for_all_heaps(|m| {
        let top = m.root_count();
        for mode in [WeakMode::Keys, WeakMode::Values, WeakMode::Both, WeakMode::Keys] {
            let (map, key) = (map(m, mode), rooted(m, &NODE));
            m.heap().note_last_weak_map(map);
            let is_last = |m: &mut Mutator| {
                [m.heap().is_last_weak_map(map.address()), m.heap().is_last_map_of_weak_values(map.address())]
            };
            assert_eq!(is_last(m), [false; 2], "it has no bucket yet");
            m.weak_map_set(map, key, key).expect("memory");
            m.heap().note_last_weak_map(map);
            let has_weak_keys_only = mode == WeakMode::Keys;
            assert_eq!(is_last(m), [has_weak_keys_only, !has_weak_keys_only]);
            let get = |m: &mut Mutator, key| match mode {
                // SAFETY: [HEADER] an object's address, or null.
                WeakMode::Keys => unsafe { m.heap().last_weak_map_get(key) },
                // SAFETY: [HEADER] as above.
                WeakMode::Values | WeakMode::Both => unsafe { m.heap().last_weak_value(key) },
            };
            assert_eq!(get(m, key.address()), key.address());
            assert_eq!(get(m, 0), 0, "the key is null");
            let_go(m, top);
            m.collect();
            // Its memory may be another object's by now.
            assert_eq!(is_last(m), [false; 2]);
        }
    });
}

/// No entry is found by a null key, whatever has died before.
#[test]
fn null_is_the_key_of_no_dead_entry() {
    for_all_heaps(|m| {
        let map = map(m, WeakMode::Keys);
        let value = rooted(m, &NODE);
        let top = m.root_count();
        for _ in 0..200 {
            let key = rooted(m, &NODE);
            m.weak_map_set(map, key, value).expect("memory");
            // SAFETY: [HEADER] null.
            assert_eq!(unsafe { m.heap().weak_map_get(map, 0) }, 0);
        }
        let_go(m, top);
        // SAFETY: [HEADER] null.
        assert_eq!(unsafe { m.heap().weak_map_get(map, 0) }, 0);
    });
}
