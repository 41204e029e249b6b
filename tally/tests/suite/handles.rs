//! What native code holds: scoped and global handles, under both plans, and the safe heap of a host in Rust on top of them.

use crate::host::{array_type, host, refused};
use std::time::Duration;
use tally::Global;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, TypeId, type_registry};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

fn mutator(plan: Plan) -> (Mutator, TypeId) {
    // SAFETY: [HELD] references are used as it says.
    let m = unsafe { Mutator::new(HeapOptions { plan, ..HeapOptions::default() }) }.expect("address space");
    let node = type_registry::register(&NODE).expect("a sound descriptor");
    (m, node)
}

fn new_handle(m: &mut Mutator, node: TypeId) -> (u64, ObjectRef) {
    let object = m.allocate(node).expect("room");
    // SAFETY: [ROOT] the word is a reference or null.
    (unsafe { m.heap().new_handle(object.address()) }, object)
}

fn word(handle: u64) -> u64 {
    // SAFETY: a handle whose scope is open.
    unsafe { *(handle as *const u64) }
}

#[test]
fn a_scoped_handle_keeps_its_object_until_the_scope_is_closed() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan);
        let outer = m.heap().open_handles();
        let (first, object) = new_handle(&mut m, node);
        let inner = m.heap().open_handles();
        let (second, _) = new_handle(&mut m, node);
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!((word(first), m.statistics().live_objects), (object.address(), 2), "{plan:?}");
        assert_ne!(word(second), 0);
        m.heap().close_handles(inner);
        assert_eq!(m.collect(), 1);
        m.heap().close_handles(outer);
        assert_eq!(m.collect(), 1);
        m.verify().expect("a sound heap");
    }
}

/// Prompt plan: what is pushed and closed between two safepoints is never counted; what is there at one is counted once.
#[test]
fn handles_are_counted_at_safepoints() {
    let (mut m, node) = mutator(Plan::Prompt);
    let (first, object) = new_handle(&mut m, node);
    assert_eq!(m.count_of(object), 0);
    m.poll();
    assert_eq!(m.count_of(object), 1);
    let mark = m.heap().open_handles();
    for _ in 0..10 {
        // SAFETY: [ROOT] the word is a reference or null.
        unsafe { m.heap().new_handle(object.address()) };
    }
    m.heap().close_handles(mark);
    assert_eq!(m.count_of(object), 1);
    for _ in 0..10 {
        // SAFETY: [ROOT] the word is a reference or null.
        unsafe { m.heap().new_handle(object.address()) };
    }
    m.poll();
    assert_eq!(m.count_of(object), 11);
    m.heap().close_handles(mark);
    assert_eq!(m.count_of(object), 1);
    // SAFETY: a handle whose scope is open.
    unsafe { m.heap().set_handle(first, 0) };
    m.poll();
    assert_eq!(m.statistics().live_objects, 0, "it dies at the next safepoint");
}

/// Across chunks, up and down, with nulls and with addresses outside the heap among them.
#[test]
fn scopes_may_be_deep() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan);
        let object = m.allocate(node).expect("room");
        // SAFETY: [ROOT] the word is a reference or null.
        let global = unsafe { m.heap().new_global(object.address()) };
        let outside = &raw const global as u64;
        let mut marks = vec![];
        for depth in 0..9000u64 {
            if depth % 3 == 0 {
                marks.push(m.heap().open_handles());
            }
            // SAFETY: [ROOT] the word is a reference or null.
            unsafe { m.heap().new_handle([object.address(), 0, outside][depth as usize % 3]) };
            if depth % 1024 < 2 {
                m.poll();
                m.epoch();
            }
        }
        m.poll();
        m.epoch();
        m.verify().expect("a sound heap");
        assert!(plan != Plan::Prompt || m.count_of(object) == 3001);
        while let Some(mark) = marks.pop() {
            m.heap().close_handles(mark);
            if marks.len() % 500 == 0 {
                m.verify().expect("a sound heap");
            }
        }
        m.epoch();
        assert!(plan == Plan::Deferred || m.count_of(object) == 1, "only the global handle is left");
        // SAFETY: in use.
        unsafe { m.heap().free_global(global) };
        assert_eq!(m.collect(), 1);
    }
}

/// scenario 32: a member of a dead ring is held for a while.
#[test]
fn a_global_handle_pins_a_member_of_a_dead_ring() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan);
        let base = m.root_count();
        let [a, b, c] = std::array::from_fn(|_| {
            let object = m.allocate(node).expect("room");
            m.push_root(Some(object));
            object
        });
        for (from, to) in [(a, b), (b, c), (c, a)] {
            m.write(from, from.slot(0), to.address());
        }
        // SAFETY: [ROOT] the word is a reference or null.
        let pin = unsafe { m.heap().new_global(b.address()) };
        m.truncate_roots(base);
        assert_eq!(m.collect(), 0, "{plan:?}");
        // SAFETY: in use.
        unsafe { m.heap().set_global(pin, a.address()) };
        m.verify().expect("a sound heap");
        assert_eq!(m.collect(), 0);
        // SAFETY: in use.
        unsafe { m.heap().free_global(pin) };
        assert_eq!(m.collect(), 3);
        assert_eq!(m.heap().services.handles.global_count(), 0);
    }
}

#[test]
fn global_handles_are_used_again() {
    for plan in Plan::ALL {
        let (mut m, node) = mutator(plan);
        for round in 1..4 {
            let globals: Vec<u64> = (0..500)
                .map(|_| {
                    let object = m.allocate(node).expect("room");
                    // SAFETY: [ROOT] the word is a reference or null.
                    unsafe { m.heap().new_global(object.address()) }
                })
                .collect();
            m.verify().expect("a sound heap");
            assert_eq!(
                (m.statistics().live_objects, m.heap().services.handles.global_count()),
                (500, 500),
                "round {round}"
            );
            // SAFETY: in use.
            globals.into_iter().for_each(|global| unsafe { m.heap().free_global(global) });
            assert_eq!(m.collect(), 500, "{plan:?}");
        }
    }
}

/// A list as a host in Rust builds, reads and drops it; under zeal, too, where each allocation is an epoch.
#[test]
fn a_host_in_rust_builds_and_reads_a_list() {
    for (plan, zeal) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        let (mut heap, node) = host(plan, zeal);
        let kept: Global = {
            let mut scope = heap.scope();
            let list = scope.allocate(node).expect("room");
            for number in 1..100 {
                let mut inner = scope.nested();
                let item = inner.allocate(node).expect("room");
                let (first, item) = (inner.get(list), inner.get(item));
                inner.set_word(item, 16, number);
                inner.set_field(item, 0, first.field(0));
                inner.set_field(first, 0, Some(item));
                inner.poll();
            }
            let second = scope.get(list).field(0).and_then(|first| first.field(0)).expect("98 of them are there");
            scope.global(second)
        };
        heap.scope().collect();
        let scope = heap.scope();
        let (mut at, mut sum, mut count) = (Some(scope.open(&kept)), 0, 0);
        while let Some(item) = at {
            (sum, count) = (sum + item.word(16), count + 1);
            at = item.field(0);
        }
        assert_eq!((sum, count), (98 * 99 / 2, 98), "{plan:?}, zeal {zeal}");
        drop(scope);
        drop(kept);
        heap.scope().collect();
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}");
    }
}

#[test]
fn arrays_have_as_many_fields_as_elements() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let array = array_type();
        let mut scope = heap.scope();
        let table = scope.allocate_array(array, 50).expect("room");
        let item = scope.allocate(node).expect("room");
        let more = scope.root(scope.get(item));
        for index in 0..scope.get(table).length() {
            scope.set_field(scope.get(table), 8 + index * 8, Some(scope.get(more)));
        }
        scope.collect();
        let table = scope.get(table);
        assert!((0..50).all(|index| table.field(8 + index * 8) == Some(scope.get(item))));
        assert_eq!((table.type_name(), table.word(0)), ("Array", 50));
    }
}

/// What lifetimes cannot say.
#[test]
fn wrong_fields_and_other_heaps_are_refused() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let array = array_type();
        let (mut other_heap, _) = host(plan, false);
        let mut scope = heap.scope();
        let (handle, tail) = (scope.allocate(node).expect("room"), scope.allocate_array(array, 3).expect("room"));
        let (item, tail) = (scope.get(handle), scope.get(tail));
        let global = scope.global(item);
        for offset in [1, 4, 24, u64::MAX - 7, 1 << 40] {
            assert!(refused(|| _ = item.word(offset)).contains("no word at"), "{offset}");
            assert!(refused(|| scope.set_word(item, offset, 0)).contains("no word at"), "{offset}");
        }
        assert!(refused(|| _ = item.field(16)).contains("no plain reference at 16"));
        assert!(refused(|| scope.set_field(item, 16, None)).contains("no plain reference at 16"));
        assert!(refused(|| scope.set_word(item, 8, 1)).contains("no plain word at 8"));
        assert!(refused(|| scope.set_word(tail, 0, 1000)).contains("no plain word at 0"));
        assert!(refused(|| scope.set_word(tail, 16, 1)).contains("no plain word at 16"));
        assert!(refused(|| _ = tail.field(32)).contains("no word at 32"));
        let other = other_heap.scope();
        assert!(refused(|| _ = other.get(handle)).contains("another heap"));
        assert!(refused(|| _ = other.open(&global)).contains("another heap"));
        assert!(refused(|| _ = other.root(item)).contains("another heap"));
        assert!(refused(|| other.set_field(item, 0, None)).contains("another heap"));
    }
}

/// A global handle may outlive its heap, and be dropped while a scope is open.
#[test]
fn global_handles_are_dropped_anywhere() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut globals = vec![];
        let mut scope = heap.scope();
        for _ in 0..100 {
            let mut inner = scope.nested();
            let item = inner.allocate(node).expect("room");
            globals.push(inner.global(inner.get(item)));
        }
        assert_eq!(scope.collect(), 0);
        globals.truncate(40);
        assert_eq!(scope.collect(), 60, "{plan:?}");
        drop(scope);
        drop(heap);
        drop(globals);
    }
}

/// A scope that is forgotten is closed with the one around it.
#[test]
fn a_forgotten_scope_loses_nothing_and_keeps_nothing_for_ever() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        let mut inner = scope.nested();
        inner.allocate(node).expect("room");
        std::mem::forget(inner);
        let kept = scope.allocate(node).expect("room");
        assert_eq!(scope.collect(), 0);
        assert_eq!(scope.get(kept).field(0), None);
        drop(scope);
        assert_eq!(heap.scope().collect(), 2, "{plan:?}");
    }
}

#[test]
fn a_host_counts_bytes_outside_and_keeps_objects_for_ever() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        let mut inner = scope.nested();
        let [constant, child, dropped] = [(); 3].map(|()| inner.allocate(node).expect("room"));
        inner.set_field(inner.get(constant), 0, Some(inner.get(child)));
        inner.add_external_bytes(inner.get(constant), 1000);
        inner.add_external_bytes(inner.get(dropped), 500);
        inner.make_immortal(inner.get(constant));
        let said = format!("{:?}", inner.get(constant));
        assert_eq!(said, format!("Node at {:#x}", inner.get(constant).address()));
        drop(inner);
        // In parts: each answers whether it was the last.
        let mut parts = 1;
        while !scope.collect_for(Duration::ZERO) {
            parts += 1;
            assert!(parts < 1000, "{plan:?}: never complete");
        }
        drop(scope);
        let left = heap.statistics();
        assert_eq!(
            (left.live_objects, left.external_bytes),
            (2, 1000),
            "{plan:?}: what is immortal, and what it holds"
        );
    }
}

/// With the mutator behind it a host goes on without scopes, at its own risk.
#[test]
fn the_mutator_behind_a_safe_heap_is_that_heap() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        let item = scope.allocate(node).expect("room");
        let global = scope.global(scope.get(item));
        drop(scope);
        // SAFETY: the only reference that is used is in the root stack at each safepoint.
        let m = unsafe { heap.mutator() };
        let node = type_registry::register(&NODE).expect("a sound descriptor");
        let other = m.allocate(node).expect("room");
        m.push_root(Some(other));
        m.collect();
        m.verify().expect("a sound heap");
        assert_eq!(m.statistics().live_objects, 2, "{plan:?}: one in a root, one in a global handle");
        m.truncate_roots(0);
        assert_eq!(heap.scope().collect(), 1, "{plan:?}");
        drop(global);
        assert_eq!(heap.scope().collect(), 1, "{plan:?}");
    }
}

#[test]
fn what_is_there_when_a_scope_freezes_stays_until_it_is_unfrozen() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        scope.allocate(node).expect("room");
        scope.freeze();
        scope.allocate(node).expect("room");
        drop(scope);
        assert_eq!(heap.scope().collect(), 1, "{plan:?}: what was made later");
        let mut scope = heap.scope();
        scope.unfreeze();
        assert_eq!(scope.collect(), 1, "{plan:?}: what was frozen");
    }
}
