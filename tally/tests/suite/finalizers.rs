//! Finalizers, and what else the collector calls: closures that may do anything, under both plans.

use crate::host::{both_with_zeal, host, node_type, refused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tally::{FinalizeOrder, Global, Handle, Scope, TypeBuilder, WeakMode};
use tally_heap::plan::Plan;

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

/// All that a scope can do is done inside a finalizer, a callback of a weak reference, and a handler of the limits.
#[test]
fn a_closure_that_the_collector_calls_may_do_anything() {
    fn everything(mut scope: Scope<'_>, object: Option<Handle<'_>>) {
        let node = node_type();
        let object = object.unwrap_or_else(|| scope.allocate(node).expect("room"));
        let weak = scope.new_weak(object).expect("room");
        let told = scope.new_weak_with(object, |_, _| {}).expect("room");
        let map = scope.new_weak_map(WeakMode::Keys).expect("room");
        let value = scope.allocate_host(String::from("a text")).expect("room");
        scope.weak_map_set(map, object, value).expect("room");
        let pair = scope.new_ephemeron(object, Some(value)).expect("room");
        let ring = scope.allocate(node).expect("room");
        scope.set_field(scope.get(ring), 0, Some(scope.get(ring)));
        scope.set_field(scope.get(ring), 8, Some(scope.get(object)));
        scope.set_weak_field(scope.get(ring), 16, Some(scope.get(object)));
        let safepoints: [&dyn Fn(&mut Scope<'_>); 7] = [
            &|scope| scope.poll(),
            &|scope| scope.epoch(),
            &|scope| _ = scope.collect(),
            &|scope| _ = scope.collect_for(std::time::Duration::ZERO),
            &|scope| _ = scope.objects(),
            &|scope| scope.freeze(),
            &|scope| scope.unfreeze(),
        ];
        for safepoint in safepoints.iter().chain(safepoints.iter().rev()) {
            let mut inner = scope.nested();
            inner.allocate(node).expect("room");
            inner.add_external_bytes(inner.get(object), 1 << 20);
            safepoint(&mut inner);
            drop(inner);
            assert_eq!(scope.host::<String>(scope.get(value)).map(String::as_str), Some("a text"));
            assert_eq!(scope.get(ring).field(8), Some(scope.get(object)));
            let targets = [scope.target(scope.get(weak)), scope.target(scope.get(told))];
            assert!(targets.into_iter().flatten().all(|target| target == scope.get(object)));
            let values =
                [scope.weak_map_get(scope.get(map), scope.get(object)), scope.ephemeron_value(scope.get(pair))];
            assert!(values.into_iter().flatten().all(|found| found == scope.get(value)));
        }
        scope.unfreeze();
        scope.add_external_bytes(scope.get(object), i64::MIN);
    }
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, node) = host(plan, zeal);
        let said = Rc::new(RefCell::new(vec![]));
        let note = said.clone();
        heap.on_finalizer_error(move |error| note.borrow_mut().push(error.to_string()));
        let calls = Rc::new(Cell::new([0; 3]));
        let count = |which: usize| {
            let calls = calls.clone();
            move || {
                let mut counts = calls.get();
                counts[which] += 1;
                calls.set(counts);
            }
        };
        let finalized = count(0);
        let file = TypeBuilder::new("File", 24).reference("left", 0).reference("right", 8);
        let file = file.finalizer(move |scope, object| {
            finalized();
            everything(scope.nested(), Some(object));
        });
        let file = file.register().expect("a sound type");
        for round in 0..3 {
            let mut scope = heap.scope();
            let (cleared, crossed) = (count(1), count(2));
            scope.on_soft_limit(move |scope, _| {
                crossed();
                scope.set_limits(None, None);
                everything(scope.nested(), None);
            });
            let weak = {
                let mut inner = scope.nested();
                let ring = [(); 5].map(|()| inner.allocate(file).expect("room"));
                for at in 0..5 {
                    inner.set_field(inner.get(ring[at]), 0, Some(inner.get(ring[(at + 1) % 5])));
                }
                let alone = inner.allocate(file).expect("room");
                let child = inner.allocate(file).expect("room");
                inner.set_field(inner.get(alone), 8, Some(inner.get(child)));
                let target = inner.allocate(node).expect("room");
                let weak = inner.new_weak_with(target, move |scope, weak| {
                    cleared();
                    everything(scope.nested(), Some(weak));
                });
                inner.global(inner.get(weak.expect("room")))
            };
            match round {
                0 => _ = scope.collect(),
                1 => (0..10).for_each(|_| scope.epoch()),
                _ => while !scope.collect_for(std::time::Duration::ZERO) {},
            }
            scope.set_limits(Some(0), None);
            scope.allocate(node).expect("room");
            scope.poll();
            scope.set_limits(None, None);
            drop((weak, scope));
            (0..3).for_each(|_| _ = heap.scope().collect());
            assert_eq!(*said.borrow(), [""; 0], "{plan:?}, zeal {zeal}");
            heap.verify().expect("a sound heap");
            assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}, round {round}");
        }
        assert_eq!(calls.get(), [21, 3, 3], "{plan:?}, zeal {zeal}: finalizers, callbacks, handlers");
    }
}

/// A list dies node by node, or all at once, while the finalizer of each runs every safepoint in its turn.
#[test]
fn finalizers_of_a_dying_list_run_safepoints() {
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, node) = host(plan, zeal);
        let calls = Rc::new(Cell::new(0_u32));
        let count = calls.clone();
        let link = TypeBuilder::new("Link", 16).reference("next", 0).reference("ring", 8);
        let link = link.finalizer(move |scope, object| {
            count.set(count.get() + 1);
            let mut inner = scope.nested();
            let ring = inner.allocate(node).expect("room");
            inner.set_field(inner.get(ring), 0, Some(inner.get(ring)));
            if count.get().is_multiple_of(3) {
                inner.set_field(inner.get(object), 8, Some(inner.get(ring)));
            }
            match count.get() % 5 {
                0 => inner.epoch(),
                1 => _ = inner.collect(),
                2 => _ = inner.collect_for(std::time::Duration::ZERO),
                3 => _ = inner.objects(),
                _ => inner.poll(),
            }
            let next = inner.get(object).field(0);
            assert!(next.is_none_or(|next| next.type_name() == "Link"));
        });
        let link = link.register().expect("a sound type");
        let length = if zeal { 60 } else { 2000 };
        for round in 1..=3 {
            let mut scope = heap.scope();
            let list = scope.allocate(link).expect("room");
            for _ in 1..length {
                let mut inner = scope.nested();
                let item = inner.allocate(link).expect("room");
                let (first, item) = (inner.get(list), inner.get(item));
                inner.set_field(item, 0, first.field(0));
                inner.set_field(first, 0, Some(item));
            }
            if round == 2 {
                scope.collect();
            }
            drop(scope);
            let mut scope = heap.scope();
            (0..20).for_each(|_| if round == 3 { scope.epoch() } else { scope.poll() });
            (0..3).for_each(|_| _ = scope.collect());
            drop(scope);
            heap.verify().expect("a sound heap");
            assert_eq!(heap.statistics().live_objects, 0, "{plan:?}, zeal {zeal}, round {round}");
            assert_eq!(calls.get(), round * length, "{plan:?}, zeal {zeal}");
        }
    }
}

/// An object that its finalizer stores lives on; it is finalized again if it is registered.
#[test]
fn a_finalizer_saves_its_object() {
    for plan in Plan::ALL {
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
    for plan in Plan::ALL {
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
    for plan in Plan::ALL {
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
