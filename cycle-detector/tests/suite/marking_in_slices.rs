//! Marks in slices beside the program, of a heap that marks instead of counting: what the program does meanwhile, and when marks go so.

use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::heap::MARK_NS_PER_UNIT;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

unsafe extern "C-unwind" fn finalize(_object: *mut c_void) {}

// SAFETY: `finalize` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 16, &[0]).finalized(finalize) };

const EPOCH: u64 = 64 << 10;
const SLICE: u32 = 64;

fn options() -> HeapOptions {
    HeapOptions {
        epoch_bytes: EPOCH,
        slice_units: Some(SLICE),
        mark_ns: (1 << 30) * MARK_NS_PER_UNIT,
        eager_slices: true,
        ..HeapOptions::default()
    }
}

fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&NODE)).expect("room")
}

/// A list of so many nodes in a new root.
fn push_list(m: &mut Mutator, count: usize) {
    let place = m.push_root(None);
    for _ in 0..count {
        let node = node(m);
        if let Some(last) = m.root(place) {
            m.write(node, node.slot(0), last.address());
        }
        m.set_root(place, Some(node));
    }
}

/// Allocates garbage until a mark has begun that has most of a list of 20,000 nodes before it.
fn begin_mark(m: &mut Mutator) {
    push_list(m, 20_000);
    while !m.heap().mark_is_sliced() {
        node(m);
    }
}

/// Allocates garbage until the mark has ended.
fn end_mark(m: &mut Mutator) {
    while m.heap().mark_is_sliced() {
        node(m);
    }
    assert!(m.heap().marks_instead_of_counting(), "it was not given up");
}

fn is_alive(m: &mut Mutator, object: ObjectRef) -> bool {
    m.live_objects().contains(&object)
}

/// The mark has taken the roots; then a root takes the only reference to an object out of a field that it has not come to.
#[test]
fn reference_moves_from_a_field_to_a_root_behind_the_mark() {
    for large in [false, true] {
        let mut m = new_mutator(options()).expect("address space");
        let holder = match large {
            true => m.allocate_array(type_of(&ARRAY), 5000).expect("room"),
            false => node(&mut m),
        };
        m.push_root(Some(holder));
        let slot = holder.slot(if large { 4000 * 8 } else { 8 });
        let moved = node(&mut m);
        m.write(holder, slot, moved.address());
        m.heap().with_driver(|driver, heap| _ = driver.collect(heap));
        begin_mark(&mut m);
        m.push_root(Some(moved));
        m.write(holder, slot, 0);
        end_mark(&mut m);
        assert!(is_alive(&mut m, moved), "large: {large}");
        m.collect();
        m.verify().expect("a sound heap");
    }
}

#[test]
fn weak_slot_yields_an_object_to_the_program_and_to_the_mark() {
    let mut m = new_mutator(options()).expect("address space");
    let [target, other] = [(); 2].map(|()| node(&mut m));
    let [weak, _] = [target, other].map(|object| {
        let weak = m.new_weak(object).expect("memory");
        m.push_root(Some(weak));
        weak
    });
    begin_mark(&mut m);
    assert_eq!(m.read_weak(weak.slot(0)), Some(target));
    m.push_root(Some(target));
    end_mark(&mut m);
    assert!(is_alive(&mut m, target) && !is_alive(&mut m, other));
    m.collect();
    m.verify().expect("a sound heap");
}

#[test]
fn objects_that_are_allocated_meanwhile_live_until_the_next_mark() {
    let mut m = new_mutator(options()).expect("address space");
    begin_mark(&mut m);
    let small = node(&mut m);
    let medium = m.allocate_array(type_of(&ARRAY), 100).expect("room");
    let large = m.allocate_array(type_of(&ARRAY), 5000).expect("room");
    m.write(large, large.slot(8), small.address());
    end_mark(&mut m);
    assert!([small, medium, large].iter().all(|&object| is_alive(&mut m, object)));
    let statistics = m.statistics();
    assert!(statistics.live_objects > 20_000, "{statistics:?}");
    m.collect();
    m.verify().expect("a sound heap");
    let statistics = m.statistics();
    assert_eq!((statistics.live_objects, statistics.promoted_objects, statistics.log_entries), (20_000, 0, 0));
}

#[test]
fn garbage_dies_and_no_slice_is_longer_than_its_units_and_a_step() {
    const LONG: u32 = 8192;
    let mut m = new_mutator(HeapOptions { slice_units: Some(LONG), ..options() }).expect("address space");
    push_list(&mut m, 20_000);
    for _ in 0..400_000 {
        node(&mut m);
    }
    let statistics = m.statistics();
    assert!(statistics.marks >= 3 && statistics.marks_aborted == 0, "{statistics:?}");
    assert!(statistics.used_bytes < 4 << 20, "{statistics:?}");
    assert!(statistics.slice_units_max <= u64::from(LONG) + 16, "{statistics:?}");
}

#[test]
fn finalizer_that_runs_meanwhile_finds_what_its_object_holds() {
    let mut m = new_mutator(options()).expect("address space");
    push_list(&mut m, 100);
    let held = node(&mut m);
    let file = m.allocate(type_of(&FILE)).expect("room");
    m.write(file, file.slot(0), held.address());
    m.heap().with_driver(|driver, heap| _ = driver.collect(heap));
    assert_eq!(m.heap().services.finalizers.queue.iter().copied().collect::<Vec<_>>(), [file]);
    m.heap().with_driver(|driver, heap| driver.flip(heap));
    assert!(m.heap().mark_is_sliced());
    m.poll();
    assert!(m.heap().services.finalizers.queue.is_empty(), "its finalizer has run");
    end_mark(&mut m);
    assert!(is_alive(&mut m, file) && is_alive(&mut m, held));
    m.collect();
    assert!(!is_alive(&mut m, file) && !is_alive(&mut m, held));
}

#[test]
fn mark_whose_stack_has_no_room_is_given_up_and_the_heap_counts() {
    let mut m = new_mutator(HeapOptions { list_entries_max: Some(3), ..options() }).expect("address space");
    let array = m.allocate_array(type_of(&ARRAY), 100).expect("room");
    m.push_root(Some(array));
    for place in 0..100 {
        let node = node(&mut m);
        m.write(array, array.slot(8 + place * 8), node.address());
    }
    for _ in 0..10_000 {
        node(&mut m);
    }
    assert!(!m.heap().marks_instead_of_counting());
    m.epoch();
    m.verify().expect("a sound heap");
    assert_eq!(m.live_objects().len(), 101);
}

#[test]
fn explicit_collection_marks_anew_and_steps_go_on_with_their_own_mark() {
    let mut m = new_mutator(options()).expect("address space");
    begin_mark(&mut m);
    m.truncate_roots(0);
    m.collect();
    assert_eq!(m.live_objects(), []);
    m.verify().expect("a sound heap");
    begin_mark(&mut m);
    m.truncate_roots(0);
    let mut steps = 0;
    while !m.collect_for(1) {
        steps += 1;
    }
    assert!(steps > 2, "the mark that ran, and then one of the steps' own");
    assert_eq!(m.live_objects(), [], "also what died before the first step");
}

/// A list to whose front nodes are added, and whose end is cut off: all survive their first flips, and die later.
#[test]
fn heap_goes_over_to_marks_in_slices_where_counts_cost_more_and_back() {
    let options = HeapOptions { eager_slices: false, mark_ns: 6000 * MARK_NS_PER_UNIT, ..options() };
    let mut m = new_mutator(HeapOptions { slice_units: Some(16384), ..options }).expect("address space");
    let ring = m.allocate_array(type_of(&ARRAY), 4000).expect("room");
    m.push_root(Some(ring));
    let slot = |place: u64| ring.slot(8 + place % 4000 * 8);
    for place in 0..200_000 {
        let node = node(&mut m);
        m.write(ring, slot(place), node.address());
    }
    let statistics = m.statistics();
    assert!(m.heap().marks_instead_of_counting() && statistics.marks > 5, "{statistics:?}");
    for _ in 0..400_000 {
        node(&mut m);
    }
    assert!(!m.heap().marks_instead_of_counting(), "all dies young, and each mark goes through what lives");
    m.collect();
    m.verify().expect("a sound heap");
    assert_eq!(m.live_objects().len(), 4001);
}
