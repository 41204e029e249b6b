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

thread_local! {
    static SHARED: RefCell<Option<Scope<'static>>> = const { RefCell::new(None) };
}

/// Sets another callback, and another handler, where it is dropped.
struct SetsAnother(Rc<Cell<u32>>);

impl Drop for SetsAnother {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        if self.0.get() < 8 {
            let [callback, handler] = [SetsAnother(self.0.clone()), SetsAnother(self.0.clone())];
            SHARED.with_borrow(|scope| {
                let scope = scope.as_ref().expect("a heap that stays");
                scope.on_soft_limit(move |_, _| _ = &callback);
                scope.on_out_of_memory(move |_, _| std::ptr::eq(&handler, &handler));
            });
        }
    }
}

#[test]
fn what_a_replaced_callback_owns_is_dropped_once() {
    for plan in Plan::ALL {
        let heap: &'static mut Heap = Box::leak(Box::new(host(plan, false).0));
        SHARED.set(Some(heap.scope()));
        let drops = Rc::new(Cell::new(0));
        let [callback, handler] = [SetsAnother(drops.clone()), SetsAnother(drops.clone())];
        SHARED.with_borrow(|scope| {
            let scope = scope.as_ref().expect("a heap that stays");
            scope.on_soft_limit(move |_, _| _ = &callback);
            scope.on_out_of_memory(move |_, _| std::ptr::eq(&handler, &handler));
            scope.on_soft_limit(|_, _| {});
            scope.on_out_of_memory(|_, _| false);
        });
        assert!(drops.get() >= 8 && Rc::strong_count(&drops) as u32 <= 3, "{plan:?}: {drops:?}");
        SHARED.take();
    }
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// What it owned panics in its drop, inside the safepoint: that is told as of any host value, and the safepoint goes on.
#[test]
fn callback_that_replaces_itself_and_panics_in_drop_is_told() {
    for plan in Plan::ALL {
        let (mut heap, node) = host(plan, false);
        let told: Rc<RefCell<Vec<String>>> = Rc::default();
        let tell = told.clone();
        heap.on_finalizer_error(move |error| tell.borrow_mut().push(error.to_string()));
        let mut scope = heap.scope();
        let owned = PanicsInDrop;
        scope.on_soft_limit(move |scope, _| {
            _ = &owned;
            scope.on_soft_limit(|_, _| {});
        });
        scope.set_limits(Some(1), None);
        for _ in 0..3 {
            scope.allocate(node).expect("room");
            scope.poll();
        }
        drop(scope);
        assert!(
            matches!(&told.borrow()[..], [one] if one.contains("panicked when it was dropped: dropped")),
            "{plan:?}: {told:?}"
        );
        let last =
            TypeBuilder::new("Last", 16).finalizer(|_, _| panic!("last words")).register().expect("a sound type");
        heap.scope().allocate(last).expect("room");
        heap.scope().collect();
        assert_eq!(told.borrow().len(), 2, "{plan:?}: {told:?}");
    }
}

/// The callback runs while the new storage is allocated, and leaves no room in the owner for its field.
#[test]
fn storage_of_an_owner_that_a_callback_has_shrunk_is_left_alone() {
    let items = TypeBuilder::new("Items", 8).elements(0, 8).element_reference("item", 0).register().expect("sound");
    let list = TypeBuilder::new("List", 16).reference("items", 0).register().expect("sound");
    for (plan, is_rehash) in Plan::ALL.into_iter().flat_map(|plan| [(plan, false), (plan, true)]) {
        for (length, left) in [2000, 100_000].into_iter().flat_map(|length| [1, 98, 99].map(|left| (length, left))) {
            let (mut heap, node) = host(plan, false);
            let shrunk: Rc<RefCell<Option<Global>>> = Rc::default();
            let shrink = shrunk.clone();
            let mut scope = heap.scope();
            scope.on_soft_limit(move |scope, _| {
                let outer = shrink.take().expect("once");
                let mut scope = scope.nested();
                let outer = scope.root(scope.open(&outer));
                scope.resize(outer, 0, left).expect("room");
            });
            let kept = scope.allocate(node).expect("room");
            let outer = scope.allocate(list).expect("room");
            *shrunk.borrow_mut() = Some(scope.global(scope.get(outer)));
            let (storage, owner) =
                (scope.allocate_array(items, 4).expect("room"), scope.allocate_array(items, 100).expect("room"));
            let field = 8 + 99 * 8;
            scope.set_field(scope.get(outer), 0, Some(scope.get(owner)));
            scope.set_field(scope.get(owner), field, Some(scope.get(storage)));
            for item in 0..4 {
                scope.set_field(scope.get(storage), 8 + item * 8, Some(scope.get(kept)));
            }
            scope.set_limits(Some(1), None);
            if is_rehash {
                scope.rehash(owner, field, length, Some).expect("room");
            } else {
                scope.resize(owner, field, length).expect("room");
            }
            assert!(shrunk.borrow().is_none(), "{plan:?}: the callback has run");
            for _ in 0..20 {
                let mut scope = scope.nested();
                scope.allocate_array(items, 4).expect("room");
                scope.collect();
            }
            assert_eq!(scope.get(storage).length(), 4, "{plan:?} {length} {left}");
            drop(scope);
            heap.verify().expect("a sound heap");
            heap.scope().collect();
            assert_eq!(heap.statistics().live_objects, 0, "{plan:?} {length} {left}");
        }
    }
}
