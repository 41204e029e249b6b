//! Why an object is alive, as a host in Rust asks: under all plans, with the names that the types' builders were told.

use crate::host::{both_with_zeal, host, options};
use tally::{Heap, Holder, Root, TypeBuilder};
use tally_heap::plan::Plan;

#[test]
fn a_path_names_the_fields_that_it_goes_through() {
    for (plan, zeal) in both_with_zeal() {
        let (mut heap, node) = host(plan, zeal);
        let table = TypeBuilder::new("Table", 8).elements(0, 16).element_reference("the value", 8).register();
        let table = table.expect("a sound type");
        let mut scope = heap.scope();
        let entries = scope.allocate_array(table, 10).expect("room");
        {
            let mut inner = scope.nested();
            let (first, second) = (inner.allocate(node).expect("room"), inner.allocate(node).expect("room"));
            inner.set_field(inner.get(entries), 8 + 3 * 16 + 8, Some(inner.get(first)));
            inner.set_field(inner.get(first), 8, Some(inner.get(second)));
        }
        let first = scope.get(entries).field(8 + 3 * 16 + 8).expect("set");
        let second = first.field(8).expect("set");
        let path: Vec<String> = scope.why_alive(second).iter().map(Holder::to_string).collect();
        let (table, first) = (scope.get(entries).address(), first.address());
        let expected = [
            "a handle".to_owned(),
            format!("`Table` at {table:#x}, element 3.the_value"),
            format!("`Node` at {first:#x}, right"),
        ];
        assert_eq!(path, expected, "{plan:?}, zeal {zeal}");
        assert_eq!(scope.count_of_type(node), 2);
        drop(scope);
        heap.verify().expect("a sound heap");
    }
}

#[test]
fn objects_of_a_type_are_those_that_roots_reach() {
    for plan in Plan::ALL {
        let (mut heap, node) = (Heap::new(options(plan)).expect("room"), crate::host::node_type());
        let mut scope = heap.scope();
        let first = scope.allocate(node).expect("room");
        for _ in 0..10 {
            scope.nested().allocate(node).expect("room");
        }
        let global = {
            let mut inner = scope.nested();
            let second = inner.allocate(node).expect("room");
            inner.global(inner.get(second))
        };
        assert_eq!(scope.objects_of(node), [scope.get(first), scope.open(&global)], "{plan:?}");
        assert_eq!(scope.referrers_of(scope.open(&global)), [Holder::Root(Root::GlobalHandle)]);
        scope.set_field(scope.get(first), 0, Some(scope.open(&global)));
        drop(global);
        scope.collect();
        let second = scope.get(first).field(0).expect("held");
        assert_eq!((scope.why_alive(second).len(), scope.count_of_type(node)), (2, 2), "{plan:?}");
    }
}

#[test]
#[should_panic(expected = "of another heap")]
fn an_object_of_another_heap_is_refused() {
    let (mut one, node) = host(Plan::Deferred, false);
    let (other, _) = host(Plan::Deferred, false);
    let mut other = other;
    let (mut scope, asked) = (one.scope(), other.scope());
    let object = scope.allocate(node).expect("room");
    asked.why_alive(scope.get(object));
}
