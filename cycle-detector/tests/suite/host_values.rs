//! A host value that panics when it is dropped leaves a usable heap, wherever that happens.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use tally_collector::Mutator;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{NODE, new_mutator, nothing_is_left, set, type_of};

/// A value that notes its drop, and panics then.
struct Panics(Rc<Cell<u32>>);

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        panic!("a value that is dropped");
    }
}

fn heap(plan: Plan) -> Mutator {
    new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space")
}

/// Both plans, each with a heap and a count of dropped values.
fn with_each_plan(check: impl Fn(&mut Mutator, &Rc<Cell<u32>>)) {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let (mut m, dropped) = (heap(plan), Rc::default());
        check(&mut m, &dropped);
        is_usable(&mut m);
    }
}

fn value(m: &mut Mutator, dropped: &Rc<Cell<u32>>) -> ObjectRef {
    m.allocate_host(Box::new(Panics(dropped.clone()))).expect("room")
}

/// The heap allocates, counts and frees as before.
fn is_usable(m: &mut Mutator) {
    m.verify().expect("a sound heap");
    let list = m.push_root(None);
    for _ in 0..100 {
        let node = m.allocate(type_of(&NODE)).expect("room");
        set(m, node, 0, m.root(list));
        m.set_root(list, Some(node));
    }
    m.verify().expect("a sound heap");
    assert_eq!(m.objects().len(), 100);
    nothing_is_left(m);
}

#[test]
fn values_that_panic_when_a_drain_or_an_epoch_drops_them() {
    with_each_plan(|m, dropped| {
        for _ in 0..10 {
            value(m, dropped);
        }
        m.drain(&[]);
        m.epoch();
        m.epoch();
        assert_eq!(dropped.get(), 10);
    });
}

#[test]
fn values_that_panic_when_a_reference_that_held_them_goes() {
    with_each_plan(|m, dropped| {
        let node = m.allocate(type_of(&NODE)).expect("room");
        let root = m.push_root(Some(node));
        for offset in [0, 8] {
            let value = value(m, dropped);
            let node = m.root(root).expect("rooted");
            set(m, node, offset, Some(value));
        }
        m.collect();
        assert_eq!(dropped.get(), 0);
        let node = m.root(root).expect("rooted");
        set(m, node, 0, None);
        m.collect();
        assert_eq!(dropped.get(), 1);
        m.truncate_roots(0);
        m.collect();
        assert_eq!(dropped.get(), 2);
    });
}

/// A cycle that only a trial or a mark finds, in slices.
#[test]
fn values_that_panic_when_a_dead_cycle_is_freed() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        for (trials, slice_units) in [(true, None), (false, None), (false, Some(5))] {
            let options = HeapOptions {
                plan,
                trials,
                slice_units,
                eager_marks: true,
                pause_goal_ns: Some(1),
                ..HeapOptions::default()
            };
            let (mut m, dropped) = (new_mutator(options).expect("address space"), Rc::default());
            let first = m.allocate(type_of(&NODE)).expect("room");
            let ring = [m.push_root(Some(first)), m.push_root(Some(first))];
            for _ in 0..50 {
                let node = m.allocate(type_of(&NODE)).expect("room");
                let next = m.root(ring[1]);
                set(&mut m, node, 0, next);
                m.set_root(ring[1], Some(node));
                let value = value(&mut m, &dropped);
                let node = m.root(ring[1]).expect("rooted");
                set(&mut m, node, 8, Some(value));
            }
            let [first, last] = ring.map(|root| m.root(root).expect("rooted"));
            set(&mut m, first, 0, Some(last));
            m.collect();
            assert_eq!(dropped.get(), 0);
            m.truncate_roots(0);
            while m.step(10) {}
            m.collect();
            m.collect();
            assert_eq!(dropped.get(), 50, "{plan:?} {trials} {slice_units:?}");
            is_usable(&mut m);
        }
    }
}

#[test]
fn values_that_panic_when_their_heap_is_dropped() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let (mut m, dropped) = (heap(plan), Rc::default());
        for _ in 0..10 {
            let value = value(&mut m, &dropped);
            m.push_root(Some(value));
        }
        drop(m);
        assert_eq!(dropped.get(), 10);
        is_usable(&mut heap(plan));
    }
}

#[test]
fn a_value_that_panics_when_there_is_no_room_for_its_object() {
    with_each_plan(|m, dropped| {
        m.heap().fail_allocation(1);
        assert!(m.allocate_host(Box::new(Panics(dropped.clone()))).is_err());
        assert_eq!(dropped.get(), 1);
    });
}

#[test]
fn a_value_that_panics_when_another_takes_its_place() {
    with_each_plan(|m, dropped| {
        let object = value(m, dropped);
        m.heap().set_host_value(object, Box::new(7));
        assert_eq!(dropped.get(), 1);
        assert_eq!(m.heap().host_value(object).and_then(|value| value.downcast_ref()), Some(&7));
    });
}

/// The callback is called in the middle of the allocation, which it leaves by its panic.
#[test]
fn a_soft_limit_callback_that_panics_while_a_host_object_is_allocated() {
    with_each_plan(|m, dropped| {
        m.set_limits(Some(1), None);
        m.on_soft_limit(|_, _| panic!("too much"));
        let mut left = 0;
        for _ in 0..3 {
            let allocate = || m.allocate_host(Box::new(Panics(dropped.clone()))).map(|_| ());
            left += u32::from(catch_unwind(AssertUnwindSafe(allocate)).is_err());
        }
        assert_eq!(left, 1);
        m.set_limits(None, None);
        m.collect();
        m.collect();
        assert_eq!(dropped.get(), 3);
    });
}
