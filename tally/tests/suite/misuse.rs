//! Misuse of the safe heap does not compile: each snippet is refused by rustc with the code that says why, and the same
//! without the mistake is taken.
//!
//! `tests/tests/suite/misuse.rs` has the same for the crates inside.

use std::sync::OnceLock;
use tally_kit::snippets::Snippets;

/// What every snippet has before it.
const BEFORE: &str = "
use tally::{FinalizerScope, Global, Handle, Heap, HeapOptions, Ref, Scope, TypeBuilder, TypeId};
pub fn heap() -> Heap { Heap::new(HeapOptions::new()).unwrap() }
pub fn used<T>(_: T) {}
";

fn snippets() -> &'static Snippets {
    static SNIPPETS: OnceLock<Snippets> = OnceLock::new();
    SNIPPETS.get_or_init(|| {
        let right = "    let mut heap = heap(); let mut scope = heap.scope(); used(scope.collect());";
        Snippets::new(&["tally"], BEFORE, "node: TypeId", right)
    })
}

fn taken(body: &str) {
    snippets().taken(body);
}

fn refused(body: &str, code: &str) {
    snippets().refused(body, code);
}

#[test]
fn a_reference_is_not_used_after_a_safepoint() {
    for safepoint in [
        "scope.allocate(node).unwrap()",
        "scope.poll()",
        "scope.collect()",
        "scope.collect_for(std::time::Duration::ZERO)",
        "scope.nested()",
    ] {
        let before = "    let mut heap = heap(); let mut scope = heap.scope();
    let list = scope.allocate(node).unwrap();";
        refused(&format!("{before} let item = scope.get(list); used({safepoint}); used(item);"), "E0502");
        refused(&format!("{before} let next = scope.get(list).field(0); used({safepoint}); used(next);"), "E0502");
        taken(&format!("{before} let item = scope.get(list); used(item); used({safepoint});"));
        taken(&format!("{before} used({safepoint}); let item = scope.get(list); used(item);"));
    }
}

#[test]
fn a_reference_does_not_outlive_its_scope() {
    refused(
        "    let mut heap = heap();
    let item = { let mut scope = heap.scope(); let list = scope.allocate(node).unwrap(); scope.get(list) };
    used(item);",
        "E0597",
    );
    refused(
        "    let mut heap = heap(); let mut scope = heap.scope(); let list = scope.allocate(node).unwrap();
    let item = scope.get(list); drop(scope); used(item);",
        "E0505",
    );
}

/// A handle of an inner scope cannot be read once that is closed.
#[test]
fn a_handle_is_not_used_after_its_scope() {
    let begin = "    let mut heap = heap(); let mut scope = heap.scope();
    let mut inner = scope.nested(); let item = inner.allocate(node).unwrap();";
    refused(&format!("{begin} drop(inner); used(scope.get(item));"), "E0502");
    refused(&format!("{begin} drop(inner); let later = scope.nested(); used(later.get(item));"), "E0499");
    taken(&format!("{begin} used(inner.get(item)); drop(inner); used(scope.collect());"));
    refused(
        "    let mut heap = heap(); let mut first = heap.scope(); let item = first.allocate(node).unwrap();
    drop(first); let second = heap.scope(); used(second.get(item));",
        "E0499",
    );
}

#[test]
fn a_scope_waits_while_another_is_open_in_it() {
    refused(
        "    let mut heap = heap(); let mut scope = heap.scope();
    let inner = scope.nested(); used(scope.collect()); drop(inner);",
        "E0499",
    );
    refused("    let mut heap = heap(); let first = heap.scope(); let second = heap.scope(); drop(first);", "E0499");
    refused("    let mut heap = heap(); let scope = heap.scope(); drop(heap); drop(scope);", "E0505");
    taken(
        "    let mut heap = heap(); let mut scope = heap.scope(); let outer = scope.allocate(node).unwrap();
    let mut inner = scope.nested(); used(inner.get(outer)); used(inner.collect()); drop(inner);
    used(scope.get(outer));",
    );
}

#[test]
fn what_belongs_to_a_heap_stays_on_its_thread() {
    refused("    let heap = heap(); std::thread::spawn(move || used(heap));", "E0277");
    refused(
        "    let mut heap = heap(); let mut scope = heap.scope(); let item = scope.allocate(node).unwrap();
    let global: Global = scope.global(scope.get(item)); std::thread::spawn(move || used(global));",
        "E0277",
    );
    refused(
        "    let mut heap = heap(); let mut scope = heap.scope(); let item = scope.allocate(node).unwrap();
    std::thread::scope(|threads| { threads.spawn(|| used(scope.get(item))); });",
        "E0277",
    );
}

/// A closure has no heap that it could replace, and a scope without an owner.
#[test]
fn a_heap_is_not_replaced_inside_its_own_finalizer() {
    let finalizer =
        |body: &str| format!("    let _ = TypeBuilder::new(\"T\", 8).finalizer(|scope, object| {{ {body} }});");
    refused(&finalizer("*scope = heap();"), "E0308");
    refused(&finalizer("**scope = Box::leak(Box::new(heap())).scope();"), "E0594");
    refused(&finalizer("std::mem::swap(&mut **scope, &mut Box::leak(Box::new(heap())).scope());"), "E0596");
    refused(&finalizer("used::<FinalizerScope>(*scope);"), "E0507");
    taken(&finalizer("scope.nested().collect(); used(scope.get(object));"));
    let begin = "    let heap = std::cell::RefCell::new(heap());";
    for hook in ["TypeBuilder::new(\"T\", 8).finalizer", "self::heap().scope().on_soft_limit"] {
        refused(&format!("{begin} {hook}(|_, _| drop(heap.replace(self::heap())));"), "E0373");
    }
    refused("    heap().scope().on_soft_limit(|scope, _| *scope = heap());", "E0308");
    refused("    heap().scope().on_soft_limit(|scope, _| **scope = Box::leak(Box::new(heap())).scope());", "E0594");
}

/// What a finalizer, a callback or a walk is given is good there alone.
#[test]
fn what_a_callback_is_given_does_not_leave_it() {
    let keep = "    let kept = std::rc::Rc::new(std::cell::Cell::new(None)); let keep = kept.clone();";
    let finalizer =
        |body: &str| format!("{keep} let _ = TypeBuilder::new(\"T\", 8).finalizer(move |scope, object| {body});");
    refused(&finalizer("keep.set(Some(object))"), "E0521");
    refused(&finalizer("keep.set(Some(scope.get(object)))"), "E0521");
    refused(&finalizer("keep.set(Some(scope.nested()))"), "E0521");
    taken(&finalizer("keep.set(Some(scope.global(scope.get(object))))"));
}

#[test]
fn what_a_service_yields_is_not_used_after_a_safepoint() {
    let before = "    let mut heap = heap(); let mut scope = heap.scope(); let map = scope.new_weak_map(tally::WeakMode::Keys).unwrap();
    let weak = scope.new_weak(map).unwrap(); let value = scope.allocate_host(String::new()).unwrap();";
    for reads in [
        "scope.target(scope.get(weak))",
        "scope.weak_map_get(scope.get(map), scope.get(map))",
        "scope.weak_map_entries(scope.get(map))",
        "scope.weak_field(scope.get(map), 0)",
        "scope.host::<String>(scope.get(value))",
        "scope.ephemeron_value(scope.get(map))",
    ] {
        for safepoint in
            ["scope.new_weak(map)", "scope.weak_map_set(map, map, map)", "scope.objects()", "scope.freeze()"]
        {
            refused(&format!("{before} let read = {reads}; used({safepoint}); used(read);"), "E0502");
        }
        taken(&format!("{before} let read = {reads}; used(read); scope.collect();"));
    }
}

/// A type has closures, which stay on their thread.
#[test]
fn a_type_stays_on_its_thread() {
    refused("    std::thread::spawn(move || used(node));", "E0277");
}
