//! Weak maps under both plans: which entries go when, and that all that they held comes back.

mod bonds;
mod growth;
mod keys;
mod positions;
mod risen;

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::{HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{in_finalizer, new_mutator, nothing_is_left, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static TEXT: TypeDescriptor = TypeDescriptor::plain(c"Text", 8, &[]).with_tail(0, 1, &[]);
// SAFETY: `finalize` takes any object of the type.
static FINALIZED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Finalized", 24, &[0]).finalized(finalize) };
const MODES: [WeakMode; 3] = [WeakMode::Keys, WeakMode::Values, WeakMode::Both];

thread_local! {
    static FINALIZERS: Cell<u32> = const { Cell::new(0) };
    /// The maps with weak keys and with weak values that a finalizer looks into.
    static MAPS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
    static SEEN: Cell<[bool; 2]> = const { Cell::new([false; 2]) };
}

unsafe extern "C-unwind" fn finalize(object: *mut c_void) {
    FINALIZERS.set(FINALIZERS.get() + 1);
    let [by_key, by_value] = MAPS.get();
    if by_key == 0 {
        return;
    }
    let seen = in_finalizer(|m| {
        // SAFETY: [HEADER] what the test has stored, and the object that is finalized.
        let [by_key, by_value, object] =
            [by_key, by_value, object as u64].map(|word| unsafe { ObjectRef::from_address(word) });
        [m.weak_map_get(by_key, object).is_some(), m.weak_map_count(by_value) != 0]
    });
    SEEN.set(seen.expect("inside a finalizer"));
}

thread_local! {
    /// The map that the finalizer of a keeper keeps, and where.
    static KEPT: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

/// Refers to a map and to a value, and to itself.
// SAFETY: `keep_map` takes any object of the type.
static KEEPER: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Keeper", 24, &[0, 8, 16]).finalized(keep_map) };

unsafe extern "C-unwind" fn keep_map(_keeper: *mut c_void) {
    let [map, holder] = KEPT.get();
    let kept = in_finalizer(|m| {
        // SAFETY: [HEADER] what the test has stored.
        let [map, holder] = [map, holder].map(|word| unsafe { ObjectRef::from_address(word) });
        m.write(holder, holder.slot(0), map.address());
    });
    assert!(kept.is_some());
}

fn records(m: &mut Mutator) -> usize {
    m.heap().services.specials.objects().count()
}

fn rooted(m: &mut Mutator, descriptor: &'static TypeDescriptor) -> ObjectRef {
    let object = m.allocate(type_of(descriptor)).expect("memory");
    m.push_root(Some(object));
    object
}

fn map(m: &mut Mutator, mode: WeakMode) -> ObjectRef {
    let map = m.new_weak_map(mode).expect("memory");
    m.push_root(Some(map));
    map
}

fn for_all_heaps(situation: impl Fn(&mut Mutator)) {
    for plan in Plan::ALL {
        for zeal in [false, true] {
            let mut m = new_mutator(HeapOptions { plan, zeal, ..HeapOptions::default() }).expect("address space");
            MAPS.set([0; 2]);
            FINALIZERS.set(0);
            situation(&mut m);
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}, zeal {zeal}: {violation}"));
            MAPS.set([0; 2]);
            nothing_is_left(&mut m);
        }
    }
}

/// Scenarios 91 to 93.
#[test]
fn entries_go_with_keys_with_values_or_with_either() {
    for_all_heaps(|m| {
        for mode in MODES {
            let top = m.root_count();
            let map = map(m, mode);
            let first = m.root_count();
            // Roots: key, value, key, value …
            let pairs: Vec<(ObjectRef, ObjectRef)> = (0..40).map(|_| (rooted(m, &NODE), rooted(m, &NODE))).collect();
            for &(key, value) in &pairs {
                m.weak_map_set(map, key, value).expect("memory");
            }
            m.collect();
            assert_eq!(m.weak_map_count(map), 40);
            assert!(pairs.iter().all(|&(key, value)| m.weak_map_get(map, key) == Some(value)));
            // A quarter loses its keys, a quarter its values, a quarter both.
            for at in 0..40 {
                if at % 4 == 1 || at % 4 == 3 {
                    m.set_root(RootIndex(first + 2 * at), None);
                }
                if at % 4 >= 2 {
                    m.set_root(RootIndex(first + 2 * at + 1), None);
                }
            }
            m.collect();
            let lives = |at: usize| match mode {
                WeakMode::Keys => at.is_multiple_of(4) || at % 4 == 2,
                WeakMode::Values => at % 4 < 2,
                WeakMode::Both => at.is_multiple_of(4),
            };
            assert_eq!(m.weak_map_count(map), (0..40).filter(|&at| lives(at)).count() as u64, "{mode:?}");
            let mut found = 0;
            let mut position = 0;
            while let Some((next, key, value)) = m.weak_map_next(map, position) {
                let at = pairs.iter().position(|&pair| pair == (key, value)).expect("a pair that was set");
                assert!(lives(at));
                assert_eq!(m.weak_map_find(map, key), Some(next));
                (found, position) = (found + 1, next);
            }
            assert_eq!(found, m.weak_map_count(map));
            m.truncate_roots(top);
        }
    });
}

#[test]
fn keys_and_values_outside_the_heap_stay() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            // SAFETY: [HEADER] key and value are objects' addresses.
            unsafe { m.heap().weak_map_set(map, 77, 78) }.expect("memory");
            let node = rooted(m, &NODE);
            // SAFETY: [HEADER] key and value are objects' addresses.
            unsafe { m.heap().weak_map_set(map, 99, node.address()) }.expect("memory");
            // SAFETY: [HEADER] key and value are objects' addresses.
            unsafe { m.heap().weak_map_set(map, node.address(), 100) }.expect("memory");
            m.collect();
            // SAFETY: [HEADER] the key is an object's address.
            let all = [77, 99, node.address()].map(|key| unsafe { m.heap().weak_map_get(map, key) });
            assert_eq!((all, m.weak_map_count(map)), ([78, node.address(), 100], 3));
        }
    });
}

/// As `tally_weak_map_set` with null does.
#[test]
fn entry_that_is_set_to_nothing_is_removed() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            let [key, value] = [(); 2].map(|()| rooted(m, &NODE));
            m.weak_map_set(map, key, value).expect("memory");
            // SAFETY: [HEADER] key and value are objects' addresses.
            unsafe { m.heap().weak_map_set(map, key.address(), 0) }.expect("nothing is asked for");
            assert_eq!((m.weak_map_get(map, key), m.weak_map_count(map)), (None, 0), "{mode:?}");
            // SAFETY: [HEADER] key and value are objects' addresses.
            unsafe { m.heap().weak_map_set(map, key.address(), 0) }.expect("nor is it when there is no entry");
        }
    });
}

#[test]
fn entry_is_overwritten_and_removed() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            let (key, value, other) = (rooted(m, &NODE), rooted(m, &NODE), rooted(m, &NODE));
            m.weak_map_set(map, key, value).expect("memory");
            m.weak_map_set(map, key, other).expect("memory");
            assert_eq!((m.weak_map_get(map, key), m.weak_map_count(map)), (Some(other), 1));
            assert!(m.weak_map_remove(map, key));
            assert!(!m.weak_map_remove(map, key));
            assert_eq!((m.weak_map_get(map, key), m.weak_map_count(map)), (None, 0));
            m.weak_map_set(map, key, value).expect("memory");
            assert_eq!((m.weak_map_get(map, key), m.weak_map_count(map)), (Some(value), 1));
        }
    });
}

/// Scenario 97: the map dies first; and keys die while it is iterated.
#[test]
fn map_dies_before_its_keys_and_keys_die_during_iteration() {
    for_all_heaps(|m| {
        for mode in [WeakMode::Keys, WeakMode::Both] {
            let keys: Vec<ObjectRef> = (0..20).map(|_| rooted(m, &NODE)).collect();
            let first = m.root_count() - 20;
            let map = map(m, mode);
            for &key in &keys {
                m.weak_map_set(map, key, key).expect("memory");
            }
            let (mut position, mut seen) = (0, 0);
            while let Some((next, key, _)) = m.weak_map_next(map, position) {
                (position, seen) = (next, seen + 1);
                let at = keys.iter().position(|&other| other == key).expect("one of the keys");
                for gone in [at, (at + 1) % 20] {
                    m.set_root(RootIndex(first + gone), None);
                }
                m.collect();
            }
            assert!((10..=20).contains(&seen), "{mode:?}: {seen}");
            assert_eq!(m.weak_map_count(map), 0);
            m.truncate_roots(0);
            m.collect();
        }
        let (key, value) = (rooted(m, &NODE), rooted(m, &NODE));
        for mode in MODES {
            let top = m.root_count();
            let map = map(m, mode);
            m.weak_map_set(map, key, value).expect("memory");
            m.truncate_roots(top);
            m.collect();
        }
        assert_eq!(m.live_objects().len(), 2);
        assert!(m.heap().services.specials.is_empty());
    });
}

/// Scenario 98.
#[test]
fn finalizer_of_a_value_runs_when_its_key_is_gone() {
    for_all_heaps(|m| {
        let map = map(m, WeakMode::Keys);
        let top = m.root_count();
        for _ in 0..10 {
            let (key, value) = (rooted(m, &NODE), rooted(m, &FINALIZED));
            m.weak_map_set(map, key, value).expect("memory");
            m.truncate_roots(top);
        }
        m.collect();
        assert_eq!((FINALIZERS.get(), m.weak_map_count(map)), (10, 0));
    });
}

/// Scenario 99: gone from weak values before its finalizer, from weak keys after it.
#[test]
fn finalized_object_is_still_a_weak_key_and_no_weak_value_any_more() {
    for_all_heaps(|m| {
        let (by_key, by_value) = (map(m, WeakMode::Keys), map(m, WeakMode::Values));
        MAPS.set([by_key.address(), by_value.address()]);
        let value = rooted(m, &NODE);
        let object = rooted(m, &FINALIZED);
        m.weak_map_set(by_key, object, value).expect("memory");
        m.weak_map_set(by_value, value, object).expect("memory");
        m.truncate_roots(m.root_count() - 1);
        m.collect();
        assert_eq!((FINALIZERS.get(), SEEN.get()), (1, [true, false]));
        m.collect();
        assert_eq!((m.weak_map_count(by_key), m.weak_map_count(by_value)), (0, 0));
    });
}

/// Scenario 101: memory of large keys whose values died comes back.
#[test]
fn large_keys_of_dead_values_are_given_back() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
        let map = map(&mut m, WeakMode::Values);
        let top = m.root_count();
        let before = m.heap().used_bytes();
        for _ in 0..4 {
            let key = m.allocate_array(type_of(&TEXT), 4 << 20).expect("memory");
            m.push_root(Some(key));
            let value = rooted(&mut m, &NODE);
            m.weak_map_set(map, key, value).expect("memory");
            m.truncate_roots(top);
        }
        m.collect();
        m.collect();
        assert!(m.heap().used_bytes() < before + (1 << 20), "{plan:?}: {} bytes", m.heap().used_bytes());
        assert_eq!(m.weak_map_count(map), 0);
    }
}

/// Scenario 102: each key is held by the value before it.
#[test]
fn removing_an_entry_kills_the_next_key() {
    for_all_heaps(|m| {
        let map = map(m, WeakMode::Keys);
        let top = m.root_count();
        let first = rooted(m, &NODE);
        let mut key = first;
        for _ in 0..30 {
            let value = rooted(m, &NODE);
            m.weak_map_set(map, key, value).expect("memory");
            key = value;
        }
        m.truncate_roots(top + 1);
        m.collect();
        assert_eq!(m.weak_map_count(map), 30);
        m.weak_map_remove(map, first);
        m.collect();
        assert_eq!(m.weak_map_count(map), 0);
    });
}

/// Scenario 108: four of five in a large set of weakly held objects go.
#[test]
fn large_set_of_which_most_becomes_unreachable() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
        for mode in MODES {
            let map = map(&mut m, mode);
            let top = m.root_count();
            for number in 0..50_000u64 {
                let object = rooted(&mut m, &NODE);
                object.slot(16).store(number);
                let key = if mode == WeakMode::Values { rooted(&mut m, &NODE) } else { object };
                m.weak_map_set(map, key, object).expect("memory");
                let kept = number.is_multiple_of(5) as usize;
                m.truncate_roots(m.root_count() - (key != object) as usize - 1 + kept);
            }
            m.collect();
            assert_eq!(m.weak_map_count(map), 10_000, "{plan:?}, {mode:?}");
            let (mut position, mut sum) = (0, 0);
            while let Some((next, _, value)) = m.weak_map_next(map, position) {
                (position, sum) = (next, sum + value.slot(16).read());
            }
            assert_eq!(sum, (0..10_000u64).map(|number| number * 5).sum());
            m.truncate_roots(top - 1);
            m.collect();
        }
        m.verify().expect("sound");
    }
}

/// Random operations against a plain map, with epochs in between. (scenarios 100 and 107)
#[test]
fn random_operations() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for (mode, seed) in MODES.into_iter().flat_map(|mode| (1..6u64).map(move |seed| (mode, seed))) {
            let options = HeapOptions { plan, slice_units: Some(7), eager_marks: true, ..HeapOptions::default() };
            let mut m = new_mutator(options).expect("address space");
            let map = map(&mut m, mode);
            let top = m.root_count();
            (0..40).for_each(|_| _ = m.push_root(None));
            let mut state = seed * 0x9e37_79b9;
            let mut below = |bound: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % bound
            };
            let mut model: HashMap<u64, u64> = HashMap::new();
            for _ in 0..4000 {
                let [a, b] = [below(40), below(40)].map(|at| RootIndex(top + at as usize));
                match below(12) {
                    0..3 => {
                        let object = m.allocate(type_of(&NODE)).expect("memory");
                        m.set_root(a, Some(object));
                        // Memory is used again: what stood there is gone for good.
                        model.retain(|&key, &mut value| key != object.address() && value != object.address());
                        assert_eq!(m.weak_map_get(map, object), None);
                    }
                    3..6 => {
                        if let (Some(key), Some(value)) = (m.root(a), m.root(b)) {
                            m.weak_map_set(map, key, value).expect("memory");
                            model.insert(key.address(), value.address());
                        }
                    }
                    6 => {
                        if let Some(key) = m.root(a) {
                            m.weak_map_remove(map, key);
                            model.remove(&key.address());
                        }
                    }
                    7..9 => {
                        let Some(key) = m.root(a) else { continue };
                        let found = m.weak_map_get(map, key).map(ObjectRef::address);
                        let expected = model.get(&key.address()).copied();
                        let held = |word: u64| {
                            (0..40).any(|at| m.root(RootIndex(top + at)).is_some_and(|o| o.address() == word))
                        };
                        let must = expected.is_some_and(|value| mode == WeakMode::Keys || held(value));
                        assert!(found == expected || (!must && found.is_none()), "{plan:?} {mode:?} {seed}");
                    }
                    9 => m.set_root(a, None),
                    10 if plan == Plan::Deferred => _ = m.step(1 + below(30)),
                    _ if below(12) == 0 => m.epoch(),
                    _ => m.poll(),
                }
            }
            m.truncate_roots(top);
            m.collect();
            m.collect();
            if mode != WeakMode::Values {
                // Counted keys that are each other's values hold each other.
                assert_eq!((m.weak_map_count(map), m.weak_map_next(map, 0)), (0, None));
            }
            m.verify().expect("sound");
            nothing_is_left(&mut m);
        }
    }
}

/// The soft limit's callback is called by the next allocation, which is one of the map's own.
fn during_the_next_allocation(m: &mut Mutator, run: impl Fn(&mut tally_heap::Heap) + 'static) {
    m.on_soft_limit(move |heap, _| run(heap));
    m.set_limits(Some(1), None);
}

/// Its own allocations are safepoints, and what runs there may know the key.
#[test]
fn a_callback_sets_the_key_that_is_being_set() {
    for_all_heaps(|m| {
        for mode in MODES {
            for already in [0, 1] {
                let map = map(m, mode);
                let [key, value, other, before] = [(); 4].map(|()| rooted(m, &NODE));
                if already == 1 {
                    // The table is there: it happens while the entry is allocated.
                    m.weak_map_set(map, before, before).expect("memory");
                }
                during_the_next_allocation(m, move |heap| {
                    // SAFETY: [HEADER] key and value are objects' addresses.
                    unsafe { heap.weak_map_set(map, key.address(), other.address()) }.expect("memory");
                });
                m.weak_map_set(map, key, value).expect("memory");
                m.set_limits(None, None);
                assert_eq!(m.weak_map_get(map, key), Some(value), "{mode:?}: the last to set it");
                assert_eq!(m.weak_map_count(map), 1 + already);
            }
        }
    });
}

/// The table that was being made is too small by then.
#[test]
fn a_callback_fills_the_map_while_its_table_grows() {
    for_all_heaps(|m| {
        for mode in MODES {
            for inserted in [1, 17, 18, 19, 200] {
                let map = map(m, mode);
                let keys: Vec<ObjectRef> = (0..7 + inserted).map(|_| rooted(m, &NODE)).collect();
                for &key in &keys[..6] {
                    m.weak_map_set(map, key, key).expect("memory");
                }
                let more = keys[7..].to_vec();
                during_the_next_allocation(m, move |heap| {
                    for key in &more {
                        // SAFETY: [HEADER] key and value are objects' addresses.
                        unsafe { heap.weak_map_set(map, key.address(), key.address()) }.expect("memory");
                    }
                });
                m.weak_map_set(map, keys[6], keys[6]).expect("memory");
                m.set_limits(None, None);
                assert_eq!(m.weak_map_count(map), keys.len() as u64, "{mode:?}, {inserted}");
                assert!(keys.iter().all(|&key| m.weak_map_get(map, key) == Some(key)), "{mode:?}, {inserted}");
            }
        }
    });
}

/// Map, entry and value are found dead together, and a finalizer brings the map back: the entry has lost its value, and kept its key
/// alive for as long as the map.
#[test]
fn map_that_outlives_its_entry_in_a_finalizer_lets_the_key_go() {
    for grown_up in [false, true] {
        for_all_heaps(|m| {
            let holder = rooted(m, &NODE);
            let top = m.root_count();
            let keeper = rooted(m, &KEEPER);
            let map = map(m, WeakMode::Values);
            let (key, value) = (rooted(m, &NODE), rooted(m, &NODE));
            m.weak_map_set(map, key, value).expect("memory");
            for (field, object) in [(0, map), (8, value), (16, keeper)] {
                m.write(keeper, keeper.slot(field), object.address());
            }
            KEPT.set([map.address(), holder.address()]);
            if grown_up {
                m.epoch();
                m.epoch();
            }
            m.truncate_roots(top);
            (0..4).for_each(|_| _ = m.collect());
            assert_eq!(holder.slot(0).read(), map.address(), "the finalizer has run");
            assert_eq!(m.weak_map_count(map), 0);
            assert!(!m.live_objects().contains(&value));
            assert!(!m.live_objects().contains(&key), "the entry has let go of its key");
        });
    }
}
