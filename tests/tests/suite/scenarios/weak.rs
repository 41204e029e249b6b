//! Weak references at the moments when something else happens to their objects: construction, finalizers, collections, depth.

use crate::scenarios::finalizers::{Action, FILE, NODE, each, live, new, ring, seen_sorted, set};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef, type_registry};
use tally_kit::nodes::{in_finalizer, new_mutator};
use tally_tests::setup::both_plans;

/// The length, and that many references.
static TABLE: TypeDescriptor = TypeDescriptor::plain(c"Table", 8, &[]).with_tail(0, 8, &[0]);

thread_local! {
    /// Weak references that a finalizer or callback looks at; roots hold them.
    static WATCHED: RefCell<Vec<ObjectRef>> = const { RefCell::new(vec![]) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// A weak reference in a root of its own.
fn weak(m: &mut Mutator, target: ObjectRef) -> ObjectRef {
    let weak = m.new_weak(target).expect("room");
    m.push_root(Some(weak));
    weak
}

fn upgraded(m: &mut Mutator, weak: ObjectRef) -> Option<ObjectRef> {
    m.read_weak(weak.slot(0))
}

/// The object that a field holds.
fn field(object: ObjectRef, offset: u64) -> ObjectRef {
    // SAFETY: [HEADER] a reference in a field of a live object.
    unsafe { ObjectRef::from_address(object.slot(offset).read()) }
}

/// The targets are let go of; the weak references stay in their roots.
fn drop_all_but_weak(m: &mut Mutator, old: bool, targets: usize) {
    if old {
        m.epoch();
    }
    (0..targets).for_each(|root| m.set_root(RootIndex(root), None));
}

/// scenario 85: the first finalizer of a dead ring finds every weak reference to every member cleared.
#[test]
fn weak_references_to_all_garbage_are_cleared_before_the_first_finalizer() {
    let action: Action = |m, _| {
        let watched = WATCHED.with_borrow(Clone::clone);
        assert!(watched.len() == 4 && watched.into_iter().all(|weak| upgraded(m, weak).is_none()));
        CALLS.set(CALLS.get() + 1);
    };
    each(Some(action), |m, old| {
        CALLS.set(0);
        let members = ring(m, &FILE, 0, 3);
        let hung_on = new(m, &NODE, 9);
        set(m, members[1], 8, Some(hung_on));
        let watched: Vec<ObjectRef> = members.iter().chain([&hung_on]).map(|&target| weak(m, target)).collect();
        WATCHED.set(watched);
        drop_all_but_weak(m, old, 4);
        m.collect();
        assert_eq!((seen_sorted(), CALLS.get(), live(m)), (vec![0, 1, 2], 3, 4));
    });
}

/// scenario 88: an object that asks for itself in its finalizer gets nothing; for what lives it gets that.
#[test]
fn upgrade_in_a_finalizer() {
    let action: Action = |m, object| {
        let own = field(object, 8);
        assert_eq!(upgraded(m, own), None, "its reclaim has begun");
        let watched = WATCHED.with_borrow(|watched| watched[0]);
        let living = upgraded(m, watched).expect("a root holds it");
        assert_eq!(living.slot(16).read(), 70);
        CALLS.set(CALLS.get() + 1);
    };
    each(Some(action), |m, old| {
        CALLS.set(0);
        let living = new(m, &NODE, 70);
        let watched = weak(m, living);
        WATCHED.set(vec![watched]);
        for object in ring(m, &FILE, 0, 3) {
            let own = weak(m, object);
            set(m, object, 8, Some(own));
        }
        if old {
            m.epoch();
        }
        m.truncate_roots(2);
        m.collect();
        assert_eq!((seen_sorted(), CALLS.get(), live(m)), (vec![0, 1, 2], 3, 2));
    });
}

/// scenario 89: an object refers to itself weakly before it is finished; one whose making fails leaves nothing.
#[test]
fn weak_reference_to_an_object_that_is_being_made() {
    each(None, |m, old| {
        for fails in [false, true] {
            let base = m.root_count();
            let object = new(m, &NODE, 5);
            let itself = weak(m, object);
            set(m, object, 8, Some(itself));
            if old {
                m.epoch();
            }
            assert_eq!(upgraded(m, itself), Some(object));
            if fails {
                // The host unwinds: its roots go with its frames.
                m.truncate_roots(base);
                m.collect();
                assert_eq!(live(m), 2, "of the one that was finished");
            } else {
                m.truncate_roots(base + 1);
                m.collect();
                assert_eq!((upgraded(m, field(object, 8)), live(m)), (Some(object), 2));
            }
        }
    });
}

/// scenario 90: weak references outlive their object; what is made in its memory is not taken for it.
#[test]
fn weak_reference_outlives_its_object_and_the_next_ones_in_its_place() {
    each(None, |m, old| {
        let target = new(m, &NODE, 1);
        let watched: Vec<ObjectRef> = (0..3).map(|_| weak(m, target)).collect();
        drop_all_but_weak(m, old, 1);
        m.collect();
        let mut reused = false;
        for number in 0..20_000 {
            let base = m.root_count();
            let other = new(m, &NODE, number);
            reused |= other == target;
            assert!(watched.iter().all(|&weak| upgraded(m, weak).is_none()));
            m.truncate_roots(base);
            m.poll();
            if number % 1000 == 0 {
                m.epoch();
            }
        }
        // The deferred plan gets its memory back in blocks, and the living lie in this one.
        assert!(reused || m.heap().plan() == Plan::Deferred, "the memory was not used again");
        m.set_root(RootIndex(2), None);
        m.collect();
        assert_eq!(live(m), 2);
    });
}

/// scenario 103: a finalizer makes a weak reference to its own object: it never leads to what is dead.
#[test]
fn weak_reference_made_in_the_finalizer_of_its_object() {
    let action: Action = |m, object| {
        let made = weak(m, object);
        let number = object.slot(16).read();
        assert!(upgraded(m, made).is_none_or(|target| target == object && target.slot(16).read() == number));
    };
    each(Some(action), |m, old| {
        ring(m, &FILE, 0, 3);
        if old {
            m.epoch();
        }
        m.truncate_roots(0);
        m.collect();
        m.collect();
        assert_eq!((seen_sorted(), m.root_count()), (vec![0, 1, 2], 3));
        for root in 0..3 {
            let made = m.root(RootIndex(root)).expect("the finalizer stored it");
            assert_eq!(upgraded(m, made), None);
        }
        assert_eq!(live(m), 3);
    });
}

/// scenario 104: the allocation of the weak reference itself collects: under zeal each does, at the limit one in so many.
#[test]
fn allocation_of_a_weak_reference_collects() {
    for options in both_plans() {
        let small = HeapOptions { heap_limit: Some(256 << 10), ..options.clone() };
        for (options, count) in [(HeapOptions { zeal: true, ..options }, 30), (small, 20_000)] {
            let mut m = new_mutator(options).expect("address space");
            let kept = new(&mut m, &NODE, 3);
            let watched = weak(&mut m, kept);
            for number in 0..count {
                let base = m.root_count();
                let members = ring(&mut m, &NODE, number, 2);
                let one = weak(&mut m, members[0]);
                m.truncate_roots(base);
                m.push_root(Some(one));
                let other = weak(&mut m, kept);
                assert_eq!(upgraded(&mut m, other), Some(kept));
                m.truncate_roots(base);
            }
            assert_eq!(upgraded(&mut m, watched), Some(kept));
            m.collect();
            assert_eq!(live(&mut m), 2);
        }
    }
}

unsafe extern "C-unwind" fn deliver(weak: *mut c_void) {
    in_finalizer(|m| {
        // SAFETY: [HEADER] the weak reference that the runtime calls back with.
        let weak = unsafe { ObjectRef::from_address(weak as u64) };
        assert_eq!(upgraded(m, weak), None);
        // What was kept for the occasion goes into a list, which takes allocations, and a collection.
        let base = m.root_count();
        let link = new(m, &NODE, CALLS.get());
        let list = m.root(RootIndex(0));
        set(m, link, 0, list);
        m.set_root(RootIndex(0), Some(link));
        m.truncate_roots(base);
        m.collect();
    });
    CALLS.set(CALLS.get() + 1);
}

/// scenario 106: what is to be done when an object has died is done as ordinary work of the program, after the collection.
#[test]
fn news_of_deaths_are_delivered_after_the_collection() {
    each(None, |m, old| {
        CALLS.set(0);
        m.push_root(None);
        let members = ring(m, &NODE, 0, 5);
        for &member in &members {
            let weak = m.new_weak_with(member, deliver).expect("room");
            m.push_root(Some(weak));
        }
        if old {
            m.epoch();
        }
        (1..6).for_each(|root| m.set_root(RootIndex(root), None));
        m.collect();
        m.poll();
        assert_eq!(CALLS.get(), 5);
        let (mut length, mut at) = (0, m.root(RootIndex(0)));
        while let Some(link) = at {
            length += 1;
            at = (link.slot(0).read() != 0).then(|| field(link, 0));
        }
        assert_eq!((length, live(m)), (5, 10));
    });
}

unsafe extern "C-unwind" fn count(_: *mut c_void) {
    CALLS.set(CALLS.get() + 1);
}

/// scenario 47: a long list dies on a small stack, and at each node a callback is called.
#[test]
fn deep_chain_with_a_callback_at_each_level() {
    const LENGTH: u64 = 20_000;
    for options in both_plans() {
        let test = move || {
            let mut m = new_mutator(options).expect("address space");
            CALLS.set(0);
            let table = m.allocate_array(type_registry::register(&TABLE).expect("sound"), LENGTH).expect("room");
            m.push_root(Some(table));
            let head = m.push_root(None);
            for index in 0..LENGTH {
                let node = new(&mut m, &NODE, index);
                let rest = m.root(head);
                set(&mut m, node, 0, rest);
                m.set_root(head, Some(node));
                let weak = m.new_weak_with(node, count).expect("room");
                set(&mut m, table, 8 + index * 8, Some(weak));
                m.truncate_roots(2);
            }
            m.epoch();
            m.set_root(head, None);
            m.collect();
            m.poll();
            assert_eq!((CALLS.get(), live(&mut m)), (LENGTH, LENGTH + 1));
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(test).expect("a thread");
        thread.join().expect("no overflow");
    }
}
