//! Drains that take structures apart without the whole way: what is in flight stays, and the order is that of the recursion.

use crate::prompt::{live, mutator, nodes, set, type_of};
use std::cell::RefCell;
use std::ffi::c_void;
use tally_heap::ObjectRef;
use tally_heap::descriptor::TypeDescriptor;

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
