//! Weak references, weak fields, weak maps, and callbacks, under both plans.

use crate::host::{both_with_zeal, host, node_type, refused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tally::{Global, Handle, Scope, WeakMode};
use tally_heap::plan::Plan;

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
    for plan in Plan::ALL {
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
    for (mode, plan) in [WeakMode::Keys, WeakMode::Values, WeakMode::Both]
        .into_iter()
        .flat_map(|mode| Plan::ALL.map(|plan| (mode, plan)))
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
        assert_eq!(scope.weak_map_entries_behind(table, kept).map(Iterator::count), Some(0));
        assert!(scope.weak_map_remove(table, kept) && !scope.weak_map_remove(table, kept));
        assert_eq!((scope.weak_map_len(table), scope.weak_map_get(table, kept)), (0, None));
        assert_eq!(scope.weak_map_entries(table).count(), 0);
        assert!(scope.weak_map_entries_behind(table, kept).is_none());
    }
}
