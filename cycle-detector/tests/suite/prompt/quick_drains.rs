//! Drains that take structures apart without the whole way: what is in flight stays, and the order is that of the recursion.

use crate::prompt::{live, mutator, node, nodes, set, type_of};
use std::cell::RefCell;
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::ObjectRef;
use tally_heap::descriptor::{SlotKind, TypeDescriptor};

thread_local! {
    static SEEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A number that says who it is.
// SAFETY: `close` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Closed", 8, &[]).finalized(close) };

unsafe extern "C-unwind" fn close(object: *mut c_void) {
    // SAFETY: the heap calls with an object of the type, and is not borrowed meanwhile.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    SEEN.with_borrow_mut(|seen| seen.push(object.slot(0).read()));
}

#[test]
fn what_is_in_flight_outlives_the_structure_that_held_it() {
    let mut m = mutator();
    let [holder, object, below] = nodes(&mut m);
    let root = m.push_root(Some(holder));
    set(&mut m, holder, 0, Some(object));
    set(&mut m, object, 0, Some(below));
    m.drain(&[]);
    m.set_root(root, None);
    m.drain(&[0, object.address() + 8]);
    assert_eq!((live(&m), m.count_of(object)), (2, 0));
    m.drain(&[77]);
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}

#[test]
fn of_more_words_in_flight_than_are_counted_each_outlives_the_structure() {
    let mut m = mutator();
    let holders: [ObjectRef; 12] = nodes(&mut m);
    holders.iter().for_each(|&holder| _ = m.push_root(Some(holder)));
    let objects: [ObjectRef; 12] = nodes(&mut m);
    for (&holder, &object) in holders.iter().zip(&objects) {
        set(&mut m, holder, 0, Some(object));
    }
    m.truncate_roots(0);
    let words: Vec<u64> = objects.iter().map(|object| object.address()).collect();
    m.drain(&words);
    assert_eq!(live(&m), 12, "the holders died");
    m.drain(&[]);
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}

#[test]
fn a_structure_with_finalizers_dies_before_what_was_released_after_it() {
    let mut m = mutator();
    let holders: [ObjectRef; 2] = nodes(&mut m);
    holders.iter().rev().for_each(|&holder| _ = m.push_root(Some(holder)));
    for (number, place) in [(1, 0), (2, 8), (3, 0), (4, 8)] {
        let object = m.allocate(type_of(&FILE)).expect("room");
        object.slot(0).store(number);
        set(&mut m, holders[(number as usize - 1) / 2], place, Some(object));
    }
    m.drain(&[]);
    m.truncate_roots(0);
    m.drain(&[]);
    assert_eq!((SEEN.take(), live(&m)), (vec![1, 2, 3, 4], 0));
}

/// Two words at fixed offsets, and any number behind them; a reference has the lowest bit set.
static TAGGED: TypeDescriptor =
    TypeDescriptor::plain(c"Tagged", 24, &[8, 16]).with_tail(0, 8, &[0]).tagged(SlotKind::Tagged, 3, 1, !7);
/// Such words alone.
static PAIR: TypeDescriptor = TypeDescriptor::plain(c"TaggedPair", 16, &[0, 8]).tagged(SlotKind::Tagged, 3, 1, !7);

/// A rooted object with these words from byte `first` on.
fn holding(m: &mut Mutator, descriptor: &'static TypeDescriptor, first: u64, words: &[u64]) -> ObjectRef {
    let holder = m.allocate_array(type_of(descriptor), words.len().saturating_sub(2) as u64).expect("room");
    m.push_root(Some(holder));
    for (&word, at) in words.iter().zip(0..) {
        m.write(holder, holder.slot(first + at * 8), word);
    }
    holder
}

#[test]
fn what_tagged_words_hold_dies_in_the_order_of_the_words() {
    for (descriptor, first, count) in [(&TAGGED, 8, 7), (&PAIR, 0, 2)] {
        let mut m = mutator();
        let files: Vec<ObjectRef> = (1..=count)
            .map(|number| {
                let file = m.allocate(type_of(&FILE)).expect("room");
                m.push_root(Some(file));
                file.slot(0).store(number);
                file
            })
            .collect();
        let words: Vec<u64> = files.iter().map(|file| file.address() | 1).collect();
        holding(&mut m, descriptor, first, &words);
        m.truncate_roots(0);
        m.drain(&[]);
        assert_eq!((SEEN.take(), live(&m)), ((1..=count).collect(), 0));
    }
}

#[test]
fn a_number_that_looks_like_an_address_is_no_reference() {
    let mut m = mutator();
    let kept = node(&mut m);
    let root = m.push_root(Some(kept));
    let number = kept.address();
    for words in [vec![number, number], vec![number; 9]] {
        let base = m.root_count();
        let taken = node(&mut m);
        m.push_root(Some(taken));
        let mut words = words;
        words[1] = taken.address() | 1;
        holding(&mut m, &TAGGED, 8, &words);
        m.truncate_roots(base);
        m.drain(&[]);
        assert_eq!((live(&m), m.count_of(kept)), (1, 1), "{} words", words.len());
    }
    m.set_root(root, None);
    m.drain(&[]);
    m.verify().expect("sound");
}

#[test]
fn what_tagged_words_hold_beside_others_loses_one_count_for_each_word() {
    let mut m = mutator();
    let kept = node(&mut m);
    m.push_root(Some(kept));
    for takes_another in [false, true] {
        let base = m.root_count();
        let other = node(&mut m);
        m.push_root(Some(other));
        let last = if takes_another { other.address() | 1 } else { 4 };
        holding(&mut m, &TAGGED, 8, &[kept.address() | 1, 8, kept.address() | 1, last]);
        m.truncate_roots(base);
        m.drain(&[]);
        assert_eq!((live(&m), m.count_of(kept)), (1, 1));
    }
    m.verify().expect("sound");
}

#[test]
fn what_is_in_flight_outlives_tagged_words_that_held_it() {
    let mut m = mutator();
    let object = node(&mut m);
    m.push_root(Some(object));
    holding(&mut m, &TAGGED, 8, &[object.address() | 1, 0, 4]);
    m.truncate_roots(0);
    m.drain(&[object.address() | 1]);
    assert_eq!((live(&m), m.count_of(object)), (1, 0));
    m.drain(&[]);
    assert_eq!(live(&m), 0);
    m.verify().expect("sound");
}
