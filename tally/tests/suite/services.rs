//! Services of a heap through the facade, under both plans: what runs inside a collection, and what a host says there.

use crate::host::{host, node_type, options, refused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tally::{FinalizeOrder, Global, Handle, Heap, OutOfMemory, Scope, TypeBuilder, WeakMode};
use tally_heap::plan::Plan;

const PLANS: [Plan; 2] = [Plan::Deferred, Plan::Prompt];

fn both_with_zeal() -> impl Iterator<Item = (Plan, bool)> {
    PLANS.into_iter().flat_map(|plan| [(plan, false), (plan, true)])
}

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

/// Each finalizer runs once, with its object whole; a panic in one is told, and the others run.
#[test]
fn finalizers_are_closures() {
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, _) = host(plan, zeal);
        let (seen, said) = (Rc::new(RefCell::new(vec![])), Rc::new(Cell::new(0)));
        let (note, count) = (seen.clone(), said.clone());
        heap.on_finalizer_error(move |error| {
            assert_eq!(error.to_string(), "`File` panicked: number 3");
            count.set(count.get() + 1);
        });
        let file = TypeBuilder::new("File", 16).reference("next", 0).finalizer(move |scope, file| {
            let number = scope.get(file).word(8);
            let mut inner = scope.nested();
            let made = inner.allocate(node_type()).expect("room");
            inner.collect();
            if number == 3 {
                panic!("number 3");
            }
            assert_eq!(inner.get(made).word(16), 0);
            note.borrow_mut().push(inner.get(file).word(8));
        });
        let file = file.finalize_in(FinalizeOrder::Any).register().expect("a sound type");
        let mut scope = heap.scope();
        for number in 0..10 {
            let mut inner = scope.nested();
            let item = inner.allocate(file).expect("room");
            inner.set_word(inner.get(item), 8, number);
            if number % 2 == 0 {
                inner.set_field(inner.get(item), 0, Some(inner.get(item)));
            }
        }
        scope.collect();
        scope.collect();
        let mut numbers = seen.take();
        numbers.sort();
        assert_eq!((numbers, said.get()), (vec![0, 1, 2, 4, 5, 6, 7, 8, 9], 1), "{plan:?}, zeal {zeal}");
        drop(scope);
        heap.verify().expect("a sound heap");
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}");
    }
}

/// An object that its finalizer stores lives on; it is finalized again if it is registered.
#[test]
fn a_finalizer_saves_its_object() {
    for plan in PLANS {
        let (mut heap, _) = host(plan, false);
        let saved: Rc<RefCell<Vec<Global>>> = Rc::default();
        let into = saved.clone();
        let ghost = TypeBuilder::new("Ghost", 8).finalizer(move |scope, ghost| {
            into.borrow_mut().push(scope.global(scope.get(ghost)));
            assert!(scope.register_finalizer(scope.get(ghost)));
        });
        let ghost = ghost.register().expect("a sound type");
        heap.scope().allocate(ghost).expect("room");
        for round in 0..3 {
            heap.scope().collect();
            let mut kept = saved.take();
            assert_eq!(kept.len(), 1, "{plan:?}, round {round}");
            let scope = heap.scope();
            let ghost = scope.open(&kept[0]);
            assert_eq!(ghost.type_name(), "Ghost");
            if round == 2 {
                scope.forget_finalizer(ghost);
            }
            kept.clear();
        }
        assert_eq!(heap.scope().collect(), 1, "{plan:?}");
    }
}

/// Another heap of the same thread is a heap like any other to a finalizer.
#[test]
fn a_finalizer_uses_another_heap() {
    for plan in PLANS {
        let (mut heap, _) = host(plan, false);
        let (other, node) = host(plan, false);
        let other = Rc::new(RefCell::new(other));
        let used = other.clone();
        let file = TypeBuilder::new("File", 8).finalizer(move |scope, file| {
            let mut other = used.borrow_mut();
            let mut inner = other.scope();
            let item = inner.allocate(node).expect("room");
            assert!(refused(|| _ = inner.get(file)).contains("another heap"));
            assert!(refused(|| _ = scope.get(item)).contains("another heap"));
            inner.collect();
        });
        let file = file.register().expect("a sound type");
        heap.scope().allocate(file).expect("room");
        assert_eq!(heap.scope().collect(), 1, "{plan:?}");
        assert_eq!(other.borrow_mut().scope().collect(), 1, "{plan:?}");
    }
}

#[test]
fn the_last_finalizers_run_at_the_end_of_a_host() {
    for plan in PLANS {
        let (mut heap, _) = host(plan, false);
        let order = Rc::new(RefCell::new(vec![]));
        let note = order.clone();
        let file = TypeBuilder::new("File", 8)
            .finalizer(move |scope, file| note.borrow_mut().push(scope.get(file).word(0)))
            .finalize_in(FinalizeOrder::Reverse);
        let file = file.register().expect("a sound type");
        let mut scope = heap.scope();
        let mut kept = vec![];
        for number in 0..4 {
            let item = scope.allocate(file).expect("room");
            scope.set_word(scope.get(item), 0, number);
            kept.push(scope.global(scope.get(item)));
        }
        drop(scope);
        heap.finalize_all();
        heap.finalize_all();
        assert_eq!(*order.borrow(), [3, 2, 1, 0], "{plan:?}");
    }
}

/// A weak reference with a callback: dropped with its closure, called once, not for garbage of its own.
#[test]
fn callbacks_of_weak_references_are_closures() {
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, node) = host(plan, zeal);
        let (called, alive) = (Rc::new(Cell::new(0)), Rc::new(()));
        let mut scope = heap.scope();
        let make = |scope: &mut Scope<'_>, target: Handle<'_>| {
            let (count, held) = (called.clone(), alive.clone());
            let weak = scope.new_weak_with(target, move |scope, weak| {
                assert_eq!(scope.target(scope.get(weak)), None);
                scope.nested().allocate(node_type()).expect("room");
                count.set(count.get() + Rc::strong_count(&held).min(1));
            });
            let weak = weak.expect("room");
            scope.global(scope.get(weak))
        };
        let kept: Vec<Global> = (0..3)
            .map(|_| {
                let mut inner = scope.nested();
                let target = inner.allocate(node).expect("room");
                drop(make(&mut inner, target));
                make(&mut inner, target)
            })
            .collect();
        scope.collect();
        assert_eq!((called.get(), Rc::strong_count(&alive)), (3, 4), "{plan:?}, zeal {zeal}");
        assert!(kept.iter().all(|weak| scope.target(scope.open(weak)).is_none()));
        drop(kept);
        scope.collect();
        assert_eq!((called.get(), Rc::strong_count(&alive)), (3, 1), "{plan:?}: closures go with their objects");
        drop(scope);
        heap.verify().expect("a sound heap");
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}");
    }
}

#[test]
fn a_panic_in_a_callback_of_a_weak_reference_is_told() {
    for plan in PLANS {
        let (mut heap, node) = host(plan, false);
        let said = Rc::new(RefCell::new(vec![]));
        let note = said.clone();
        heap.on_finalizer_error(move |error| note.borrow_mut().push(error.to_string()));
        let mut scope = heap.scope();
        let weak = {
            let mut inner = scope.nested();
            let target = inner.allocate(node).expect("room");
            let weak = inner.new_weak_with(target, |_, _| panic!("on purpose")).expect("room");
            inner.global(inner.get(weak))
        };
        scope.collect();
        assert_eq!(*said.borrow(), ["`weak reference with callback` panicked: on purpose"], "{plan:?}");
        assert_eq!(scope.target(scope.open(&weak)), None);
    }
}

/// A word of an object that refers weakly; it ends with its target, its holder, or the next plain word.
#[test]
fn weak_fields_do_not_keep_their_targets() {
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, node) = host(plan, zeal);
        let mut scope = heap.scope();
        let holder = scope.allocate(node).expect("room");
        let mut inner = scope.nested();
        let target = inner.allocate(node).expect("room");
        let (from, to) = (inner.get(holder), inner.get(target));
        assert_eq!(inner.weak_field(from, 16), None, "no weak field yet");
        inner.set_word(from, 16, to.address());
        assert_eq!(inner.weak_field(from, 16), None, "an address is none");
        inner.set_weak_field(from, 16, Some(to));
        assert_eq!(inner.weak_field(from, 16), Some(to));
        assert!(refused(|| inner.set_weak_field(from, 8, Some(to))).contains("no plain word at 8"));
        inner.collect();
        let (from, to) = (inner.get(holder), inner.get(target));
        assert_eq!(inner.weak_field(from, 16), Some(to));
        inner.set_word(from, 16, 5);
        assert_eq!((inner.weak_field(from, 16), from.word(16)), (None, 5));
        inner.set_weak_field(from, 16, Some(to));
        drop(inner);
        scope.collect();
        assert_eq!((scope.weak_field(scope.get(holder), 16), scope.get(holder).word(16)), (None, 0), "{plan:?}");
        drop(scope);
        heap.scope().collect();
        heap.verify().expect("a sound heap");
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}");
    }
}

#[test]
fn weak_maps_lose_entries_with_what_they_refer_to() {
    for (mode, plan) in
        [WeakMode::Keys, WeakMode::Values, WeakMode::Both].into_iter().flat_map(|mode| PLANS.map(|plan| (mode, plan)))
    {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        let map = scope.new_weak_map(mode).expect("room");
        let kept = scope.allocate(node).expect("room");
        for _ in 0..100 {
            let mut inner = scope.nested();
            let other = inner.allocate(node).expect("room");
            inner.weak_map_set(map, kept, kept).expect("room");
            let (key, value) = if mode == WeakMode::Values { (kept, other) } else { (other, kept) };
            inner.weak_map_set(map, key, value).expect("room");
            assert_eq!(inner.weak_map_get(inner.get(map), inner.get(key)), Some(inner.get(value)));
        }
        scope.weak_map_set(map, kept, kept).expect("room");
        scope.collect();
        let (table, kept) = (scope.get(map), scope.get(kept));
        assert_eq!(scope.weak_map_entries(table).collect::<Vec<_>>(), [(kept, kept)], "{mode:?}, {plan:?}");
        assert!(scope.weak_map_remove(table, kept) && !scope.weak_map_remove(table, kept));
        assert_eq!((scope.weak_map_len(table), scope.weak_map_get(table, kept)), (0, None));
        assert_eq!(scope.weak_map_entries(table).count(), 0);
    }
}

#[test]
fn a_service_refuses_an_object_of_another_kind() {
    for plan in PLANS {
        let (mut heap, node) = host(plan, false);
        let (mut other, _) = host(plan, false);
        let mut scope = heap.scope();
        let item = scope.allocate(node).expect("room");
        let map = scope.new_weak_map(WeakMode::Keys).expect("room");
        let weak = scope.new_weak(item).expect("room");
        let pair = scope.new_ephemeron(item, None).expect("room");
        assert!(refused(|| _ = scope.weak_map_set(item, item, item)).contains("`Node` is no weak map"));
        let mut other = other.scope();
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

/// It goes on from the safepoint that has called it, and the heap is usable: what was to be allocated goes with its scope.
#[test]
fn a_panic_in_a_callback_of_the_limits_goes_on_when_the_safepoint_is_over() {
    for plan in PLANS {
        let (mut heap, node) = host(plan, false);
        let page = TypeBuilder::new("Page", 32 << 10).register().expect("a sound type");
        let scope = heap.scope();
        scope.on_soft_limit(|_, used| panic!("{} is too much", used >> 30));
        scope.set_limits(Some(1 << 20), None);
        drop(scope);
        let kept: RefCell<Vec<Global>> = RefCell::default();
        let said = refused(|| {
            for _ in 0..1000 {
                let mut scope = heap.scope();
                let page = scope.allocate(page).expect("room");
                kept.borrow_mut().push(scope.global(scope.get(page)));
                scope.poll();
            }
        });
        assert_eq!(said, "0 is too much", "{plan:?}");
        assert!((10..1000).contains(&kept.borrow().len()), "{plan:?}");
        kept.borrow_mut().clear();
        let mut scope = heap.scope();
        scope.on_soft_limit(|_, _| {});
        scope.allocate(node).expect("room");
        scope.on_out_of_memory(|_, _| panic!("none"));
        scope.set_limits(None, Some(1 << 20));
        let bytes = TypeBuilder::new("Bytes", 8).elements(0, 1).register().expect("a sound type");
        assert_eq!(refused(|| _ = scope.allocate_array(bytes, 2 << 20)), "none", "{plan:?}");
        drop(scope);
        heap.scope().collect();
        heap.verify().expect("a sound heap");
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}");
    }
}

/// The handler may collect, allocate, and set another in its place.
#[test]
fn a_handler_makes_room() {
    for plan in PLANS {
        let mut heap = Heap::new(options(plan).heap_limit(1 << 20)).expect("address space");
        let page = TypeBuilder::new("Page", 8 << 10).register().expect("a sound type");
        let cache: Rc<RefCell<Vec<Global>>> = Rc::default();
        let (dropped, asked) = (cache.clone(), Rc::new(Cell::new(0)));
        let count = asked.clone();
        heap.scope().on_out_of_memory(move |scope, _| {
            count.set(count.get() + 1);
            scope.nested().collect();
            !dropped.take().is_empty()
        });
        for _ in 0..500 {
            let mut scope = heap.scope();
            let page = scope.allocate(page).expect("the handler makes room");
            cache.borrow_mut().push(scope.global(scope.get(page)));
        }
        assert!(asked.get() > 0, "{plan:?}");
        heap.scope().on_out_of_memory(|scope, _| {
            scope.on_out_of_memory(|_, _| false);
            true
        });
        let bytes = TypeBuilder::new("Bytes", 8).elements(0, 1).register().expect("a sound type");
        let refused = heap.scope().allocate_array(bytes, 2 << 20).map(drop);
        assert!(matches!(refused, Err(OutOfMemory::Limit { .. })), "{plan:?}: {refused:?}");
        cache.take();
        heap.verify().expect("a sound heap");
    }
}

#[test]
fn a_stopped_heap_keeps_its_garbage() {
    for plan in PLANS {
        let (mut heap, node) = host(plan, false);
        let mut scope = heap.scope();
        scope.stop();
        scope.nested().allocate(node).expect("room");
        scope.poll();
        assert_eq!((scope.is_running(), scope.statistics().freed_objects), (false, 0), "{plan:?}");
        scope.restart();
        scope.set_epoch_bytes(1 << 20);
        scope.set_pause_goal(Some(std::time::Duration::from_millis(1)));
        scope.epoch();
        assert_eq!((scope.is_running(), scope.statistics().freed_objects), (true, 1), "{plan:?}");
    }
}

#[test]
fn every_failing_allocation_leaves_a_sound_heap() {
    for (plan, number) in PLANS.into_iter().flat_map(|plan| (1..=8).map(move |number| (plan, number))) {
        let mut heap = Heap::new(options(plan).fail_allocation(number)).expect("address space");
        let node = node_type();
        let build = |scope: &mut Scope<'_>| -> Result<(), OutOfMemory> {
            let [key, value] = [scope.allocate(node)?, scope.allocate(node)?];
            let map = scope.new_weak_map(WeakMode::Keys)?;
            scope.weak_map_set(map, key, value)?;
            scope.new_weak_with(key, |_, _| {})?;
            scope.new_ephemeron(key, Some(value))?;
            scope.allocate_host(String::from("a text"))?;
            Ok(())
        };
        let built = build(&mut heap.scope());
        assert!(number > 4 || matches!(built, Err(OutOfMemory::AskedFor { .. })), "{plan:?}, {number}: {built:?}");
        heap.verify().expect("a sound heap");
        heap.scope().collect();
        heap.verify().expect("a sound heap");
        assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, {number}");
    }
}

#[test]
fn the_inventory_lists_each_object_once() {
    for plan in PLANS {
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
