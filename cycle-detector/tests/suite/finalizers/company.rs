//! Structures that die by counting and whose objects have finalizers: all are due together, however long the list is.

use crate::finalizers::{FILE, LARGE, NODE, OWNER, list, live, mutator_with, new, seen, set, type_of};
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{Heap, HeapOptions, ObjectRef};

const LENGTH: u64 = 1000;
/// Epochs in which a structure must be finalized and freed.
const EPOCHS: u64 = 4;

/// Both plans, at once and in slices.
fn each(test: impl Fn(&mut Mutator)) {
    for plan in Plan::ALL {
        for slice_units in [None, Some(3)] {
            let mut m = mutator_with(HeapOptions { plan, slice_units, ..HeapOptions::default() }, None);
            test(&mut m);
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}, {slice_units:?}: {violation}"));
        }
    }
}

/// The structure at root 0 grows up, and is let go of.
fn let_go_of_old(m: &mut Mutator) {
    m.epoch();
    m.epoch();
    m.truncate_roots(0);
}

fn epochs(m: &mut Mutator, count: u64) {
    for _ in 0..count {
        m.epoch();
        m.poll();
    }
}

#[test]
fn old_list_is_finalized_and_freed_in_a_few_epochs() {
    each(|m| {
        list(m, &[&FILE], LENGTH);
        let_go_of_old(m);
        epochs(m, EPOCHS);
        assert_eq!((seen().len() as u64, live(m)), (LENGTH, 0));
    });
}

#[test]
fn one_collection_leaves_nothing_of_an_old_list() {
    each(|m| {
        list(m, &[&FILE], LENGTH);
        let_go_of_old(m);
        m.collect();
        assert_eq!((seen().len() as u64, live(m)), (LENGTH, 0));
    });
}

/// What has no finalizer is followed, too.
#[test]
fn list_with_others_between_is_finalized_at_once() {
    each(|m| {
        list(m, &[&FILE, &NODE, &NODE], 3 * LENGTH);
        let_go_of_old(m);
        epochs(m, EPOCHS);
        assert_eq!((seen().len() as u64, live(m)), (LENGTH, 0));
    });
}

/// Of many chunks, each of whose elements has a list of its own.
#[test]
fn large_array_of_lists_is_finalized_at_once() {
    each(|m| {
        let array = m.allocate_array(type_of(&LARGE), 20 * LENGTH).expect("room");
        m.push_root(Some(array));
        for index in 0..2 * LENGTH {
            let file = new(m, &FILE, 0);
            set(m, array, 24 + 80 * index, Some(file));
            let next = new(m, &FILE, 0);
            set(m, file, 0, Some(next));
            m.truncate_roots(1);
        }
        let_go_of_old(m);
        epochs(m, EPOCHS);
        assert_eq!((seen().len() as u64, live(m)), (4 * LENGTH + 1, 0));
    });
}

/// Half of the list is held by a root, by another object, or twice by the dead half.
#[test]
fn what_something_else_holds_is_not_finalized() {
    each(|m| {
        list(m, &[&FILE], LENGTH);
        let mut middle = m.root(RootIndex(0)).expect("a list");
        for _ in 0..LENGTH / 2 {
            // SAFETY: [HEADER] a reference of the list.
            middle = unsafe { ObjectRef::of_word(middle.slot(0).read()) }.expect("a list");
        }
        let holder = new(m, &NODE, 0);
        set(m, holder, 0, Some(middle));
        m.epoch();
        m.epoch();
        m.set_root(RootIndex(0), None);
        epochs(m, EPOCHS);
        assert_eq!((seen().len() as u64, live(m)), (LENGTH / 2, LENGTH / 2 + 1));
        m.truncate_roots(0);
        epochs(m, EPOCHS);
        assert_eq!((seen().len() as u64, live(m)), (LENGTH / 2, 0));
    });
}

/// Between the flip that finds the list dead and the slice that comes to its middle, a weak slot yields that.
#[test]
fn what_a_weak_slot_yields_meanwhile_is_not_finalized() {
    for units in [1, 2, 5, 50, 500] {
        let options = HeapOptions { plan: Plan::Deferred, slice_units: Some(3), ..HeapOptions::default() };
        let mut m = mutator_with(options, None);
        list(&mut m, &[&FILE], 20);
        let mut middle = m.root(RootIndex(0)).expect("a list");
        for _ in 0..10 {
            // SAFETY: [HEADER] a reference of the list.
            middle = unsafe { ObjectRef::of_word(middle.slot(0).read()) }.expect("a list");
        }
        let weak = m.new_weak(middle).expect("room");
        m.push_root(Some(weak));
        m.epoch();
        m.epoch();
        m.set_root(RootIndex(0), None);
        m.flip();
        m.step(units);
        let yielded = m.read_weak(weak.slot(0));
        m.set_root(RootIndex(0), yielded);
        epochs(&mut m, 3 * EPOCHS);
        let held = if yielded.is_some() { 10 } else { 0 };
        assert_eq!((seen().len() as u64, live(&mut m)), (20 - held, held + 1), "{units}");
    }
}

/// A finalizer brings back the object behind its own: it lives, with all that it holds, and is not finalized again.
#[test]
fn what_a_finalizer_of_the_list_brings_back_lives() {
    fn save(m: &mut Mutator, object: ObjectRef) {
        if object.slot(16).read() == LENGTH - 1 {
            // SAFETY: [HEADER] a reference of the list.
            let next = unsafe { ObjectRef::of_word(object.slot(0).read()) };
            m.push_root(next);
        }
    }
    for plan in Plan::ALL {
        let mut m = mutator_with(HeapOptions { plan, ..HeapOptions::default() }, Some(save));
        list(&mut m, &[&FILE], LENGTH);
        let_go_of_old(&mut m);
        epochs(&mut m, EPOCHS);
        assert_eq!(live(&mut m), LENGTH - 1, "{plan:?}");
        m.truncate_roots(0);
        epochs(&mut m, EPOCHS);
        assert_eq!((seen().len() as u64, live(&mut m)), (LENGTH, 0), "{plan:?}");
    }
}

/// Owners first: each is finalized before the next is found.
#[test]
fn owners_come_first_as_ever() {
    each(|m| {
        list(m, &[&OWNER], 20);
        let_go_of_old(m);
        epochs(m, 100);
        assert_eq!((seen(), live(m)), ((0..20).rev().collect(), 0));
    });
}

/// The finalizers of one set wait for a safepoint when the next epoch finds an object whose company it has not found yet: that is of the
/// next set. Its finalizer could bring back what is still followed.
#[test]
fn set_that_waits_for_a_safepoint_is_not_joined_by_objects_whose_company_is_not_found() {
    let mut m = mutator_with(HeapOptions { plan: Plan::Deferred, ..HeapOptions::default() }, None);
    new(&mut m, &FILE, 0);
    let first = new(&mut m, &FILE, 1);
    let second = new(&mut m, &FILE, 2);
    set(&mut m, first, 0, Some(second));
    m.truncate_roots(2);
    m.epoch();
    m.epoch();
    let work_until = |m: &mut Mutator, holds: fn(&Heap) -> bool| {
        while !holds(m.heap()) {
            m.heap().with_driver(|driver, heap| match driver.has_work(heap) {
                true => driver.work(heap, 1),
                false => driver.flip(heap),
            });
        }
    };
    m.set_root(RootIndex(0), None);
    work_until(&mut m, |heap| heap.services.finalizers.are_ready());
    m.set_root(RootIndex(1), None);
    work_until(&mut m, |heap| heap.services.finalizers.queue.len() == 2);
    m.step(0);
    assert_eq!(seen(), [0]);
    m.collect();
    assert_eq!((seen(), live(&mut m)), (vec![1, 2], 0));
}
