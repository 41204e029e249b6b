//! A small heap of the deferred plan marks instead of counting: when it does, when it counts, and what changes hands.

use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::heap::MARK_NS_PER_UNIT;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

unsafe extern "C-unwind" fn finalize(_object: *mut c_void) {}

// SAFETY: `finalize` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 16, &[0]).finalized(finalize) };

const EPOCH: u64 = 64 << 10;
/// Units of a mark that is given up; an object of a list has three.
const BOUND: u64 = 6000;

fn options() -> HeapOptions {
    HeapOptions {
        epoch_bytes: EPOCH,
        slice_units: Some(1024),
        mark_ns: BOUND * MARK_NS_PER_UNIT,
        ..HeapOptions::default()
    }
}

/// A list of so many nodes in a new root.
fn push_list(m: &mut Mutator, count: usize) {
    let place = m.push_root(None);
    for _ in 0..count {
        let node = m.allocate(type_of(&NODE)).expect("room");
        if let Some(last) = m.root(place) {
            m.write(node, node.slot(0), last.address());
        }
        m.set_root(place, Some(node));
    }
}

/// So many epochs of garbage.
fn run(m: &mut Mutator, epochs: u64) {
    let garbage = epochs * EPOCH / 32;
    for _ in 0..garbage {
        m.allocate(type_of(&NODE)).expect("room");
        m.poll();
    }
}

fn marks(m: &mut Mutator) -> bool {
    m.heap().marks_instead_of_counting()
}

#[test]
fn small_heap_counts_nothing_and_frees_rings_at_once() {
    let mut m = new_mutator(options()).expect("address space");
    push_list(&mut m, 100);
    let [one, other] = [(); 2].map(|()| m.allocate(type_of(&NODE)).expect("room"));
    m.write(one, one.slot(0), other.address());
    m.write(other, other.slot(0), one.address());
    run(&mut m, 10);
    let statistics = m.statistics();
    assert!(marks(&mut m) && statistics.marks >= 5, "{statistics:?}");
    assert_eq!((statistics.promoted_objects, statistics.log_entries, statistics.live_objects), (0, 0, 100));
    m.epoch();
    m.verify().expect("a sound heap");
    assert_eq!(m.heap().statistics_with_young().live_objects, 100);
}

#[test]
fn heap_that_outgrows_the_bound_counts_and_marks_again_when_it_is_small() {
    let mut m = new_mutator(options()).expect("address space");
    push_list(&mut m, 10_000);
    // While it grows it may mark in slices.
    run(&mut m, 96);
    assert!(!marks(&mut m));
    m.epoch();
    m.verify().expect("a sound heap");
    let counted = m.statistics();
    assert_eq!((counted.live_objects, counted.marks_aborted), (10_000, 1), "{counted:?}");
    m.truncate_roots(0);
    push_list(&mut m, 50);
    run(&mut m, 16);
    assert!(marks(&mut m));
    m.epoch();
    m.verify().expect("a sound heap");
    let marked = m.statistics();
    assert_eq!(marked.allocated_objects, marked.freed_objects() + 50, "{marked:?}");
}

#[test]
fn mark_is_no_longer_than_its_bound() {
    let mut m = new_mutator(options()).expect("address space");
    push_list(&mut m, 10_000);
    run(&mut m, 2);
    let statistics = m.statistics();
    let most = statistics.marks * BOUND + 64;
    assert!(statistics.mark_units <= most, "{} units of {} marks", statistics.mark_units, statistics.marks);
}

#[test]
fn pause_goal_lowers_the_bound() {
    let mut m = new_mutator(options()).expect("address space");
    push_list(&mut m, 500);
    run(&mut m, 4);
    assert!(marks(&mut m));
    m.heap().set_pause_goal(BOUND * MARK_NS_PER_UNIT / 4);
    run(&mut m, 4);
    assert!(!marks(&mut m));
    m.heap().set_pause_goal(0);
    run(&mut m, 200);
    assert!(marks(&mut m), "there is no goal any more");
}

#[test]
fn zeal_counts() {
    let mut m = new_mutator(HeapOptions { zeal: true, ..options() }).expect("address space");
    assert!(!marks(&mut m));
    run(&mut m, 0);
}

#[test]
fn what_waits_for_a_finalizer_and_what_is_immortal_is_counted_from_then_on() {
    let mut m = new_mutator(options()).expect("address space");
    let held = m.allocate(type_of(&NODE)).expect("room");
    m.push_root(Some(held));
    let file = m.allocate(type_of(&FILE)).expect("room");
    m.write(file, file.slot(0), held.address());
    m.heap().make_immortal(held);
    m.truncate_roots(0);
    let waiting = |m: &mut Mutator| m.heap().services.finalizers.queue.iter().copied().collect::<Vec<ObjectRef>>();
    // A collection finds the file dead; before its finalizer runs the heap begins to count.
    m.heap().with_driver(|driver, heap| driver.epoch(heap));
    assert_eq!(waiting(&mut m), [file]);
    m.heap().options_mut().mark_ns = 1;
    m.heap().with_driver(|driver, heap| driver.flip(heap));
    assert!(!marks(&mut m));
    m.heap().with_driver(|driver, heap| driver.epoch(heap));
    m.verify().expect("a sound heap");
    assert_eq!((waiting(&mut m), m.count_of(held)), (vec![file], 2), "the file and its own");
    m.collect();
    m.collect();
    assert_eq!(m.live_objects(), [held]);
    m.verify().expect("a sound heap");
}
