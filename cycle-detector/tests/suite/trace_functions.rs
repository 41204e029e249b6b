//! Trace functions that unwind: nothing may pass through the collector, and no hook is asked. The process aborts.

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use tally_heap::descriptor::{TraceVisit, TypeDescriptor};
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, type_registry};
use tally_kit::nodes::new_mutator;
use tally_kit::own_process;

unsafe extern "C" fn trace(words: *const u64, _: u64, visit: TraceVisit, context: *mut c_void) {
    // SAFETY: an image of the type's one word.
    let word = unsafe { *words };
    assert!(word != 1, "this word is none");
    // SAFETY: as the contract of trace functions says.
    unsafe { visit(word as *mut c_void, context) };
}

// SAFETY: `trace` reads only the words that it is given, and reports references.
static TRACED: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Traced", 8, &[]).traced(trace) };

/// scenario 66: while counting, in a trial, in a mark.
#[test]
fn a_trace_function_that_unwinds_ends_the_process() {
    if let Some(plan) = own_process::case() {
        return collect_with_a_wrong_word(if plan == "prompt" { Plan::Prompt } else { Plan::Deferred });
    }
    for plan in ["deferred", "prompt"] {
        let ran = own_process::start("trace_functions::a_trace_function_that_unwinds_ends_the_process", plan, &[]);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.signal(), Some(6), "{plan}: {said}");
        assert!(said.contains("this word is none") && said.contains("cannot unwind"), "{plan}: {said}");
    }
}

fn collect_with_a_wrong_word(plan: Plan) {
    let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
    let object = m.allocate(type_registry::register(&TRACED).expect("sound")).expect("room");
    m.push_root(Some(object));
    object.slot(0).store(1);
    m.collect();
}
