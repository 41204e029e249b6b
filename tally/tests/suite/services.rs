//! Services of a heap through the facade, under both plans: host values, refusals, control, the inventory.

use crate::host::{both_with_zeal, host, refused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tally::{CollectorMode, TypeBuilder, WeakMode};
use tally_heap::plan::Plan;

/// Panics when it is dropped, and counts that.
struct Panics(Rc<Cell<u32>>);

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        panic!("drop number {}", self.0.get());
    }
}

/// Young, mature, in a dead ring, in a sliced collection, and with the heap.
#[test]
fn a_value_that_panics_when_dropped_leaves_a_usable_heap() {
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, node) = host(plan, zeal);
        let (dropped, said) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(vec![])));
        let note = said.clone();
        heap.on_finalizer_error(move |error| note.borrow_mut().push(error.clone()));
        for round in 1..=4 {
            let mut scope = heap.scope();
            let value = scope.allocate_host(Panics(dropped.clone())).expect("room");
            match round {
                1 => {}
                2 => _ = scope.collect(),
                _ => {
                    let ring = scope.allocate(node).expect("room");
                    scope.set_field(scope.get(ring), 0, Some(scope.get(ring)));
                    scope.set_field(scope.get(ring), 8, Some(scope.get(value)));
                    scope.collect();
                }
            }
            assert_eq!(dropped.get(), round - 1, "{plan:?}: alive");
            drop(scope);
            let mut scope = heap.scope();
            if round == 4 {
                while !scope.collect_for(std::time::Duration::ZERO) {}
            } else {
                scope.collect();
            }
            drop(scope);
            assert_eq!((dropped.get(), said.borrow().len() as u32), (round, round), "{plan:?}");
            heap.verify().expect("a sound heap");
            assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}");
        }
        assert!(said.borrow()[2].to_string().ends_with("panicked when it was dropped: drop number 3"));
        heap.scope().allocate_host(Panics(dropped.clone())).expect("room");
        drop(heap);
        assert_eq!((dropped.get(), said.borrow().len()), (5, 5), "{plan:?}: with its heap");
    }
}

/// A type that says it has no cycles: its rings stay, and harm nothing. (Zeal would stop at the first.)
#[test]
fn a_ring_of_an_acyclic_type_stays() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let wrong = TypeBuilder::new("Wrong", 16).reference("self", 0).reference("other", 8).acyclic();
        let wrong = wrong.register().expect("a sound type");
        for _ in 0..10 {
            let mut scope = heap.scope();
            let (ring, other) = (scope.allocate(wrong).expect("room"), scope.allocate(node).expect("room"));
            scope.set_field(scope.get(ring), 0, Some(scope.get(ring)));
            scope.set_field(scope.get(ring), 8, Some(scope.get(other)));
            scope.set_field(scope.get(other), 0, Some(scope.get(ring)));
            scope.epoch();
        }
        heap.scope().collect();
        heap.verify().expect("a sound heap");
    }
}

#[test]
fn a_service_refuses_an_object_of_another_kind() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let (mut other, _) = host(plan, false);
        let mut scope = heap.scope();
        let item = scope.allocate(node).expect("room");
        let map = scope.new_weak_map(WeakMode::Keys).expect("room");
        let weak = scope.new_weak(item).expect("room");
        let pair = scope.new_ephemeron(item, None).expect("room");
        assert!(refused(|| _ = scope.weak_map_set(item, item, item)).contains("`Node` is no weak map"));
        let mut other = other.scope();
        assert!(refused(|| _ = scope.open_object(scope.get(pair))).contains("with its key"));
        assert!(refused(|| _ = other.new_weak(item)).contains("another heap"));
        assert!(refused(|| _ = other.new_ephemeron(item, None)).contains("another heap"));
        assert!(refused(|| _ = other.weak_map_set(map, item, item)).contains("another heap"));
        let foreign = other.allocate(node).expect("room");
        assert!(refused(|| _ = scope.weak_map_set(map, foreign, item)).contains("another heap"));
        assert!(refused(|| _ = scope.weak_map_set(map, item, foreign)).contains("another heap"));
        let [item, map, weak, pair] = [item, map, weak, pair].map(|handle| scope.get(handle));
        assert!(refused(|| _ = scope.target(item)).contains("`Node` is no weak reference"));
        assert!(refused(|| _ = scope.ephemeron_value(weak)).contains("is no ephemeron"));
        assert!(refused(|| _ = scope.weak_map_get(pair, item)).contains("is no weak map"));
        assert!(refused(|| _ = scope.weak_map_entries(item).count()).contains("is no weak map"));
        let foreign = other.get(foreign);
        let all: [&dyn Fn(); 12] = [
            &|| _ = scope.weak_map_get(map, foreign),
            &|| _ = scope.weak_map_remove(map, foreign),
            &|| _ = other.weak_map_len(map),
            &|| _ = other.weak_map_entries(map).count(),
            &|| _ = other.target(weak),
            &|| _ = other.ephemeron_key(pair),
            &|| scope.set_weak_field(item, 16, Some(foreign)),
            &|| _ = other.weak_field(item, 16),
            &|| _ = other.register_finalizer(item),
            &|| other.add_external_bytes(item, 1),
            &|| other.make_immortal(item),
            &|| _ = other.count_of(item),
        ];
        assert!(all.iter().all(|call| refused(call).contains("another heap")));
    }
}

#[test]
fn a_stopped_heap_keeps_its_garbage() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        scope.stop();
        scope.nested().allocate(node).expect("room");
        scope.poll();
        assert_eq!((scope.is_running(), scope.statistics().freed_objects), (false, 0), "{plan:?}");
        scope.restart();
        scope.set_epoch_bytes(1 << 20);
        scope.set_pause_goal(Some(std::time::Duration::from_millis(1)));
        assert_eq!(scope.set_collector_mode(CollectorMode::Generational), CollectorMode::Incremental);
        assert_eq!(scope.set_collector_mode(CollectorMode::Incremental), CollectorMode::Generational);
        scope.epoch();
        assert_eq!((scope.is_running(), scope.statistics().freed_objects), (true, 1), "{plan:?}");
    }
}

#[test]
fn the_inventory_lists_each_object_once() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        for _ in 0..5 {
            scope.allocate(node).expect("room");
        }
        scope.nested().allocate(node).expect("room");
        scope.collect();
        let mut all = scope.objects();
        all.sort_by_key(|object| object.address);
        all.dedup();
        assert!(all.iter().all(|object| (object.type_name, object.bytes) == ("Node", 32)), "{plan:?}: {all:?}");
        assert!(all.len() == 5 && all.iter().all(|object| scope.contains(object.address)), "{plan:?}");
        assert!(!scope.contains(0) && !scope.contains(u64::MAX));
        drop(scope);
        assert_eq!(heap.leak_report(), None, "{plan:?}");
    }
}

/// A heap has 4,095 numbers for weak sets, and those of dead sets come back with a collection.
#[test]
fn weak_sets_that_died_make_room_for_others() {
    for plan in Plan::ALL {
        let (mut heap, _) = host(plan, false);
        let mut scope = heap.scope();
        let kept = scope.new_weak_set(0).expect("room");
        for _ in 0..10_000 {
            scope.nested().new_weak_set(0).expect("room");
        }
        assert_eq!(scope.weak_set_len(scope.get(kept)), 0, "{plan:?}");
        drop(scope);
        heap.verify().expect("a sound heap");
    }
}
