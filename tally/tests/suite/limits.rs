//! Limits, and allocations that fail: what the host is asked, and what is left afterwards, under both plans.

use crate::host::{both_with_zeal, host, node_type, options, refused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tally::{Global, Heap, OutOfMemory, Scope, TypeBuilder, WeakMode};
use tally_heap::plan::Plan;

#[test]
fn settings_take_any_number() {
    for (plan, zeal) in both_with_zeal() {
        for number in [0, 1, 1 << 40, u64::MAX] {
            let options =
                options(plan).zeal(zeal).epoch_bytes(number).pause_goal(std::time::Duration::from_nanos(number));
            let mut heap = Heap::new(options).expect("address space");
            let mut scope = heap.scope();
            for _ in 0..100 {
                scope.set_limits(Some(number), None);
                scope.set_epoch_bytes(number);
                scope.set_pause_goal(Some(std::time::Duration::from_secs(number)));
                let item = scope.allocate(node_type()).expect("room");
                scope.add_external_bytes(scope.get(item), number as i64);
                scope.poll();
            }
            scope.set_limits(None, Some(number));
            _ = scope.allocate(node_type());
            drop(scope);
            heap.scope().collect();
            heap.verify().expect("a sound heap");
        }
    }
}

/// It goes on from the safepoint that has called it, and the heap is usable: what was to be allocated goes with its scope.
#[test]
fn a_panic_in_a_callback_of_the_limits_goes_on_when_the_safepoint_is_over() {
    for plan in Plan::ALL {
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
    for plan in Plan::ALL {
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
fn every_failing_allocation_leaves_a_sound_heap() {
    for (plan, number) in Plan::ALL.into_iter().flat_map(|plan| (1..=8).map(move |number| (plan, number))) {
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
