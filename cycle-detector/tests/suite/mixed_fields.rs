//! Plain references beside words and pairs that have tags, in one type: each field is read as the descriptor says of that one.

use crate::every_heap::{in_every_heap_of, leaf, options_of_every_heap};
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::descriptor::{PLAIN_REFERENCE as PLAIN, SlotKind, TypeDescriptor};
use tally_heap::services::weak::WeakKind;
use tally_kit::nodes::{new_mutator, type_of};

/// A pair holds a reference if this bit of its tag is set.
const COLLECTABLE: u64 = 0x40;
const BOX_MASK: u64 = 0xffff << 48;
const BOX_PATTERN: u64 = 0xfffc << 48;

const fn pairs(of: TypeDescriptor, kind: SlotKind) -> TypeDescriptor {
    of.tagged(kind, COLLECTABLE, COLLECTABLE, u64::MAX)
}

const fn boxed(of: TypeDescriptor) -> TypeDescriptor {
    of.tagged(SlotKind::NanBoxed, BOX_MASK, BOX_PATTERN, !BOX_MASK)
}

// A plain reference, a field with a tag of 16 bytes, a plain reference; then elements of the same form.
static BEHIND: TypeDescriptor =
    pairs(TypeDescriptor::plain(c"Behind", 32, &[PLAIN, 8, 24 | PLAIN]), SlotKind::TagBehind);
static BEFORE: TypeDescriptor =
    pairs(TypeDescriptor::plain(c"Before", 32, &[PLAIN, 16, 24 | PLAIN]), SlotKind::TagBefore);
static WORDS: TypeDescriptor = boxed(TypeDescriptor::plain(c"Words", 32, &[PLAIN, 8, 24 | PLAIN]));
static MANY_BEHIND: TypeDescriptor = pairs(
    TypeDescriptor::plain(c"ManyBehind", 16, &[PLAIN]).with_tail(8, 32, &[PLAIN, 8, 24 | PLAIN]),
    SlotKind::TagBehind,
);
static MANY_BEFORE: TypeDescriptor = pairs(
    TypeDescriptor::plain(c"ManyBefore", 16, &[PLAIN]).with_tail(8, 32, &[PLAIN, 16, 24 | PLAIN]),
    SlotKind::TagBefore,
);
static MANY_WORDS: TypeDescriptor =
    boxed(TypeDescriptor::plain(c"ManyWords", 16, &[PLAIN]).with_tail(8, 32, &[PLAIN, 8, 24 | PLAIN]));

/// Where the tags of a type are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tags {
    Behind,
    Before,
    Inside,
}

/// In a heap of each kind, for each place of tags: `situation(heap, fixed fields, array of such, where tags are)`.
fn for_all(situation: impl Fn(&mut Mutator, [&'static TypeDescriptor; 2], Tags)) {
    let all = [
        ([&BEHIND, &MANY_BEHIND], Tags::Behind),
        ([&BEFORE, &MANY_BEFORE], Tags::Before),
        ([&WORDS, &MANY_WORDS], Tags::Inside),
    ];
    for (types, tags) in all {
        in_every_heap_of(&format!("tags: {tags:?}"), |m| situation(m, types, tags));
    }
}

/// Writes the field with a tag that stands at `at`: a reference, or the same address as a number.
fn write(m: &mut Mutator, object: ObjectRef, at: u64, address: u64, refers: bool, tags: Tags) {
    let tag = if refers { COLLECTABLE | 7 } else { 3 };
    let pair = match tags {
        Tags::Behind => [address, tag],
        Tags::Before => [tag, address],
        Tags::Inside => return m.write(object, object.slot(at), if refers { address | BOX_PATTERN } else { address }),
    };
    m.heap().write_pair(object, object.slot(at), pair);
}

#[test]
fn a_plain_reference_is_one_whatever_the_tag_beside_it_says() {
    for_all(|m, [fixed, _], tags| {
        let object = m.allocate(type_of(fixed)).expect("room");
        m.push_root(Some(object));
        for ages in 0..3 {
            for plain in [0, 24] {
                let new = leaf(m);
                m.write(object, object.slot(plain), new.address());
            }
            let number = leaf(m);
            write(m, object, 8, number.address(), false, tags);
            (0..ages).for_each(|_| m.epoch());
            m.collect();
            assert_eq!(m.live_objects().len(), 3, "two plain references; the number keeps nothing alive");
            let held = leaf(m);
            write(m, object, 8, held.address(), true, tags);
            m.write(object, object.slot(0), 0);
            (0..ages).for_each(|_| m.epoch());
            m.collect();
            assert_eq!(m.live_objects().len(), 3, "the field with a tag, and the last");
            m.write(object, object.slot(24), 0);
            write(m, object, 8, 0, false, tags);
            m.collect();
            assert_eq!(m.live_objects().len(), 1);
        }
    });
}

#[test]
fn fields_of_both_kinds_change_in_small_and_large_arrays() {
    for_all(|m, [_, many], tags| {
        for length in [3, 40, 1500] {
            if m.heap().options().zeal && length > 100 {
                continue;
            }
            let base = m.root_count();
            let array = m.allocate_array(type_of(many), length).expect("room");
            m.push_root(Some(array));
            for round in 0..4 {
                let owner = leaf(m);
                m.write(array, array.slot(0), owner.address());
                let mut held = 1;
                for place in 0..length {
                    let (at, refers) = (16 + place * 32, (place + round) % 3 != 0);
                    for plain in [at, at + 24] {
                        let word = if (place + round + plain / 24) % 2 == 0 { leaf(m).address() } else { 0 };
                        held += usize::from(word != 0);
                        m.write(array, array.slot(plain), word);
                    }
                    let address = if refers { leaf(m).address() } else { place * 8 };
                    held += usize::from(refers);
                    write(m, array, at + 8, address, refers, tags);
                }
                if round % 2 == 0 {
                    m.epoch();
                }
                m.collect();
                assert_eq!(m.live_objects().len(), 1 + held);
            }
            m.truncate_roots(base);
            m.collect();
        }
    });
}

/// A ring whose links are a plain reference one way, a field with a tag the other way.
#[test]
fn rings_through_fields_of_both_kinds_are_collected() {
    for_all(|m, [fixed, many], tags| {
        for ages in 0..3 {
            let object = m.allocate(type_of(fixed)).expect("room");
            m.push_root(Some(object));
            let array = m.allocate_array(type_of(many), 50).expect("room");
            m.write(object, object.slot(24), array.address());
            write(m, array, 16 + 49 * 32 + 8, object.address(), true, tags);
            m.write(array, array.slot(16 + 30 * 32 + 24), object.address());
            (0..ages).for_each(|_| m.epoch());
            m.truncate_roots(0);
            m.collect();
            assert_eq!(m.live_objects().len(), 0);
        }
    });
}

#[test]
fn words_that_are_copied_and_filled_keep_what_their_fields_say() {
    for_all(|m, [_, many], tags| {
        let array = m.allocate_array(type_of(many), 20).expect("room");
        m.push_root(Some(array));
        let plain = leaf(m);
        m.write(array, array.slot(16), plain.address());
        let tagged = leaf(m);
        write(m, array, 24, tagged.address(), true, tags);
        m.write(array, array.slot(40), plain.address());
        m.epoch();
        for place in 1..20 {
            let target = array.slot(16 + place * 32);
            // SAFETY: four words of one element to another.
            unsafe { m.copy_refs(array, target, array.slot(16).address(), 4) };
        }
        m.collect();
        assert_eq!(m.live_objects().len(), 3);
        for place in 0..19 {
            // SAFETY: the words of an element; zero is no reference in any of them.
            unsafe { m.fill_refs(array, array.slot(16 + place * 32), 0, 4) };
        }
        m.collect();
        assert_eq!(m.live_objects().len(), 3, "the last element is left");
        // SAFETY: as above.
        unsafe { m.fill_refs(array, array.slot(16 + 19 * 32), 0, 4) };
        m.collect();
        assert_eq!(m.live_objects().len(), 1);
    });
}

/// The owner's storage hangs on a plain reference beside a field with a tag, and is of the same kind itself.
#[test]
fn storage_of_mixed_elements_moves_with_what_it_holds() {
    for_all(|m, [fixed, many], tags| {
        let owner = m.allocate(type_of(fixed)).expect("room");
        m.push_root(Some(owner));
        let array = m.allocate_array(type_of(many), 4).expect("room");
        m.write(owner, owner.slot(24), array.address());
        // SAFETY: [HEADER] a plain reference.
        let array = || unsafe { ObjectRef::of_word(owner.slot(24).read()) }.expect("it has an array");
        let plain = leaf(m);
        m.write(array(), array().slot(16), plain.address());
        let tagged = leaf(m);
        write(m, array(), 24, tagged.address(), true, tags);
        for length in [9, 100, 1000, 1] {
            m.heap().resize(owner, owner.slot(24), length).expect("room");
            m.collect();
            assert_eq!((array().slot(16).read(), m.live_objects().len()), (plain.address(), 4));
        }
    });
}

#[test]
fn values_of_ephemerons_in_fields_of_both_kinds_go_with_their_key() {
    static PAIRS: TypeDescriptor =
        pairs(TypeDescriptor::plain(c"KeyedPairs", 32, &[PLAIN, 8]), SlotKind::TagBehind).ephemeron();
    static BOXES: TypeDescriptor = boxed(TypeDescriptor::plain(c"KeyedBoxes", 32, &[PLAIN, 8])).ephemeron();
    for options in options_of_every_heap() {
        for (of, tags) in [(&PAIRS, Tags::Behind), (&BOXES, Tags::Inside)] {
            for ages in 0..3 {
                let mut m = new_mutator(options.clone()).expect("room");
                let ephemeron = m.allocate(type_of(of)).expect("room");
                m.push_root(Some(ephemeron));
                let key = leaf(&mut m);
                let root = m.push_root(Some(key));
                m.heap().write_weak(ephemeron, ephemeron.slot(24), Some(key), WeakKind::Key);
                let plain = leaf(&mut m);
                m.write(ephemeron, ephemeron.slot(0), plain.address());
                let tagged = leaf(&mut m);
                write(&mut m, ephemeron, 8, tagged.address(), true, tags);
                (0..ages).for_each(|_| m.epoch());
                m.collect();
                assert_eq!(m.live_objects().len(), 4, "{options:?} {tags:?}");
                m.set_root(root, None);
                m.collect();
                m.collect();
                assert_eq!(m.live_objects().len(), 1, "{options:?} {tags:?}");
                m.verify().unwrap_or_else(|violation| panic!("{options:?} {tags:?}: {violation}"));
            }
        }
    }
}
