//! Weak sets under all plans: members go when they die, before their finalizers run, and no word outlives its object.

use crate::every_heap::{in_every_heap, options_of_every_heap};
use std::collections::HashMap;
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::services::host_roots::RootIndex;
use tally_kit::nodes::{in_finalizer, new_mutator, nothing_is_left, type_of};

/// A field, a hash, a number.
static TEXT: TypeDescriptor = TypeDescriptor::plain(c"Text", 24, &[0]);
static LARGE: TypeDescriptor = TypeDescriptor::plain(c"Large", 20_000, &[0]);
const HASH: u64 = 8;
const NUMBER: u64 = 16;

/// A set in a root.
fn set(m: &mut Mutator) -> ObjectRef {
    let set = m.heap().new_weak_set(HASH as u32).expect("room");
    m.push_root(Some(set));
    set
}

/// A text in a root, which is a member.
fn add(m: &mut Mutator, set: ObjectRef, hash: u32, number: u64) -> (ObjectRef, RootIndex) {
    let text = m.allocate(type_of(if number % 50 == 49 { &LARGE } else { &TEXT })).expect("room");
    let root = m.push_root(Some(text));
    text.slot(HASH).store(u64::from(hash));
    text.slot(NUMBER).store(number);
    assert_eq!(m.heap().weak_set_refuses(set, text), None);
    m.heap().weak_set_add(set, text).expect("room");
    (text, root)
}

fn find(m: &mut Mutator, set: ObjectRef, hash: u32, number: u64) -> Option<ObjectRef> {
    let mut at = 0;
    while let Some(member) = m.heap().weak_set_probe(set, hash, &mut at) {
        if member.slot(NUMBER).read() == number {
            return Some(member);
        }
    }
    None
}

fn members(m: &mut Mutator, set: ObjectRef) -> Vec<u64> {
    let (mut numbers, mut at) = (vec![], 0);
    while let Some((next, member)) = m.heap().weak_set_next(set, at) {
        numbers.push(member.slot(NUMBER).read());
        at = next;
    }
    numbers.sort_unstable();
    numbers
}

#[test]
fn the_first_member_is_taken_again_and_again_while_others_come() {
    in_every_heap(|m| {
        let set = set(m);
        let mut texts = (0..40_u64).map(|number| add(m, set, number as u32 * 7, number).0).collect::<Vec<_>>();
        for round in 0..400 {
            let (_, member) = m.heap().weak_set_next(set, 0).expect("forty members");
            let place = texts.iter().position(|&text| text == member).expect("a member that was not taken");
            texts.swap_remove(place);
            assert!(m.heap().weak_set_remove(set, member));
            if round < 360 {
                texts.push(add(m, set, round * 5, 40 + u64::from(round)).0);
            }
        }
        assert_eq!((texts.len(), m.heap().weak_set_next(set, 0), m.heap().weak_set_count(set)), (0, None, 0));
        let (last, _) = add(m, set, 1, 1000);
        assert_eq!(m.heap().weak_set_next(set, 0).map(|(_, member)| member), Some(last));
    });
}

#[test]
fn a_member_is_found_while_something_else_holds_it() {
    in_every_heap(|m| {
        let set = set(m);
        let (text, root) = add(m, set, 7, 1);
        let (other, _) = add(m, set, 7, 2);
        assert_eq!((find(m, set, 7, 1), find(m, set, 7, 2), find(m, set, 8, 1)), (Some(text), Some(other), None));
        m.heap().weak_set_add(set, text).expect("it is in it");
        assert_eq!(m.heap().weak_set_count(set), 2);
        m.collect();
        assert_eq!(find(m, set, 7, 1), Some(text), "mature");
        m.set_root(root, None);
        m.collect();
        assert_eq!((find(m, set, 7, 1), find(m, set, 7, 2), m.heap().weak_set_count(set)), (None, Some(other), 1));
    });
}

#[test]
fn members_die_young_mature_large_and_in_rings() {
    in_every_heap(|m| {
        let set = set(m);
        let base = m.root_count();
        for number in 0..400 {
            let (text, root) = add(m, set, number as u32 % 37, number);
            if number % 3 == 0 {
                m.write(text, text.slot(0), text.address());
            }
            if number % 2 == 0 {
                m.set_root(root, None);
            }
            if number % 100 == 99 {
                m.epoch();
            }
            m.poll();
        }
        m.collect();
        assert_eq!(members(m, set), (0..400).filter(|number| number % 2 == 1).collect::<Vec<_>>());
        m.truncate_roots(base);
        m.collect();
        assert_eq!((members(m, set), m.heap().weak_set_count(set)), (vec![], 0));
    });
}

unsafe extern "C-unwind" fn keep(object: *mut std::ffi::c_void) {
    // SAFETY: [HEADER] a finalizer gets an object.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    in_finalizer(|m| {
        let set = m.root(RootIndex(0)).expect("the set");
        assert_eq!(find(m, set, 5, object.slot(NUMBER).read()), None, "its word has gone");
        m.set_root(RootIndex(1), Some(object));
    });
}

// SAFETY: it takes any object.
static KEPT: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Kept", 24, &[0]).finalized(keep) };

/// Lua 5.4: weak values go before finalizers run; one that comes back is in no table, and may be entered again.
#[test]
fn a_member_has_gone_when_its_finalizer_runs_and_may_be_added_again() {
    in_every_heap(|m| {
        let set = set(m);
        m.push_root(None);
        let object = m.allocate(type_of(&KEPT)).expect("room");
        let root = m.push_root(Some(object));
        object.slot(HASH).store(5);
        object.slot(NUMBER).store(1);
        m.heap().weak_set_add(set, object).expect("room");
        m.set_root(root, None);
        m.collect();
        assert_eq!((m.root(RootIndex(1)), m.heap().weak_set_count(set)), (Some(object), 0));
        m.heap().weak_set_add(set, object).expect("room");
        assert_eq!(find(m, set, 5, 1), Some(object));
    });
}

#[test]
fn a_set_that_dies_lets_its_members_go() {
    in_every_heap(|m| {
        let first = set(m);
        let place = RootIndex(m.root_count() - 1);
        let texts: Vec<ObjectRef> = (0..200).map(|number| add(m, first, number as u32, number).0).collect();
        m.epoch();
        assert!(m.heap().weak_set_refuses(first, texts[0]).is_none());
        let second = set(m);
        let said = m.heap().weak_set_refuses(second, texts[0]);
        assert_eq!(said, Some("the object is in another weak set"));
        m.set_root(place, None);
        m.collect();
        m.collect();
        for &text in &texts {
            assert_eq!(m.heap().weak_set_refuses(second, text), None);
            m.heap().weak_set_add(second, text).expect("room");
        }
        assert_eq!(members(m, second).len(), 200);
    });
}

/// A large set ends in slices; its members are in none from the moment at which it is known to be dead.
#[test]
fn members_of_a_set_that_ends_in_slices_may_be_added_to_another_at_once() {
    in_every_heap(|m| {
        let first = set(m);
        let place = RootIndex(m.root_count() - 1);
        let texts: Vec<ObjectRef> = (0..2000).map(|number| add(m, first, number as u32, number).0).collect();
        let weak = m.heap().new_weak(Some(first)).expect("room");
        m.push_root(Some(weak));
        let second = set(m);
        m.set_root(place, None);
        for polls in 0.. {
            if m.heap().read_weak(weak.slot(0)).is_none() {
                break;
            }
            if polls < 3 {
                m.poll();
            } else {
                m.collect();
            }
        }
        for &text in &texts {
            assert_eq!(m.heap().weak_set_refuses(second, text), None);
            m.heap().weak_set_add(second, text).expect("room");
        }
        assert_eq!(members(m, second).len(), texts.len());
    });
}

/// Members, set and all die together.
#[test]
fn a_set_dies_with_its_members() {
    in_every_heap(|m| {
        for age in 0..3 {
            let base = m.root_count();
            let set = set(m);
            for number in 0..100 {
                let (text, _) = add(m, set, number as u32, number);
                // The members hold their set.
                m.write(text, text.slot(0), set.address());
            }
            (0..age).for_each(|_| m.epoch());
            m.truncate_roots(base);
            m.collect();
        }
        m.collect();
        assert!(m.heap().has_room_for_weak_set());
    });
}

/// No word may outlive its object, whatever the program has written over the hash.
#[test]
fn a_member_whose_hash_was_changed_goes_all_the_same() {
    in_every_heap(|m| {
        let set = set(m);
        let roots: Vec<(ObjectRef, RootIndex)> = (0..50).map(|number| add(m, set, 3, number)).collect();
        for (text, root) in &roots {
            text.slot(HASH).store(99);
            m.set_root(*root, None);
        }
        m.collect();
        assert_eq!((members(m, set), m.heap().weak_set_count(set)), (vec![], 0));
    });
}

#[test]
fn an_object_without_room_for_a_hash_is_refused() {
    in_every_heap(|m| {
        let set = m.heap().new_weak_set(24).expect("room");
        m.push_root(Some(set));
        let text = m.allocate(type_of(&TEXT)).expect("room");
        m.push_root(Some(text));
        assert!(m.heap().weak_set_refuses(set, text).is_some_and(|said| said.contains("no hash")));
    });
}

/// A list of what is there, against a map of the standard library: members are added, removed, dropped and found while
/// epochs, marks and drains go on in slices.
#[test]
fn random_programs_find_what_a_map_finds() {
    for (number, options) in options_of_every_heap().enumerate() {
        let said = format!("{options:?}");
        let mut m = new_mutator(options).expect("room");
        let mut state = 1 + number as u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        let set = set(&mut m);
        let base = m.root_count();
        for _ in 0..300 {
            m.push_root(None);
        }
        let mut there: HashMap<usize, (u32, u64, ObjectRef)> = HashMap::new();
        for step in 0..6000_u64 {
            let at = below(300) as usize;
            match below(10) {
                0..4 if !there.contains_key(&at) => {
                    let hash = below(500) as u32;
                    let (text, root) = add(&mut m, set, hash, step);
                    m.set_root(RootIndex(base + at), Some(text));
                    m.truncate_roots(root.0);
                    there.insert(at, (hash, step, text));
                }
                4..6 => {
                    there.remove(&at);
                    m.set_root(RootIndex(base + at), None);
                }
                6 => {
                    if let Some((_, _, text)) = there.remove(&at) {
                        assert!(m.heap().weak_set_remove(set, text), "{said}, step {step}");
                        m.set_root(RootIndex(base + at), None);
                    }
                }
                7 => m.poll(),
                8 if step % 50 == 0 => m.epoch(),
                8 => _ = m.step(30),
                _ => {}
            }
            if let Some(&(hash, number, text)) = there.get(&(below(300) as usize)) {
                assert_eq!(find(&mut m, set, hash, number), Some(text), "{said}, step {step}");
            }
        }
        m.collect();
        let mut expected: Vec<u64> = there.values().map(|text| text.1).collect();
        expected.sort_unstable();
        assert_eq!(members(&mut m, set), expected, "{said}");
        assert_eq!(m.heap().weak_set_count(set), expected.len() as u64, "{said}");
        m.verify().unwrap_or_else(|violation| panic!("{said}: {violation}"));
        nothing_is_left(&mut m);
    }
}

#[test]
fn set_that_was_asked_last_is_forgotten_when_it_dies() {
    in_every_heap(|m| {
        let base = m.root_count();
        for number in 0..3 {
            let set = set(m);
            let (text, _) = add(m, set, 7, number);
            assert!(m.heap().is_own_weak_set(set.address()) && m.heap().is_last_weak_set(set.address()));
            assert_eq!(m.heap().last_weak_set_probe(7, &mut 0), Some(text));
            m.truncate_roots(base);
            m.collect();
            m.collect();
            // Its memory may be another object's by now.
            assert!(!m.heap().is_last_weak_set(set.address()));
        }
    });
}
