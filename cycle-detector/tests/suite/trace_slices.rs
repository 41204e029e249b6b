//! Collections of the trace plan in slices: what the program does between two slices loses nothing, and what was garbage at the snapshot
//! goes. `[HEADER]` `[WEAK]` `[BOUND]` `[QUIET]`

mod special;

use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;
use tally_collector::Mutator;
use tally_collector::mutator::new_heap;
use tally_collector::root_source::{Headway, RootList, RootSource};
use tally_heap::mark_phase::MarkPhase;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{Heap, HeapOptions, ObjectRef, TypeDescriptor};
use tally_kit::nodes::{NODE, in_finalizer, new_mutator, nothing_is_left, set, type_of};

/// Any number of references.
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"SlicedArray", 8, &[]).with_tail(0, 8, &[0]);
// SAFETY: `finalize` takes any object of the type.
static MORTAL: TypeDescriptor = unsafe { TypeDescriptor::plain(c"SlicedMortal", 16, &[0]).finalized(finalize) };

/// Units of a slice: some visits.
const UNITS: u32 = 40;
/// Elements of an array with many chunks.
const MANY: u64 = 10_000;

thread_local! {
    static FINALIZED: Cell<u32> = const { Cell::new(0) };
}

/// Moves what the object refers to into a new object, which it refers to afterwards.
unsafe extern "C-unwind" fn finalize(object: *mut c_void) {
    FINALIZED.set(FINALIZED.get() + 1);
    in_finalizer(|m| {
        // SAFETY: [HEADER] an object of this heap.
        let object = unsafe { ObjectRef::from_address(object as u64) };
        // SAFETY: [HEADER] a reference word.
        let held = unsafe { ObjectRef::of_word(object.slot(0).read()) };
        if let Some(held) = held {
            assert!(!held.has(tally_heap::object::flag::DEAD));
        }
        set(m, object, 0, None);
    });
}

fn heap() -> Mutator {
    heap_with(HeapOptions::default())
}

fn heap_with(options: HeapOptions) -> Mutator {
    let sliced = HeapOptions { plan: Plan::Trace, pause_goal_ns: Some(1), slice_units: Some(UNITS), ..options };
    new_mutator(sliced).expect("address space")
}

fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&NODE)).expect("memory")
}

fn rooted(m: &mut Mutator) -> (ObjectRef, RootIndex) {
    let object = node(m);
    (object, m.push_root(Some(object)))
}

/// A list of so many nodes, linked by their first fields, that a root holds.
fn list(m: &mut Mutator, length: u64) -> RootIndex {
    let root = m.push_root(None);
    for _ in 0..length {
        let (object, next) = (node(m), m.root(root));
        set(m, object, 0, next);
        m.set_root(root, Some(object));
    }
    root
}

/// Objects with finalizers, each with one that it refers to. One root stays, and holds none of them.
fn let_go_of_mortals(m: &mut Mutator, many: u64) {
    for _ in 0..many {
        let object = m.allocate(type_of(&MORTAL)).expect("memory");
        m.push_root(Some(object));
        let held = node(m);
        set(m, object, 0, Some(held));
        m.truncate_roots(1);
    }
}

fn marks(m: &mut Mutator) -> bool {
    m.heap().mark_phase() == MarkPhase::Discovers
}

/// Begins a collection, and goes on until its snapshot is taken.
fn take_snapshot(m: &mut Mutator) {
    m.flip();
    while !marks(m) {
        assert!(m.step(1), "a collection that has not taken its snapshot");
    }
}

fn finish(m: &mut Mutator) {
    while m.step(UNITS.into()) {}
}

/// The heap is in order, and empty without its roots.
fn end(mut m: Mutator) {
    m.verify().expect("a heap in order");
    nothing_is_left(&mut m);
}

fn target(object: ObjectRef, offset: u64) -> Option<ObjectRef> {
    // SAFETY: [HEADER] a reference word.
    unsafe { ObjectRef::of_word(object.slot(offset).read()) }
}

fn is_there(m: &mut Mutator, object: ObjectRef) -> bool {
    m.live_objects().contains(&object)
}

#[test]
fn what_is_moved_from_an_object_that_the_mark_has_not_visited_into_a_new_one_survives() {
    for whole in [false, true] {
        let mut m = heap();
        // Visited last: the root is the first.
        let (old, _) = rooted(&mut m);
        let moved = node(&mut m);
        set(&mut m, old, 8, Some(moved));
        list(&mut m, 100);
        take_snapshot(&mut m);
        let (new, _) = rooted(&mut m);
        set(&mut m, new, 0, Some(moved));
        if whole {
            // SAFETY: two words of the node's.
            unsafe { m.fill_refs(old, old.slot(0), 0, 2) };
        } else {
            set(&mut m, old, 8, None);
        }
        finish(&mut m);
        assert!(is_there(&mut m, moved), "{whole}");
        end(m);
    }
}

#[test]
fn what_is_moved_while_the_barrier_is_armed_survives() {
    let mut m = heap();
    let (old, _) = rooted(&mut m);
    let moved = node(&mut m);
    set(&mut m, old, 8, Some(moved));
    list(&mut m, 30_000);
    m.flip();
    let mut new = old;
    let mut steps = 0;
    while !marks(&mut m) {
        // From one new object to the next: each was allocated behind the arming of its block, or before it.
        let (next, _) = rooted(&mut m);
        set(&mut m, next, 8, Some(moved));
        set(&mut m, new, 8, None);
        new = next;
        m.step(1);
        steps += 1;
    }
    assert!(steps > 2, "{steps}: the arming goes in steps");
    let (last, _) = rooted(&mut m);
    set(&mut m, last, 8, Some(moved));
    set(&mut m, new, 8, None);
    finish(&mut m);
    assert!(is_there(&mut m, moved));
    end(m);
}

#[test]
fn objects_allocated_while_a_collection_runs_survive_it_and_die_in_the_next() {
    let mut m = heap();
    list(&mut m, 1_000);
    take_snapshot(&mut m);
    let before = m.statistics().freed_objects;
    let mut parts = 0;
    while m.step(UNITS.into()) {
        node(&mut m);
        parts += 1;
    }
    assert!(parts > 20, "{parts}");
    assert_eq!(m.collect(), parts);
    assert_eq!(m.statistics().freed_objects, before + parts);
    end(m);
}

#[test]
fn chunks_of_a_large_array_are_shown_when_they_are_overwritten() {
    for by_copy in [false, true] {
        let mut m = heap();
        let array = m.allocate_array(type_of(&ARRAY), MANY).expect("memory");
        m.push_root(Some(array));
        let element = |index: u64| array.slot(8 + index * 8);
        let held: Vec<_> = (0..MANY).step_by(100).map(|index| (index, node(&mut m))).collect();
        for &(index, object) in &held {
            m.write(array, element(index), object.address());
        }
        m.epoch();
        take_snapshot(&mut m);
        m.step(UNITS.into());
        let to = m.allocate_array(type_of(&ARRAY), MANY).expect("memory");
        m.push_root(Some(to));
        for &(index, object) in held.iter().rev() {
            m.write(to, to.slot(8 + index * 8), object.address());
            if !by_copy {
                m.write(array, element(index), 0);
            }
        }
        if by_copy {
            let zeros = vec![0_u64; MANY as usize];
            // SAFETY: all of the array's words.
            unsafe { m.copy_refs(array, element(0), zeros.as_ptr() as u64, MANY) };
        }
        finish(&mut m);
        let live = m.live_objects();
        assert!(held.iter().all(|(_, object)| live.contains(object)), "{by_copy}");
        end(m);
    }
}

#[test]
fn what_a_weak_reference_yields_while_the_mark_runs_survives() {
    let mut m = heap();
    list(&mut m, 1_000);
    let object = node(&mut m);
    m.push_root(Some(object));
    let weak = m.new_weak(object).expect("memory");
    m.push_root(Some(weak));
    let slot = weak.slot(0);
    m.truncate_roots(1);
    m.push_root(Some(weak));
    take_snapshot(&mut m);
    let found = m.read_weak(slot).expect("no mark has found it dead");
    let (new, _) = rooted(&mut m);
    set(&mut m, new, 0, Some(found));
    finish(&mut m);
    assert!(is_there(&mut m, found) && m.read_weak(slot) == Some(found));
    set(&mut m, new, 0, None);
    take_snapshot(&mut m);
    finish(&mut m);
    assert_eq!(m.read_weak(slot), None);
    end(m);
}

#[test]
fn an_ephemeron_that_the_mark_has_held_back_keeps_its_value_if_its_key_is_reached_later() {
    let mut m = heap();
    // The key hangs on the end of the list, so that the mark comes to the ephemeron first.
    let (last, _) = rooted(&mut m);
    m.truncate_roots(0);
    let root = m.push_root(Some(last));
    for _ in 0..500 {
        let (object, next) = (node(&mut m), m.root(root));
        set(&mut m, object, 0, next);
        m.set_root(root, Some(object));
    }
    let (key, _) = rooted(&mut m);
    set(&mut m, last, 8, Some(key));
    let (value, _) = rooted(&mut m);
    let ephemeron = m.new_ephemeron(key, Some(value)).expect("memory");
    m.truncate_roots(1);
    m.push_root(Some(ephemeron));
    take_snapshot(&mut m);
    for _ in 0..3 {
        m.step(UNITS.into());
    }
    // A new object holds the key from now on.
    let (new, _) = rooted(&mut m);
    set(&mut m, new, 0, Some(key));
    set(&mut m, last, 8, None);
    finish(&mut m);
    assert_eq!(m.ephemeron_value(ephemeron), Some(value));
    assert!(is_there(&mut m, value));
    set(&mut m, new, 0, None);
    take_snapshot(&mut m);
    finish(&mut m);
    assert_eq!(m.ephemeron_value(ephemeron), None);
    assert!(!is_there(&mut m, value));
    end(m);
}

#[test]
fn finalizers_run_when_the_mark_has_ended_and_what_they_need_is_there() {
    for between in [false, true] {
        FINALIZED.set(0);
        let mut m = heap();
        list(&mut m, 200);
        let_go_of_mortals(&mut m, 10);
        take_snapshot(&mut m);
        let mut steps = 0;
        while m.step(UNITS.into()) {
            steps += 1;
            // The first set may wait while another collection takes its snapshot.
            if between && steps == 4 {
                node(&mut m);
            }
        }
        (0..10).for_each(|_| m.poll());
        assert_eq!(FINALIZED.get(), 10, "{between}");
        end(m);
    }
}

#[test]
fn finalizer_that_runs_while_the_next_mark_does_finds_its_object_whole() {
    FINALIZED.set(0);
    let mut m = heap();
    list(&mut m, 200);
    let_go_of_mortals(&mut m, 200);
    // With slices in units some of a set run at each safepoint.
    take_snapshot(&mut m);
    while m.step(UNITS.into()) && FINALIZED.get() == 0 {}
    while m.step(UNITS.into()) {}
    m.flip();
    while m.step(1) {
        m.poll();
    }
    while FINALIZED.get() < 200 {
        m.poll();
    }
    end(m);
}

#[test]
fn explicit_collection_finds_what_became_garbage_after_the_snapshot() {
    for slices in [0, 1, 5, 20, 60, 61, 62] {
        let mut m = heap();
        let root = list(&mut m, 500);
        m.flip();
        for _ in 0..slices {
            m.step(UNITS.into());
        }
        let (keeps, _) = rooted(&mut m);
        m.set_root(root, None);
        m.collect();
        assert_eq!(m.live_objects(), [keeps], "{slices}");
        end(m);
    }
}

#[test]
fn parts_of_an_explicit_collection_end_when_what_was_garbage_at_the_first_is_gone() {
    let mut m = heap();
    let root = list(&mut m, 500);
    take_snapshot(&mut m);
    // Garbage now, but not at the snapshot of the collection that runs.
    m.set_root(root, None);
    let mut parts = 1;
    while !m.collect_for(0) {
        node(&mut m);
        parts += 1;
    }
    assert!(parts > 10, "{parts}");
    let left = m.live_objects();
    assert_eq!(left, []);
    end(m);
}

#[test]
fn no_part_does_much_more_than_its_units() {
    let mut m = heap();
    list(&mut m, 20_000);
    let array = m.allocate_array(type_of(&ARRAY), 4 * MANY).expect("memory");
    m.push_root(Some(array));
    m.epoch();
    m.heap().statistics.slice_units_max = 0;
    m.flip();
    let mut slices = 0;
    while m.step(1_000) {
        slices += 1;
    }
    let most = m.statistics().slice_units_max;
    assert!(slices > 50 && most < 1_400, "{slices} slices, {most} units");
}

#[test]
fn mark_without_memory_for_its_stack_becomes_one_that_stops_the_program() {
    let mut m = heap_with(HeapOptions { list_entries_max: Some(3), ..HeapOptions::default() });
    let array = m.allocate_array(type_of(&ARRAY), 200).expect("memory");
    m.push_root(Some(array));
    for index in 0..200 {
        let object = node(&mut m);
        m.write(array, array.slot(8 + index * 8), object.address());
    }
    take_snapshot(&mut m);
    finish(&mut m);
    assert_eq!(m.statistics().marks_aborted, 1);
    assert_eq!(m.live_objects().len(), 201);
    end(m);
}

#[test]
fn heap_that_allocates_collects_in_slices_by_itself_and_does_not_grow_without_bound() {
    let mut m = heap_with(HeapOptions { epoch_bytes: 256 << 10, ..HeapOptions::default() });
    m.heap().options_mut().slice_units = Some(2_000);
    let root = list(&mut m, 20_000);
    for _ in 0..40 {
        m.set_root(root, None);
        let kept = list(&mut m, 20_000);
        let kept = m.root(kept);
        m.set_root(root, kept);
        m.truncate_roots(1);
    }
    let statistics = m.statistics();
    assert!(statistics.slices > 100 && statistics.marks_aborted == 0, "{statistics:?}");
    let live = 20_000 * 32;
    assert!(m.heap().used_bytes() < 5 * live, "{} bytes of {live}", m.heap().used_bytes());
    end(m);
}

/// The roots of a test, and whether a module with plain stores has been loaded.
#[derive(Debug)]
struct Modules {
    roots: Rc<Cell<Option<ObjectRef>>>,
    plain: Rc<Cell<bool>>,
}

impl RootSource for Modules {
    fn begin(&mut self, heap: &mut Heap, _frames: usize, into: &mut RootList) -> Headway {
        self.roots.get().into_iter().for_each(|object| into.push(heap, object, &|| "the test's".to_owned()));
        Headway::Done
    }

    fn has_plain_writes(&self) -> bool {
        self.plain.get()
    }

    fn end(&self) -> u64 {
        0
    }
}

#[test]
fn module_with_plain_stores_that_is_loaded_while_the_mark_runs() {
    let (roots, plain) = (Rc::default(), Rc::default());
    let modules = Modules { roots: Rc::clone(&roots), plain: Rc::clone(&plain) };
    let options =
        HeapOptions { plan: Plan::Trace, pause_goal_ns: Some(1), slice_units: Some(UNITS), ..HeapOptions::default() };
    // SAFETY: [HELD] the test's root is the only one, and no other object is used after a safepoint.
    let mut heap = unsafe { new_heap(options, Box::new(modules)) }.expect("address space");
    let node = |heap: &mut Heap| heap.allocate_cell(type_of(&NODE).info(), 0).expect("memory");
    for _ in 0..1_000 {
        let object = node(&mut heap);
        object.slot(0).store(roots.get().map_or(0, ObjectRef::address));
        roots.set(Some(object));
    }
    heap.with_driver(|driver, heap| driver.flip(heap));
    while heap.mark_phase() != MarkPhase::Discovers {
        heap.with_driver(|driver, heap| driver.work(heap, 1));
    }
    let new = node(&mut heap);
    plain.set(true);
    // Its code takes the end of the list off, and stores it where the mark has been: no barrier tells.
    let first = roots.get().expect("a list");
    let second = target(first, 0).expect("a list");
    let rest = second.slot(0).read();
    second.slot(0).store(0);
    new.slot(8).store(rest);
    first.slot(8).store(new.address());
    heap.with_driver(|driver, heap| driver.work(heap, 1));
    assert_eq!((heap.mark_phase(), heap.statistics.marks_aborted), (MarkPhase::Off, 1));
    let mut live = 0;
    heap.for_each_known(|_, _| live += 1);
    assert_eq!(live, 1_001);
    heap.with_driver(|driver, heap| driver.verify(heap)).expect("a heap in order");
}

/// Zeal keeps it, with its length overwritten, while the next collection sets the bits of the barrier.
#[test]
fn large_array_that_has_died_under_zeal() {
    let mut m = heap_with(HeapOptions { zeal: true, ..HeapOptions::default() });
    let array = m.allocate_array(type_of(&ARRAY), MANY).expect("memory");
    m.push_root(Some(array));
    m.truncate_roots(0);
    m.collect();
    m.flip();
    finish(&mut m);
    end(m);
}
