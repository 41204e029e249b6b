//! What stops the process at once, each in a process of its own: by which status, and with which words.
//!
//! Mistakes of compiled programs are in `tests/tests/suite/scenarios/mistakes.rs`; these are those of a host, and the runtime's own.

use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::fatal::{STATUS_USAGE, STATUS_VIOLATION};
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, type_registry};
use tally_kit::nodes::new_mutator;
use tally_kit::own_process;

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

/// A deed, the status that it ends with, and words of the message.
type Case = (&'static str, fn(), i32, &'static str);

const CASES: [Case; 6] = [
    ("count", count_below_zero, STATUS_VIOLATION, "(Node) would fall below zero"),
    ("deferred zeal", || zeal_recounts(Plan::Deferred), STATUS_VIOLATION, "invariant COUNT violated in epoch"),
    ("prompt zeal", || zeal_recounts(Plan::Prompt), STATUS_VIOLATION, "invariant EXACT violated in epoch"),
    ("global", global_freed_twice, STATUS_USAGE, "tally_global_free: this handle is free already"),
    ("scope", scope_closed_twice, STATUS_USAGE, "what belongs to a scope that is closed"),
    ("word", word_that_is_no_scope, STATUS_USAGE, "tally_handles_close was given what tally_handles_open"),
];

fn mutator(plan: Plan, zeal: bool) -> (Mutator, ObjectRef) {
    let mut m = new_mutator(HeapOptions { plan, zeal, ..HeapOptions::default() }).expect("address space");
    let object = m.allocate(type_registry::register(&NODE).expect("sound")).expect("room");
    m.push_root(Some(object));
    m.epoch();
    (m, object)
}

#[test]
fn each_mistake_ends_the_process_with_its_status_and_its_message() {
    if let Some(deed) = own_process::case() {
        let (_, run, ..) = CASES.into_iter().find(|case| case.0 == deed).expect("a case");
        return run();
    }
    for (deed, _, status, words) in CASES {
        let test = "stops::each_mistake_ends_the_process_with_its_status_and_its_message";
        let ran = own_process::start(test, deed, &[]);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(status), "{deed}: {said}");
        assert!(said.contains(words) && said.contains("tally: "), "{deed}: {said}");
    }
}

/// Deferred plan: of an object that a root holds, once.
fn count_below_zero() {
    let (mut m, object) = mutator(Plan::Deferred, false);
    m.heap().decrement(object);
    m.heap().decrement(object);
}

/// Zeal recounts by itself, without being asked.
fn zeal_recounts(plan: Plan) {
    let (mut m, object) = mutator(plan, true);
    match plan {
        Plan::Deferred => object.set_count(object.count() + 1),
        Plan::Prompt => object.set_exact_count(object.exact_count() + 1),
        Plan::Trace => unreachable!("nothing is counted"),
    }
    m.poll();
    m.epoch();
}

fn global_freed_twice() {
    let (mut m, object) = mutator(Plan::Deferred, false);
    // SAFETY: [ROOT] the word is a reference or null.
    let handle = unsafe { m.heap().new_global(object.address()) };
    for _ in 0..2 {
        // SAFETY: the second time is what is tested.
        unsafe { m.heap().free_global(handle) };
    }
}

fn scope_closed_twice() {
    let (mut m, object) = mutator(Plan::Deferred, false);
    let outer = m.heap().open_handles();
    // SAFETY: [ROOT] the word is a reference or null.
    unsafe { m.heap().new_handle(object.address()) };
    let inner = m.heap().open_handles();
    // SAFETY: [ROOT] the word is a reference or null.
    unsafe { m.heap().new_handle(object.address()) };
    m.heap().close_handles(outer);
    m.heap().close_handles(inner);
}

fn word_that_is_no_scope() {
    let (mut m, object) = mutator(Plan::Deferred, false);
    m.heap().open_handles();
    // SAFETY: [ROOT] the word is a reference or null.
    unsafe { m.heap().new_handle(object.address()) };
    m.heap().close_handles(object.address());
}
