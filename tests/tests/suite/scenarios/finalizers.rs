//! What finalizers do to what is being counted: the number of dead, roots, the objects and arrays around theirs.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{ObjectRef, type_registry};
pub use tally_kit::nodes::set;
use tally_kit::nodes::{in_finalizer, new_mutator};
use tally_tests::setup::both_plans;

/// What the finalizer does besides noting the object's number.
pub(in crate::scenarios) type Action = fn(&mut Mutator, ObjectRef);

thread_local! {
    static SEEN: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
    static ACTION: Cell<Option<Action>> = const { Cell::new(None) };
}

unsafe extern "C-unwind" fn close(object: *mut c_void) {
    // SAFETY: the heap calls with an object of a type that has this finalizer.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    SEEN.with_borrow_mut(|seen| seen.push(object.slot(16).read()));
    if let Some(action) = ACTION.get() {
        in_finalizer(|m| action(m, object)).expect("inside a finalizer");
    }
}

/// Two references and a number.
// SAFETY: `close` takes any object of the type.
pub(in crate::scenarios) static FILE: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"File", 24, &[0, 8]).finalized(close) };
pub(in crate::scenarios) static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
/// A reference, another, the length, and that many references.
// SAFETY: `close` takes any object of the type.
static FILES: TypeDescriptor =
    unsafe { TypeDescriptor::plain(c"Files", 24, &[0, 8]).with_tail(16, 8, &[0]).finalized(close) };

/// A new object, rooted.
pub(in crate::scenarios) fn new(m: &mut Mutator, descriptor: &'static TypeDescriptor, number: u64) -> ObjectRef {
    let object = m.allocate(type_registry::register(descriptor).expect("sound")).expect("room");
    object.slot(16).store(number);
    m.push_root(Some(object));
    object
}

/// Rooted, by field 0, with the numbers from `first` on.
pub(in crate::scenarios) fn ring(
    m: &mut Mutator,
    descriptor: &'static TypeDescriptor,
    first: u64,
    length: u64,
) -> Vec<ObjectRef> {
    let objects: Vec<ObjectRef> = (first..first + length).map(|number| new(m, descriptor, number)).collect();
    for (place, &object) in objects.iter().enumerate() {
        set(m, object, 0, Some(objects[(place + 1) % objects.len()]));
    }
    objects
}

pub(in crate::scenarios) fn seen_sorted() -> Vec<u64> {
    let mut seen = SEEN.take();
    seen.sort_unstable();
    seen
}

pub(in crate::scenarios) fn live(m: &mut Mutator) -> u64 {
    m.verify().expect("sound");
    m.statistics().live_objects
}

/// On heaps of both plans, with what dies young and with what dies old.
pub(in crate::scenarios) fn each(action: Option<Action>, test: impl Fn(&mut Mutator, bool)) {
    for options in both_plans() {
        for old in [false, true] {
            println!("{:?}, old: {old}", options.plan);
            SEEN.take();
            ACTION.set(action);
            let mut m = new_mutator(options.clone()).expect("address space");
            test(&mut m, old);
            ACTION.set(None);
            m.truncate_roots(0);
            m.collect();
            assert_eq!(live(&mut m), 0);
        }
    }
}

/// The objects grow old, or not, and are let go of.
fn drop_all(m: &mut Mutator, old: bool) {
    if old {
        m.epoch();
    }
    m.truncate_roots(0);
}

/// scenario 34: of two dead rings one comes back to life: the other's members are what was collected.
#[test]
fn number_of_the_collected_leaves_out_what_came_back() {
    let action: Action = |m, object| {
        if object.slot(16).read() == 11 {
            m.push_root(Some(object));
        }
    };
    each(Some(action), |m, old| {
        ring(m, &NODE, 0, 4);
        let revived = ring(m, &FILE, 10, 3);
        let held = new(m, &NODE, 20);
        set(m, revived[0], 8, Some(held));
        drop_all(m, old);
        let before = m.statistics().freed_objects();
        let said = m.collect();
        assert_eq!(m.statistics().freed_objects() - before, 4);
        assert!(said == 4 || !old, "{said} said, 4 died");
        assert_eq!((seen_sorted(), live(m)), (vec![10, 11, 12], 4));
        m.truncate_roots(0);
        assert_eq!(m.collect(), 4);
        assert!(seen_sorted().is_empty(), "no object is finalized twice");
    });
}

/// scenario 35: finalizers make a collection judge again and again; its number counts every object that died in it, once.
#[test]
fn number_of_the_collected_adds_up_over_all_that_finalizers_made_it_judge() {
    let action: Action = |m, object| {
        let base = m.root_count();
        if object.slot(16).read() < 5 {
            ring(m, &NODE, 100, 2);
        }
        m.truncate_roots(base);
    };
    each(Some(action), |m, old| {
        let members = ring(m, &FILE, 0, 5);
        let tail = ring(m, &NODE, 50, 3);
        set(m, members[2], 8, Some(tail[0]));
        m.epoch();
        drop_all(m, old);
        let mut said = m.collect();
        assert!(said >= 8, "{said}: the ring and what hung on it");
        for _ in 0..3 {
            said += m.collect();
        }
        assert_eq!((seen_sorted(), said, live(m)), (vec![0, 1, 2, 3, 4], 18, 0));
    });
}

/// scenario 71: an object's class is an object too, and dies with it: it is all there when the finalizer asks it something.
#[test]
fn class_of_a_finalizers_object_outlives_the_call() {
    let action: Action = |m, object| {
        // SAFETY: [HEADER] a field of an object that is being finalized.
        let class = unsafe { ObjectRef::from_address(object.slot(8).read()) };
        assert_eq!(class.slot(16).read(), 77);
        // The class is used for a new instance, which dies at once.
        let base = m.root_count();
        let instance = new(m, &NODE, 0);
        set(m, instance, 8, Some(class));
        m.truncate_roots(base);
        m.poll();
        assert_eq!(class.slot(16).read(), 77);
    };
    each(Some(action), |m, old| {
        let members = ring(m, &FILE, 0, 4);
        let class = new(m, &NODE, 77);
        set(m, class, 0, Some(members[0]));
        members.iter().for_each(|&member| set(m, member, 8, Some(class)));
        let alone = new(m, &FILE, 9);
        set(m, alone, 8, Some(class));
        drop_all(m, old);
        m.collect();
        m.collect();
        assert_eq!((seen_sorted(), live(m)), (vec![0, 1, 2, 3, 9], 0));
    });
}

/// scenario 76: finalizers push and overwrite roots, and take out of the table that holds the rest what has not died yet.
#[test]
fn finalizers_change_the_roots_and_the_table_that_led_to_the_dead() {
    let action: Action = |m, object| {
        let (table, number) = (m.root(RootIndex(0)).expect("the table"), object.slot(16).read());
        set(m, table, 24 + (number * 7 % 200) * 8, None);
        let fresh = new(m, &NODE, 1000 + number);
        set(m, table, 24 + (number * 3 % 200) * 8, Some(fresh));
        let root = RootIndex(m.root_count() - 1);
        m.set_root(root, Some(table));
        if number % 5 == 0 {
            m.truncate_roots(1);
        }
    };
    each(Some(action), |m, old| {
        let files = type_registry::register(&FILES).expect("sound");
        let table = m.allocate_array(files, 200).expect("room");
        m.push_root(Some(table));
        for index in 0..200 {
            let members = ring(m, &FILE, index * 2, 2);
            set(m, table, 24 + index * 8, Some(members[0]));
            m.truncate_roots(1);
        }
        if old {
            m.epoch();
        }
        for index in 0..20 {
            set(m, table, 24 + index * 8, None);
        }
        for _ in 0..20 {
            m.collect();
        }
        let seen = seen_sorted();
        assert!(seen.len() >= 40 && seen.windows(2).all(|pair| pair[0] != pair[1]), "each once: {seen:?}");
        assert!(live(m) <= 1 + 2 * 200);
    });
}

/// scenario 82: a finalizer that wants its object kept has its way once; asked for anew, once more.
#[test]
fn reclamation_is_vetoed_once() {
    let action: Action = |m, object| {
        m.push_root(Some(object));
    };
    each(Some(action), |m, old| {
        ring(m, &FILE, 0, 2);
        drop_all(m, old);
        m.collect();
        assert_eq!((seen_sorted(), live(m)), (vec![0, 1], 2));
        let kept = m.root(RootIndex(0)).expect("stored");
        assert!(m.register_finalizer(kept));
        m.truncate_roots(0);
        m.collect();
        assert_eq!((SEEN.take(), live(m)), (vec![kept.slot(16).read()], 2), "it holds the other");
        m.truncate_roots(0);
        m.collect();
        assert_eq!((SEEN.take(), live(m)), (vec![], 0));
    });
}

/// scenario 148: an array whose elements are finalized, some of them with an error in the middle of it.
#[test]
fn errors_in_the_middle_of_an_arrays_elements() {
    let action: Action = |_, object| {
        let number = object.slot(16).read();
        assert!(number % 500 != 499, "element {number}");
    };
    each(Some(action), |m, old| {
        let told = std::rc::Rc::new(Cell::new(0));
        let counter = told.clone();
        m.on_finalizer_error(move |_| counter.set(counter.get() + 1));
        for length in [3, 2000] {
            let files = type_registry::register(&FILES).expect("sound");
            let array = m.allocate_array(files, length).expect("room");
            m.push_root(Some(array));
            for index in 0..length {
                let element = new(m, &FILE, index);
                set(m, array, 24 + index * 8, Some(element));
                m.truncate_roots(1);
            }
            drop_all(m, old);
            m.collect();
            m.collect();
            let mut expected: Vec<u64> = (0..length).chain([length]).collect();
            expected.sort_unstable();
            assert_eq!((seen_sorted(), live(m)), (expected, 0), "the array is finalized as number {length}");
        }
        assert_eq!(told.get(), 4);
    });
}
