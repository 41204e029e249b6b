//! Finalizers: once, in order, and whatever they do.

use crate::prompt::{NODE, live, mutator, node, nodes, set, type_of};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::heap::HeapEntry;
use tally_heap::{Heap, HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;

/// What the finalizer of `File` does besides noting the number.
type Action = fn(&mut Heap, ObjectRef);

thread_local! {
    static HEAP: Cell<*mut Heap> = const { Cell::new(std::ptr::null_mut()) };
    static SEEN: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
    static ACTION: Cell<Option<Action>> = const { Cell::new(None) };
}

/// Two references and a number that says which it is.
// SAFETY: `close` takes any object of the type.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 24, &[0, 8]).finalized(close) };
// SAFETY: `close_all` takes any object of the type.
static FILES: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Files", 16, &[]).with_tail(0, 8, &[0]).finalized(close_all) };

unsafe extern "C-unwind" fn close(object: *mut c_void) {
    // SAFETY: [HEADER] the heap calls with an object of the type.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    // SAFETY: [ALONE] the heap calls, and is not borrowed meanwhile.
    let heap = unsafe { &mut *HEAP.get() };
    assert!(object.exact_count() > 0);
    SEEN.with_borrow_mut(|seen| seen.push(object.slot(16).read()));
    if let Some(action) = ACTION.get() {
        action(heap, object);
    }
}

unsafe extern "C-unwind" fn close_all(object: *mut c_void) {
    // SAFETY: the heap calls with an object of the type, and is not borrowed meanwhile.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    SEEN.with_borrow_mut(|seen| seen.push(object.slot(8).read()));
}

fn mutator_with(action: Option<Action>) -> Mutator {
    let mut m = mutator();
    HEAP.set(m.heap());
    ACTION.set(action);
    SEEN.take();
    m
}

fn file(m: &mut Mutator, number: u64) -> ObjectRef {
    let object = m.allocate(type_of(&FILE)).expect("room");
    object.slot(16).store(number);
    object
}

fn seen() -> Vec<u64> {
    SEEN.take()
}

/// scenario 54.
#[test]
fn a_finalizer_runs_once_at_the_safepoint_after_the_last_reference() {
    let mut m = mutator_with(None);
    let object = file(&mut m, 7);
    let root = m.push_root(Some(object));
    m.poll();
    assert_eq!(seen(), []);
    m.set_root(root, None);
    assert_eq!(seen(), []);
    m.poll();
    assert_eq!((seen(), live(&m)), (vec![7], 0));
}

/// scenarios 54, 81.
#[test]
fn destruction_is_preorder_with_fields_by_offset_and_a_fields_structure_before_the_next_field() {
    let mut m = mutator_with(None);
    // 1 → (2 → (3, 4), 5), and 4 is also 1's neighbour's; 6 is shared by 2's child 3 and by 5.
    let objects: Vec<ObjectRef> = (0..8).map(|number| file(&mut m, number)).collect();
    m.push_root(Some(objects[1]));
    for (from, offset, to) in [(1, 0, 2), (1, 8, 5), (2, 0, 3), (2, 8, 4), (3, 8, 6), (5, 0, 6), (5, 8, 7)] {
        set(&mut m, objects[from], offset, Some(objects[to]));
    }
    m.poll();
    assert_eq!(seen(), [0], "nothing held it");
    m.truncate_roots(0);
    m.poll();
    assert_eq!(seen(), [1, 2, 3, 4, 5, 6, 7], "6 dies with its last holder");
    assert_eq!(live(&m), 0);
}

/// scenario 54.
#[test]
fn roots_die_in_the_order_in_which_they_were_released() {
    let mut m = mutator_with(None);
    for number in 0..5 {
        let object = file(&mut m, number);
        m.push_root(Some(object));
    }
    m.poll();
    m.truncate_roots(0);
    m.poll();
    assert_eq!(seen(), [4, 3, 2, 1, 0], "the last first");
}

/// scenario 148.
#[test]
fn an_arrays_finalizer_runs_before_its_elements_are_released_by_index() {
    for length in [3, 5000] {
        let mut m = mutator_with(None);
        let array = m.allocate_array(type_of(&FILES), length).expect("room");
        array.slot(8).store(1_000_000);
        m.push_root(Some(array));
        for index in 0..length {
            let element = file(&mut m, index);
            set(&mut m, array, 16 + index * 8, Some(element));
        }
        m.truncate_roots(0);
        m.poll();
        let expected: Vec<u64> = std::iter::once(1_000_000).chain(0..length).collect();
        assert_eq!((seen(), live(&m)), (expected, 0));
    }
}

fn resurrect(heap: &mut Heap, object: ObjectRef) {
    object.increment_exact();
    heap.services.host_roots.stack.push(Some(object));
}

/// scenarios 56, 82.
#[test]
fn an_object_that_its_finalizer_stores_lives_on_and_is_not_finalized_again() {
    let mut m = mutator_with(Some(resurrect));
    let (object, held) = (file(&mut m, 1), node(&mut m));
    set(&mut m, object, 0, Some(held));
    m.poll();
    assert_eq!((seen(), live(&m), m.count_of(object)), (vec![1], 2, 1));
    m.verify().expect("sound");
    m.truncate_roots(0);
    m.poll();
    assert_eq!((seen(), live(&m)), (vec![], 0));
}

fn write_into(heap: &mut Heap, object: ObjectRef) {
    let fresh = heap.allocate(type_of(&NODE)).expect("room");
    heap.write(object, object.slot(8), fresh.address());
}

/// scenario 61.
#[test]
fn what_a_finalizer_allocates_and_writes_into_the_dying_object_dies_with_it() {
    let mut m = mutator_with(Some(write_into));
    let (object, old) = (file(&mut m, 1), node(&mut m));
    set(&mut m, object, 8, Some(old));
    m.push_root(Some(old));
    m.poll();
    assert_eq!((seen(), live(&m), m.count_of(old)), (vec![1], 1, 1));
    m.verify().expect("sound");
}

fn drop_another(heap: &mut Heap, object: ObjectRef) {
    let number = object.slot(16).read();
    if number >= 1000 {
        return;
    }
    let fresh = heap.allocate(type_of(&FILE)).expect("room");
    fresh.slot(16).store(number + 1000);
    let heap = &raw mut *heap;
    // SAFETY: the finalizer's own safepoint.
    Heap::poll(unsafe { HeapEntry::of(heap) });
    SEEN.with_borrow_mut(|seen| seen.push(number + 2000));
}

#[test]
fn a_drain_inside_a_finalizer_takes_what_became_pending_since_it_began_and_no_more() {
    let mut m = mutator_with(Some(drop_another));
    let (one, two) = (file(&mut m, 1), file(&mut m, 2));
    let roots = [m.push_root(Some(one)), m.push_root(Some(two))];
    for root in roots {
        m.set_root(root, None);
    }
    m.poll();
    assert_eq!(seen(), [1, 1001, 2001, 2, 1002, 2002]);
    assert_eq!(live(&m), 0);
}

fn drop_deeper(heap: &mut Heap, object: ObjectRef) {
    let number = object.slot(16).read();
    if number == 100 {
        return;
    }
    let fresh = heap.allocate(type_of(&FILE)).expect("room");
    fresh.slot(16).store(number + 1);
    let depth = heap.services.finalizers.depth();
    assert!(depth <= 34, "{depth} finalizers deep");
    // SAFETY: the finalizer's own safepoint.
    Heap::poll(unsafe { HeapEntry::of(heap) });
}

/// scenario 61.
#[test]
fn finalizers_that_drop_finalizable_objects_do_not_nest_without_end() {
    let mut m = mutator_with(Some(drop_deeper));
    file(&mut m, 0);
    while live(&m) != 0 {
        m.poll();
    }
    assert_eq!(seen(), (0..=100).collect::<Vec<_>>(), "each once, in order");
}

fn collect_inside(heap: &mut Heap, _: ObjectRef) {
    // SAFETY: the finalizer's own safepoint.
    assert_eq!(Heap::collect(unsafe { HeapEntry::of(heap) }), 0, "put off");
}

/// scenario 63.
#[test]
fn a_collection_asked_for_inside_a_finalizer_comes_when_the_drain_has_ended() {
    let mut m = mutator_with(Some(collect_inside));
    let [one, two] = nodes(&mut m);
    set(&mut m, one, 0, Some(two));
    set(&mut m, two, 0, Some(one));
    m.poll();
    let (object, held) = (file(&mut m, 1), node(&mut m));
    set(&mut m, object, 8, Some(held));
    m.poll();
    assert_eq!((seen(), live(&m)), (vec![1], 0), "the ring is gone, too");
    assert_eq!(m.statistics().marks, 1);
}

/// scenarios 53, 55, 72.
#[test]
fn finalizers_of_a_dead_cycle_all_run_before_any_member_is_freed_and_only_once() {
    for by_mark in [false, true] {
        let mut m = mutator_with(Some(|_, object| {
            // SAFETY: a member of the same ring, which is all there.
            let next = unsafe { ObjectRef::from_address(object.slot(0).read()) };
            assert!(next.exact_count() > 0);
            SEEN.with_borrow_mut(|seen| seen.push(100 + next.slot(16).read()));
        }));
        let objects: Vec<ObjectRef> = (0..4).map(|number| file(&mut m, number)).collect();
        for (place, &object) in objects.iter().enumerate() {
            m.push_root(Some(object));
            set(&mut m, object, 0, Some(objects[(place + 1) % 4]));
        }
        m.truncate_roots(0);
        m.poll();
        if by_mark {
            assert_eq!(m.collect(), 4);
        } else {
            m.epoch();
            assert_eq!(live(&m), 4, "judged again first");
            m.epoch();
        }
        assert_eq!(live(&m), 0);
        let mut all = seen();
        all.sort();
        assert_eq!(all, [0, 1, 2, 3, 100, 101, 102, 103]);
    }
}

/// scenario 57.
#[test]
fn a_member_of_a_dead_cycle_that_its_finalizer_stores_keeps_what_it_reaches() {
    let mut m = mutator_with(Some(|heap, object| {
        if object.slot(16).read() == 2 {
            resurrect(heap, object);
        }
    }));
    let objects: Vec<ObjectRef> = (0..4).map(|number| file(&mut m, number)).collect();
    for (place, &object) in objects.iter().enumerate() {
        m.push_root(Some(object));
        set(&mut m, object, 0, Some(objects[(place + 1) % 4]));
    }
    m.truncate_roots(0);
    m.collect();
    assert_eq!(live(&m), 4);
    m.verify().expect("sound");
    ACTION.set(None);
    seen();
    m.truncate_roots(0);
    m.collect();
    assert_eq!((seen(), live(&m)), (vec![], 0));
}

/// scenario 145: the collection happens in the middle of an allocation; what the finalizers leave of the list of cells is used.
#[test]
fn finalizers_that_allocate_at_the_heap_limit_lose_no_cells() {
    let mut m = new_mutator(HeapOptions { heap_limit: Some(256 << 10), trials: false, ..crate::prompt::options() })
        .expect("room");
    HEAP.set(m.heap());
    SEEN.take();
    ACTION.set(Some(|heap, object| {
        if object.slot(16).read() % 3 == 0 {
            heap.allocate(type_of(&NODE)).expect("room");
        }
    }));
    for number in 0..50_000 {
        let base = m.root_count();
        let object = file(&mut m, number);
        m.push_root(Some(object));
        let other = node(&mut m);
        set(&mut m, object, 0, Some(other));
        set(&mut m, other, 0, Some(object));
        m.truncate_roots(base);
        // Garbage that the mark frees before the finalizers run, so that they find room.
        let [one, two] = nodes(&mut m);
        set(&mut m, one, 0, Some(two));
        set(&mut m, two, 0, Some(one));
        m.poll();
    }
    ACTION.set(None);
    m.verify().expect("sound");
    m.collect();
    assert_eq!((live(&m), seen().len()), (0, 50_000));
}

#[test]
fn with_a_pause_goal_finalizers_run_in_the_same_order() {
    let options = HeapOptions { pause_goal_ns: Some(1), slice_units: Some(7), ..crate::prompt::options() };
    let mut m = new_mutator(options).expect("address space");
    HEAP.set(m.heap());
    ACTION.set(None);
    SEEN.take();
    let root = m.push_root(None);
    for number in (0..100).rev() {
        let (object, rest) = (file(&mut m, number), m.root(root));
        set(&mut m, object, 8, rest);
        m.set_root(root, Some(object));
    }
    m.set_root(root, None);
    while live(&m) != 0 {
        m.poll();
    }
    assert_eq!(seen(), (0..100).collect::<Vec<_>>());
}

fn fail(_: &mut Heap, object: ObjectRef) {
    let number = object.slot(16).read();
    assert!(number.is_multiple_of(2), "number {number} is odd");
}

/// scenario 64, scenario 65: the error is told, the rest of the garbage still dies, and the collector works on as before.
#[test]
fn a_finalizer_that_panics_is_told_to_the_hook_and_the_others_go_on() {
    for cyclic in [false, true] {
        let mut m = mutator_with(Some(fail));
        let told: std::rc::Rc<RefCell<Vec<String>>> = Default::default();
        let listener = told.clone();
        m.heap().services.finalizers.on_error = Some(Box::new(move |error| {
            listener.borrow_mut().push(format!(
                "{} {}: {}",
                error.type_name,
                error.object.slot(16).read(),
                error.message
            ));
        }));
        for round in 0..3 {
            let objects: Vec<ObjectRef> = (0..4).map(|number| file(&mut m, number)).collect();
            for (place, &object) in objects.iter().enumerate() {
                m.push_root(Some(object));
                let next = if cyclic { Some(objects[(place + 1) % 4]) } else { None };
                set(&mut m, object, 0, next);
            }
            m.truncate_roots(0);
            m.collect();
            assert_eq!((seen().len(), live(&m)), (4, 0), "round {round}");
            assert_eq!(m.heap().services.finalizers.depth(), 0);
            let mut told = told.take();
            told.sort();
            assert_eq!(told, ["File 1: panicked: number 1 is odd", "File 3: panicked: number 3 is odd"]);
            m.verify().expect("sound");
        }
    }
}

#[test]
fn a_hook_for_errors_that_panics_itself_stops_nobody() {
    let mut m = mutator_with(Some(fail));
    m.heap().services.finalizers.on_error = Some(Box::new(|_| panic!("me too")));
    for number in 0..4 {
        file(&mut m, number);
    }
    m.collect();
    assert_eq!((seen().len(), live(&m)), (4, 0));
    m.verify().expect("sound");
}

/// A structure whose leaves are finalized, and its leaves in the order of the recursion: mostly deep in its first field, where
/// each level leaves something behind; some levels are arrays, small and large.
fn deep_structure(m: &mut Mutator, levels: u64, random: &mut u64) -> Vec<u64> {
    let (root, mut left, mut order) = (m.push_root(None), 0, Vec::new());
    for level in 0..levels {
        *random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (choice, mut mine) = (*random >> 33 & 31, Vec::new());
        let length = if choice == 1 { 2100 } else { 2 + choice % 3 * 40 };
        let inner_at = if choice.is_multiple_of(4) { length - 1 } else { choice % 2 };
        let outer = match choice {
            0 => file(m, left),
            1..6 => m.allocate_array(type_of(&FILES), length).expect("room"),
            _ => node(m),
        };
        let (fields, own) = match choice {
            0 => (0, true),
            1..6 => (16, true),
            _ => (0, false),
        };
        let count = if (1..6).contains(&choice) { length } else { 2 };
        let base = m.push_root(Some(outer));
        if own {
            outer.slot(if choice == 0 { 16 } else { 8 }).store(left);
            mine.push(left);
            left += 1;
        }
        let inner_at = inner_at.min(count - 1);
        let inner_order = std::mem::take(&mut order);
        let mut after = Vec::new();
        for index in 0..count {
            if index == inner_at {
                let inner = m.root(root);
                set(m, outer, fields + index * 8, inner);
            } else if level == 0 || !(*random >> 20).wrapping_add(index).is_multiple_of(3) {
                let leaf = file(m, left);
                set(m, outer, fields + index * 8, Some(leaf));
                if index < inner_at { &mut mine } else { &mut after }.push(left);
                left += 1;
            }
        }
        order = [mine, inner_order, after].concat();
        m.set_root(root, Some(outer));
        m.set_root(base, None);
        m.truncate_roots(1);
    }
    order
}

/// Slices of any length, and recounts between them, find what waits on the stack, in dead objects, and in large ones.
#[test]
fn structures_deeper_than_the_stack_of_references_die_in_the_order_of_the_recursion() {
    for (seed, units) in [(1, None), (2, None), (3, Some(1)), (4, Some(7)), (5, Some(64)), (6, Some(1000))] {
        let options = HeapOptions { pause_goal_ns: units.map(|_| 1), slice_units: units, ..crate::prompt::options() };
        let mut m = new_mutator(options).expect("address space");
        HEAP.set(m.heap());
        ACTION.set(None);
        let mut random = seed;
        let expected = deep_structure(&mut m, 400, &mut random);
        while !m.heap().prompt.cascades.is_empty() || m.heap().context_mut().pending != 0 {
            m.poll();
        }
        assert_eq!(SEEN.take(), [], "seed {seed}: all are held");
        m.verify().expect("sound before");
        m.truncate_roots(0);
        let mut polls = 0;
        while live(&m) != 0 {
            m.poll();
            polls += 1;
            if polls % 257 == 1 {
                m.verify().unwrap_or_else(|violation| panic!("seed {seed}, slice {polls}: {violation}"));
            }
        }
        let died = seen();
        let first = died.iter().zip(&expected).position(|(died, expected)| died != expected);
        assert_eq!(
            (first, died.len()),
            (None, expected.len()),
            "seed {seed}: the first that differs, and how many died"
        );
    }
}

/// The array is half taken apart by then: what it has yet to let go of stands where its length did.
#[test]
fn zeal_looks_at_the_heap_in_a_finalizer_of_what_a_long_array_held() {
    static SHELF: TypeDescriptor = TypeDescriptor::plain(c"Shelf", 8, &[]).with_tail(0, 8, &[0]);
    let options = HeapOptions { plan: tally_heap::plan::Plan::Prompt, zeal: true, ..HeapOptions::default() };
    let mut m = new_mutator(options).expect("address space");
    HEAP.set(m.heap());
    // SAFETY: as any safepoint of a finalizer.
    ACTION.set(Some(|heap, _| Heap::prompt_safepoint(unsafe { HeapEntry::of(heap) }, &[])));
    SEEN.take();
    let shelf = m.allocate_array(type_of(&SHELF), 100).expect("room");
    m.push_root(Some(shelf));
    for number in 0..100 {
        let object = file(&mut m, number);
        m.write(shelf, shelf.slot(8 + number * 8), object.address());
    }
    m.truncate_roots(0);
    m.poll();
    assert_eq!(seen(), (0..100).collect::<Vec<_>>());
    m.verify().expect("a sound heap");
}
