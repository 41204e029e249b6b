//! Why is it alive? Shortest paths from roots, under all plans, in heaps that count and in one that marks. Nothing that
//! is asked changes what dies.

use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::{TraceVisit, TypeDescriptor};
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::reach::{self, Holder, Link, Root};
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{in_finalizer, new_mutator, nothing_is_left, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

fn for_all_heaps(situation: impl Fn(&mut Mutator)) {
    for plan in Plan::ALL {
        for (zeal, mark_ns) in [(false, 0), (false, u64::MAX), (true, 0)] {
            let mut m = new_mutator(HeapOptions { plan, zeal, mark_ns, ..HeapOptions::default() }).expect("room");
            situation(&mut m);
            m.verify().unwrap_or_else(|violation| panic!("{plan:?}, zeal {zeal}: {violation}"));
            nothing_is_left(&mut m);
        }
    }
}

/// A node in a root of its own.
fn node(m: &mut Mutator) -> (ObjectRef, RootIndex) {
    let node = m.allocate(type_of(&NODE)).expect("room");
    (node, m.push_root(Some(node)))
}

fn set(m: &mut Mutator, object: ObjectRef, offset: u64, target: ObjectRef) {
    m.write(object, object.slot(offset), target.address());
}

fn why(m: &mut Mutator, object: ObjectRef) -> Vec<Link> {
    m.heap().why_alive(&mut |_| (), object)
}

fn referrers(m: &mut Mutator, object: ObjectRef) -> Vec<Holder> {
    let mut found = vec![];
    m.heap().referrers_of(&mut |_| (), object, |holder| found.push(holder));
    found
}

fn by(holder: ObjectRef, offset: u64, held: ObjectRef) -> Link {
    Link { holder: Holder::Object(holder, Some(offset)), held }
}

fn by_root(held: ObjectRef) -> Link {
    Link { holder: Holder::Root(Root::Host), held }
}

#[test]
fn of_two_paths_the_shorter_is_told() {
    for_all_heaps(|m| {
        let (first, _) = node(m);
        let ([second, third, last], base) = ([(); 3].map(|()| node(m).0), m.root_count());
        set(m, first, 0, second);
        set(m, second, 0, third);
        set(m, third, 8, last);
        m.truncate_roots(base - 3);
        assert_eq!(why(m, last), [by_root(first), by(first, 0, second), by(second, 0, third), by(third, 8, last)]);
        let (near, _) = node(m);
        set(m, near, 8, last);
        assert_eq!(why(m, last), [by_root(near), by(near, 8, last)]);
        m.epoch();
        assert_eq!(why(m, last), [by_root(near), by(near, 8, last)], "mature");
        let holders = [Holder::Object(near, Some(8)), Holder::Object(third, Some(8))];
        assert_eq!(referrers(m, last), holders, "nearest first");
    });
}

#[test]
fn garbage_reaches_nothing_and_is_reached_by_nothing() {
    for_all_heaps(|m| {
        let (kept, _) = node(m);
        let (ring, root) = node(m);
        set(m, ring, 0, ring);
        set(m, ring, 8, kept);
        m.set_root(root, None);
        assert_eq!(why(m, ring), [], "it holds itself alone");
        assert_eq!(referrers(m, kept), [Holder::Root(Root::Host)]);
        assert_eq!(why(m, kept), [by_root(kept)]);
    });
}

/// In the midst of an epoch or of a sliced mark: the answer is right, and the epoch ends as if nothing had been asked.
#[test]
fn a_question_between_two_slices_changes_nothing() {
    for plan in Plan::ALL {
        let options = HeapOptions { plan, slice_units: Some(40), ..HeapOptions::default() };
        let freed = [false, true].map(|asks| {
            let mut m = new_mutator(options.clone()).expect("room");
            let (list, root) = node(&mut m);
            let mut last = list;
            for _ in 0..300 {
                let (next, place) = node(&mut m);
                set(&mut m, last, 0, next);
                set(&mut m, next, 8, last);
                m.set_root(place, None);
                last = next;
            }
            for turn in 0..40 {
                m.step(40);
                if asks {
                    assert_eq!(why(&mut m, last).len(), 301, "{plan:?}, turn {turn}");
                }
            }
            m.set_root(root, None);
            m.collect();
            let statistics = m.statistics();
            (statistics.freed_objects(), statistics.live_objects, statistics.marks, statistics.epochs)
        });
        assert_eq!(freed[0], freed[1], "{plan:?}");
        assert_eq!(freed[0].0, 301, "{plan:?}");
    }
}

#[test]
fn a_list_of_half_a_million_is_followed_without_recursion() {
    for plan in Plan::ALL {
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("room");
        let (first, root) = node(&mut m);
        for _ in 1..500_000 {
            let next = m.allocate(type_of(&NODE)).expect("room");
            let list = m.root(root).expect("set");
            set(&mut m, next, 0, list);
            m.set_root(root, Some(next));
        }
        let path = why(&mut m, first);
        assert_eq!((path.len(), path[499_999].held), (500_000, first), "{plan:?}");
        let text = reach::text(&path);
        assert!(text.lines().count() == 26 && text.contains("… 499976 more …"), "{text}");
    }
}

#[test]
fn a_value_is_held_by_its_ephemeron_while_a_root_reaches_the_key() {
    for_all_heaps(|m| {
        let (value, value_root) = node(m);
        let (key, key_root) = node(m);
        let ephemeron = m.new_ephemeron(key, Some(value)).expect("room");
        m.push_root(Some(ephemeron));
        m.set_root(value_root, None);
        assert_eq!(why(m, value), [by_root(ephemeron), by(ephemeron, 0, value)]);
        // The key is reached later than the ephemeron.
        let (holder, _) = node(m);
        set(m, holder, 0, key);
        m.set_root(key_root, None);
        assert_eq!(why(m, value), [by_root(ephemeron), by(ephemeron, 0, value)]);
        m.write(holder, holder.slot(0), 0);
        assert_eq!(why(m, value), [], "the key is not reached");
        assert_eq!(referrers(m, key), [], "nor held by its ephemeron");
    });
}

#[test]
fn a_weak_reference_holds_nothing() {
    for_all_heaps(|m| {
        let (target, root) = node(m);
        let weak = m.new_weak(target).expect("room");
        m.push_root(Some(weak));
        assert_eq!(referrers(m, target), [Holder::Root(Root::Host)]);
        m.set_root(root, None);
        assert_eq!(why(m, target), []);
    });
}

#[test]
fn each_kind_of_root_is_told() {
    for_all_heaps(|m| {
        let (object, root) = node(m);
        let heap = m.heap();
        heap.make_immortal(object);
        let scope = heap.open_handles();
        // SAFETY: [ROOT] an object of this heap.
        let global = unsafe { heap.new_global(object.address()) };
        // SAFETY: [ROOT] the same.
        unsafe { heap.new_handle(object.address()) };
        let roots = [Root::Handle, Root::GlobalHandle, Root::Host, Root::Immortal].map(Holder::Root);
        assert_eq!(referrers(m, object), roots);
        m.set_root(root, None);
        let heap = m.heap();
        heap.close_handles(scope);
        assert_eq!(referrers(m, object), [Root::GlobalHandle, Root::Immortal].map(Holder::Root));
        // SAFETY: [HELD] a handle of this heap, freed once.
        unsafe { m.heap().free_global(global) };
        assert_eq!(why(m, object), [Link { holder: Holder::Root(Root::Immortal), held: object }]);
        m.heap().unfreeze();
        // Under the deferred plan it is mortal at the next flip.
        m.epoch();
    });
}

#[test]
fn an_element_is_named_by_its_place() {
    for_all_heaps(|m| {
        let array = m.allocate_array(type_of(&ARRAY), 2000).expect("room");
        m.push_root(Some(array));
        let (object, root) = node(m);
        set(m, array, 8 + 1500 * 8, object);
        m.set_root(root, None);
        assert_eq!(why(m, object), [by_root(array), by(array, 8 + 1500 * 8, object)]);
        assert!(why(m, object)[1].holder.to_string().ends_with(", element 1500"));
    });
}

unsafe extern "C" fn trace(words: *const u64, _: u64, visit: TraceVisit, context: *mut c_void) {
    // SAFETY: an image of the type's one word.
    let word = unsafe { *words };
    // SAFETY: as the contract of trace functions says.
    unsafe { visit((word & !1) as *mut c_void, context) };
}

// SAFETY: `trace` reads only the words that it is given, and reports references.
static TRACED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Traced", 8, &[]).traced(trace) };

#[test]
fn a_reference_that_a_trace_function_finds_has_no_field() {
    for_all_heaps(|m| {
        let holder = m.allocate(type_of(&TRACED)).expect("room");
        m.push_root(Some(holder));
        let (object, root) = node(m);
        m.write(holder, holder.slot(0), object.address() | 1);
        m.set_root(root, None);
        let path = why(m, object);
        assert_eq!(path, [by_root(holder), Link { holder: Holder::Object(holder, None), held: object }]);
        assert!(reach::text(&path).contains("by its trace function"));
    });
}

unsafe extern "C-unwind" fn finalize(object: *mut c_void) {
    // SAFETY: [HEADER] a finalizer gets an object.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    let path = in_finalizer(|m| why(m, object)).expect("a finalizer runs");
    assert_eq!(path, [Link { holder: Holder::Root(Root::Finalizer), held: object }]);
}

// SAFETY: it takes any object.
static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 8, &[]).finalized(finalize) };

#[test]
fn a_finalizer_that_runs_holds_its_object() {
    for_all_heaps(|m| {
        let object = m.allocate(type_of(&FILE)).expect("room");
        let root = m.push_root(Some(object));
        assert_eq!(why(m, object), [by_root(object)]);
        m.set_root(root, None);
        m.collect();
    });
}
