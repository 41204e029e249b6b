//! What objects own outside the heap, and objects that never die, under both plans.

use std::cell::Cell;
use std::rc::Rc;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, TypeId, type_registry};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

fn mutator(plan: Plan, zeal: bool) -> (Mutator, TypeId) {
    // SAFETY: [HELD] references are used as it says.
    let m = unsafe { Mutator::new(HeapOptions { plan, zeal, ..HeapOptions::default() }) }.expect("address space");
    (m, type_registry::register(&NODE).expect("a sound descriptor"))
}

/// A ring of two nodes in no root; the first is answered.
fn ring(m: &mut Mutator, node: TypeId) -> ObjectRef {
    let base = m.root_count();
    let [a, b] = std::array::from_fn(|_| {
        let object = m.allocate(node).expect("room");
        m.push_root(Some(object));
        object
    });
    m.write(a, a.slot(0), b.address());
    m.write(b, b.slot(0), a.address());
    m.truncate_roots(base);
    a
}

/// Counts how often it is dropped.
struct Dropped(Rc<Cell<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// Young, mature, or part of a dead ring; nothing is dropped twice, nothing early.
#[test]
fn a_host_objects_value_is_dropped_once_when_its_memory_goes() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut m, node) = mutator(plan, zeal);
        let dropped = Rc::new(Cell::new(0));
        for _ in 0..10 {
            m.allocate_host(Box::new(Dropped(dropped.clone()))).expect("room");
        }
        m.collect();
        assert_eq!(dropped.get(), 10, "{plan:?}: young ones");
        for _ in 0..10 {
            let object = m.allocate_host(Box::new(Dropped(dropped.clone()))).expect("room");
            m.push_root(Some(object));
        }
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(dropped.get(), 10, "{plan:?}: none of those that live");
        m.truncate_roots(0);
        m.collect();
        assert_eq!(dropped.get(), 20, "{plan:?}: mature ones");
        for _ in 0..10 {
            let object = m.allocate_host(Box::new(Dropped(dropped.clone()))).expect("room");
            let base = m.root_count();
            m.push_root(Some(object));
            let a = ring(&mut m, node);
            m.write(a, a.slot(8), object.address());
            m.truncate_roots(base);
        }
        m.collect();
        assert_eq!(dropped.get(), 30, "{plan:?}: those that a dead ring holds");
        let object = m.allocate_host(Box::new(Dropped(dropped.clone()))).expect("room");
        m.push_root(Some(object));
        drop(m);
        assert_eq!(dropped.get(), 31, "{plan:?}: with its heap");
    }
}

#[test]
fn a_host_in_rust_reads_its_value() {
    for plan in Plan::ALL {
        let (mut heap, _) = crate::host::host(plan, false);
        let mut scope = heap.scope();
        let text = scope.allocate_host(String::from("a text")).expect("room");
        scope.collect();
        assert_eq!(scope.host::<String>(scope.get(text)).map(String::as_str), Some("a text"));
        assert_eq!(scope.host::<u64>(scope.get(text)), None);
    }
}

/// Given back at death, however the object dies; never below nothing.
#[test]
fn external_bytes_end_with_their_objects() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut m, node) = mutator(plan, zeal);
        let object = m.allocate(node).expect("room");
        m.push_root(Some(object));
        for (delta, total) in [(100, 100), (50, 150), (-30, 120), (-1000, 0), (7, 7)] {
            m.add_external_bytes(object, delta);
            assert_eq!(m.statistics().external_bytes, total, "{plan:?}");
        }
        let a = ring(&mut m, node);
        m.push_root(Some(a));
        m.add_external_bytes(a, 1000);
        let young = m.allocate(node).expect("room");
        m.add_external_bytes(young, 500);
        assert_eq!(m.statistics().external_bytes, 1507);
        m.truncate_roots(1);
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().external_bytes, 7, "{plan:?}");
        m.add_external_bytes(object, i64::MAX);
        m.add_external_bytes(object, i64::MIN);
        m.truncate_roots(0);
        m.collect();
        assert_eq!(m.statistics().external_bytes, 0, "{plan:?}");
    }
}

/// Two objects that each say more than anybody has: what is left when one goes is what the other said.
#[test]
fn external_bytes_beyond_all_memory_do_not_go_below_zero() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan, false);
        for _ in 0..2 {
            let object = m.allocate(node).expect("room");
            m.push_root(Some(object));
            m.add_external_bytes(object, i64::MAX);
            m.add_external_bytes(object, i64::MAX);
        }
        assert_eq!(m.statistics().external_bytes, u64::MAX, "{plan:?}");
        for (left, bytes) in [(1, u64::MAX - 1), (0, 0)] {
            m.truncate_roots(left);
            m.collect();
            assert_eq!(m.statistics().external_bytes, bytes, "{plan:?}");
        }
    }
}

/// Small objects with large things outside: garbage among them is found as soon as if they were large.
#[test]
fn external_bytes_bring_epochs() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan, false);
        let mut most = 0;
        for number in 0..2000 {
            let object = if number % 2 == 0 { m.allocate(node).expect("room") } else { ring(&mut m, node) };
            m.add_external_bytes(object, 1 << 20);
            m.poll();
            most = most.max(m.statistics().external_bytes);
        }
        assert!(most < 64 << 20, "{plan:?}: up to {} MiB of garbage at once", most >> 20);
        assert!(m.statistics().allocated_bytes < 1 << 20, "the objects themselves would have brought none");
    }
}

#[test]
fn external_bytes_count_towards_the_soft_limit() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan, false);
        let told = Rc::new(Cell::new(0));
        let tell = told.clone();
        m.on_soft_limit(move |_, used| tell.set(used));
        m.set_limits(Some(100 << 20), None);
        let object = m.allocate(node).expect("room");
        m.push_root(Some(object));
        m.add_external_bytes(object, 50 << 20);
        m.poll();
        assert_eq!(told.get(), 0);
        m.add_external_bytes(object, 51 << 20);
        m.poll();
        assert!(told.get() > 101 << 20, "{plan:?}");
    }
}

/// scenario 43: what is frozen is left alone, garbage included, until it is thawed.
#[test]
fn frozen_objects_never_die_and_are_not_tried() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut m, node) = mutator(plan, zeal);
        let kept = ring(&mut m, node);
        m.push_root(Some(kept));
        let frozen = m.objects().len() as u64;
        assert!(frozen >= 2);
        m.freeze();
        m.truncate_roots(0);
        m.epoch();
        let (edges, freed) = (m.statistics().trial_edges, m.statistics().freed_objects());
        for _ in 0..20 {
            let extra = m.push_root(Some(kept));
            m.epoch();
            m.truncate_roots(extra.0);
            m.epoch();
        }
        assert_eq!(m.statistics().trial_edges, edges, "{plan:?}: they are not looked at");
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().freed_objects(), freed, "{plan:?}");
        // What an immortal object comes to hold lives as long.
        let more = m.allocate(node).expect("room");
        m.write(kept, kept.slot(8), more.address());
        m.collect();
        assert_eq!(kept.slot(8).read(), more.address());
        assert_eq!(m.statistics().live_objects, frozen + 1);
        m.write(kept, kept.slot(8), 0);
        m.collect();
        assert_eq!(m.statistics().live_objects, frozen);
        m.unfreeze();
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().live_objects, 0, "{plan:?}, zeal {zeal}");
    }
}

/// From its birth, before any flip; once more; with what it reaches; back again.
#[test]
fn a_young_object_may_be_made_immortal() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut m, node) = mutator(plan, zeal);
        let a = ring(&mut m, node);
        m.make_immortal(a);
        m.make_immortal(a);
        for _ in 0..100 {
            ring(&mut m, node);
        }
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().live_objects, 2, "{plan:?}");
        m.make_immortal(a);
        m.unfreeze();
        m.make_immortal(a);
        m.collect();
        assert_eq!(m.statistics().live_objects, 2, "{plan:?}");
        m.unfreeze();
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().live_objects, 0, "{plan:?}");
    }
}

/// Garbage that has not been found yet is there, so it is frozen, too, and a mark that sees the flip before finds it alive.
#[test]
fn a_heap_is_frozen_between_the_steps_of_a_collection() {
    let node = type_registry::register(&NODE).expect("a sound descriptor");
    for steps in 0..40 {
        let options = HeapOptions { trials: false, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut m = unsafe { Mutator::new(options) }.expect("address space");
        for _ in 0..5_000 {
            let [first, second] = [(); 2].map(|()| {
                let object = m.allocate(node).expect("memory");
                m.push_root(Some(object));
                object
            });
            m.write(first, first.slot(0), second.address());
            m.write(second, second.slot(0), first.address());
        }
        m.collect();
        m.truncate_roots(0);
        for _ in 0..steps {
            m.collect_for(0);
        }
        m.freeze();
        let frozen = m.live_objects();
        while !m.collect_for(0) {}
        assert!(
            m.live_objects() == frozen,
            "after {steps} steps, of {} objects {} are left",
            frozen.len(),
            m.live_objects().len()
        );
        m.verify().unwrap_or_else(|violation| panic!("after {steps} steps: {violation}"));
        m.unfreeze();
        m.collect();
        assert_eq!(m.live_objects(), [], "after {steps} steps");
    }
}
