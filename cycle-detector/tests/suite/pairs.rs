//! Pairs of a tag and a word that descriptors describe: what a tag says is believed, and what it does not say is no reference.

use crate::every_heap::{in_every_heap_of, leaf};
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::descriptor::{SlotKind, TypeDescriptor};
use tally_kit::nodes::type_of;

/// A tag is a reference's if this bit is set.
const COLLECTABLE: u64 = 0x40;
static BEFORE: TypeDescriptor =
    TypeDescriptor::plain(c"Before", 40, &[8, 32]).tagged(SlotKind::TagBefore, COLLECTABLE, COLLECTABLE, u64::MAX);
static BEHIND: TypeDescriptor =
    TypeDescriptor::plain(c"Behind", 40, &[0, 24]).tagged(SlotKind::TagBehind, COLLECTABLE, COLLECTABLE, u64::MAX);
static MANY_BEFORE: TypeDescriptor = TypeDescriptor::plain(c"ManyBefore", 8, &[]).with_tail(0, 16, &[8]).tagged(
    SlotKind::TagBefore,
    COLLECTABLE,
    COLLECTABLE,
    u64::MAX,
);
static MANY_BEHIND: TypeDescriptor = TypeDescriptor::plain(c"ManyBehind", 8, &[]).with_tail(0, 16, &[0]).tagged(
    SlotKind::TagBehind,
    COLLECTABLE,
    COLLECTABLE,
    u64::MAX,
);

/// In a heap of each kind, for tags before and behind: `situation(heap, fixed pairs, array of pairs, is behind)`.
fn for_all(situation: impl Fn(&mut Mutator, [&'static TypeDescriptor; 2], bool)) {
    for (types, is_behind) in [([&BEFORE, &MANY_BEFORE], false), ([&BEHIND, &MANY_BEHIND], true)] {
        in_every_heap_of(&format!("behind: {is_behind}"), |m| situation(m, types, is_behind));
    }
}

/// Writes a pair whose first word stands at `at`.
fn write(m: &mut Mutator, object: ObjectRef, at: u64, (tag, word): (u64, u64), is_behind: bool) {
    let pair = if is_behind { [word, tag] } else { [tag, word] };
    m.heap().write_pair(object, object.slot(at), pair);
}

#[test]
fn a_word_is_a_reference_only_beside_the_tag_of_one() {
    for_all(|m, [fixed, _], is_behind| {
        let object = m.allocate(type_of(fixed)).expect("room");
        m.push_root(Some(object));
        for ages in 0..3 {
            let held = leaf(m);
            write(m, object, 0, (COLLECTABLE | 7, held.address()), is_behind);
            let number = leaf(m);
            write(m, object, 24, (3, number.address()), is_behind);
            (0..ages).for_each(|_| m.epoch());
            m.collect();
            assert_eq!(m.live_objects().len(), 2, "the number keeps nothing alive");
            write(m, object, 0, (3, held.address()), is_behind);
            m.collect();
            assert_eq!(m.live_objects().len(), 1, "the same word as a number");
        }
    });
}

/// Small and large arrays, young and mature: each write lets the old value go, whichever of the two is a reference.
#[test]
fn values_of_an_array_are_overwritten_by_values_of_another_nature() {
    for_all(|m, [_, many], is_behind| {
        for length in [3, 60, 3000] {
            if m.heap().options().zeal && length > 100 {
                continue;
            }
            let base = m.root_count();
            let array = m.allocate_array(type_of(many), length).expect("room");
            m.push_root(Some(array));
            for round in 0..4 {
                let mut held = 0;
                for place in 0..length {
                    let is_reference = (place + round) % 3 != 0;
                    let word = if is_reference { leaf(m).address() } else { place * 8 };
                    held += usize::from(is_reference);
                    write(m, array, 8 + place * 16, (if is_reference { COLLECTABLE } else { 3 }, word), is_behind);
                }
                if round % 2 == 0 {
                    m.epoch();
                } else {
                    m.collect();
                }
                m.collect();
                assert_eq!(m.live_objects().len(), 1 + held);
            }
            m.truncate_roots(base);
            m.collect();
        }
    });
}

#[test]
fn rings_of_pairs_are_collected() {
    for_all(|m, [fixed, many], is_behind| {
        for ages in 0..3 {
            let object = m.allocate(type_of(fixed)).expect("room");
            m.push_root(Some(object));
            let array = m.allocate_array(type_of(many), 50).expect("room");
            write(m, object, 0, (COLLECTABLE, array.address()), is_behind);
            write(m, array, 8 + 49 * 16, (COLLECTABLE, object.address()), is_behind);
            (0..ages).for_each(|_| m.epoch());
            m.truncate_roots(0);
            m.collect();
            assert_eq!(m.live_objects().len(), 0);
        }
    });
}

/// The first pair of a large array's chunk shares its granule with the chunk before.
#[test]
fn each_pair_of_a_large_array_is_logged() {
    for_all(|m, [_, many], is_behind| {
        let length = if m.heap().options().zeal { 40 } else { 1500 };
        let array = m.allocate_array(type_of(many), length).expect("room");
        m.push_root(Some(array));
        for place in 0..length {
            let new = leaf(m);
            write(m, array, 8 + place * 16, (COLLECTABLE, new.address()), is_behind);
        }
        m.epoch();
        m.epoch();
        for place in (0..length).step_by(7) {
            write(m, array, 8 + place * 16, (0, 0), is_behind);
            if place % 70 == 0 {
                m.epoch();
            }
        }
        m.epoch();
        m.verify().expect("sound");
        m.collect();
        assert_eq!(m.live_objects().len() as u64, 1 + length - length.div_ceil(7));
    });
}

#[test]
fn elements_that_are_pairs_move_with_their_storage() {
    static OWNER: TypeDescriptor = TypeDescriptor::plain(c"Owner", 8, &[0]);
    for_all(|m, [_, many], is_behind| {
        let owner = m.allocate(type_of(&OWNER)).expect("room");
        m.push_root(Some(owner));
        let array = m.allocate_array(type_of(many), 4).expect("room");
        m.write(owner, owner.slot(0), array.address());
        let (held, number) = (leaf(m), 77);
        let array = |owner: ObjectRef| {
            // SAFETY: [HEADER] a plain reference.
            unsafe { ObjectRef::of_word(owner.slot(0).read()) }.expect("it has an array")
        };
        write(m, array(owner), 8, (COLLECTABLE, held.address()), is_behind);
        write(m, array(owner), 24, (3, number), is_behind);
        for length in [9, 100, 2000, 2] {
            m.heap().resize(owner, owner.slot(0), length).expect("room");
            m.collect();
            let words = if is_behind { [8, 24] } else { [16, 32] }.map(|at| array(owner).slot(at).read());
            assert_eq!((words, m.live_objects().len()), ([held.address(), number], 3));
        }
    });
}
