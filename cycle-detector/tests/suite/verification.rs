//! The heap's own recount must be able to fail: each thing that it holds is broken here on purpose, and it says which
//! invariant, and of whom.
//!
//! Everything else relies on it: tests after each deed, zeal after each epoch.

use tally_collector::{Mutator, Violation};
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::memory::range::{BUFFERED, UNLOGGED, trial_cell};
use tally_heap::object::prompt_flag;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef, type_registry};
use tally_kit::nodes::new_mutator;

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
/// Promised never to be part of a cycle.
static LABEL: TypeDescriptor = TypeDescriptor::plain(c"Label", 16, &[0]).acyclic();

/// A holder in a root, which holds another node; all counted, and nothing to be done.
fn scene(plan: Plan) -> (Mutator, ObjectRef, ObjectRef) {
    let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
    let holder = allocate(&mut m, &NODE);
    let held = allocate(&mut m, &NODE);
    m.write(holder, holder.slot(0), held.address());
    m.truncate_roots(1);
    m.verify().expect("nothing is wrong yet");
    (m, holder, held)
}

/// A new object in a root of its own.
fn allocate(m: &mut Mutator, descriptor: &'static TypeDescriptor) -> ObjectRef {
    let object = m.allocate(type_registry::register(descriptor).expect("sound")).expect("room");
    m.push_root(Some(object));
    object
}

/// The violation names the invariant, and `words` say what is wrong.
fn is_named(verdict: Result<(), Violation>, invariant: &str, words: &str) {
    let violation = verdict.expect_err("it is broken");
    let said = violation.to_string();
    assert!(said.starts_with(&format!("invariant {invariant}: ")) && said.contains(words), "{said}");
}

/// Breaks something, looks, and mends it, or the end of the heap would meet it.
fn broken(plan: Plan, invariant: &str, words: &str, deeds: [fn(&mut Mutator, ObjectRef, ObjectRef); 2]) {
    let (mut m, holder, held) = scene(plan);
    deeds[0](&mut m, holder, held);
    let verdict = match plan {
        Plan::Deferred | Plan::Trace => m.verify(),
        // Without the epoch that would set some of it right.
        Plan::Prompt => tally_collector::plan::prompt::verify(m.heap()),
    };
    is_named(verdict, invariant, words);
    deeds[1](&mut m, holder, held);
    m.verify().expect("mended");
}

#[test]
fn deferred_counts_that_are_one_too_high_or_too_low() {
    let plan = Plan::Deferred;
    let higher = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| held.set_count(held.count() + 1);
    let lower = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| held.set_count(held.count() - 1);
    broken(plan, "COUNT", "(Node) has count 2, and 1 references lead to it", [higher, lower]);
    broken(plan, "COUNT", "(Node) has count 0, and 1 references lead to it", [lower, higher]);
}

#[test]
fn deferred_objects_that_are_not_clean() {
    let unarmed = |_: &mut Mutator, holder: ObjectRef, _: ObjectRef| UNLOGGED.clear(holder.slot(8).granule());
    let armed = |_: &mut Mutator, holder: ObjectRef, _: ObjectRef| UNLOGGED.set(holder.slot(8).granule());
    broken(Plan::Deferred, "LOG", "is not clean although the log is empty", [unarmed, armed]);
}

#[test]
fn deferred_traces_of_trials_and_candidates() {
    // SAFETY: [MAPPED] the byte of an object in the table of trials, which is mapped.
    let in_trial = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| unsafe { *trial_cell(held.address()) = 3 };
    // SAFETY: [MAPPED] the byte of an object in the table of trials, which is mapped.
    let in_none = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| unsafe { *trial_cell(held.address()) = 0 };
    broken(Plan::Deferred, "TRIAL", "has a place in a trial that is over", [in_trial, in_none]);
    let marked = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| BUFFERED.set(held.granule());
    let unmarked = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| BUFFERED.clear(held.granule());
    broken(Plan::Deferred, "CANDIDATE", "is marked as buffered and is not in the buffer", [marked, unmarked]);
}

#[test]
fn deferred_statistics_that_tell_of_more_than_there_is() {
    let more = |m: &mut Mutator, _: ObjectRef, _: ObjectRef| m.heap().statistics.live_objects += 1;
    let right = |m: &mut Mutator, _: ObjectRef, _: ObjectRef| m.heap().statistics.live_objects -= 1;
    broken(Plan::Deferred, "COUNT", "statistics say (objects, bytes) = (3, ", [more, right]);
}

#[test]
fn prompt_counts_that_are_one_too_high_or_too_low() {
    let plan = Plan::Prompt;
    let higher = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| held.set_exact_count(held.exact_count() + 1);
    let lower = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| held.set_exact_count(held.exact_count() - 1);
    broken(plan, "EXACT", "(Node) has count 2, and 1 references lead to it", [higher, lower]);
    broken(plan, "PENDING", "(Node) has count 0 and is not pending", [lower, higher]);
}

#[test]
fn prompt_flags_that_no_list_knows_of() {
    let pending = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| held.add_flags(prompt_flag::PENDING);
    let none = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| held.remove_flags(prompt_flag::PENDING);
    broken(Plan::Prompt, "PENDING", "is not on the pending list against its flag", [pending, none]);
    let buffered = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| BUFFERED.set(held.granule());
    let clear = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| BUFFERED.clear(held.granule());
    broken(Plan::Prompt, "CANDIDATE", "has a bit that its flags deny", [buffered, clear]);
    let both = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| {
        held.add_flags(prompt_flag::CANDIDATE);
        BUFFERED.set(held.granule());
    };
    let neither = |_: &mut Mutator, _: ObjectRef, held: ObjectRef| {
        held.remove_flags(prompt_flag::CANDIDATE);
        BUFFERED.clear(held.granule());
    };
    broken(Plan::Prompt, "CANDIDATE", "objects are marked as buffered, and fewer are", [both, neither]);
}

#[test]
fn prompt_lists_that_name_an_object_twice() {
    let (mut m, holder, held) = scene(Plan::Prompt);
    m.write(holder, holder.slot(0), 0);
    held.remove_flags(prompt_flag::PENDING);
    m.heap().add_pending(held);
    is_named(tally_collector::plan::prompt::verify(m.heap()), "PENDING", "an object is on the pending list twice");
}

/// A reference to memory that has been freed.
#[test]
fn fields_that_lead_to_what_is_gone() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let (mut m, holder, held) = scene(plan);
        m.write(holder, holder.slot(0), 0);
        m.collect();
        holder.slot(8).store(held.address());
        let verdict = match plan {
            Plan::Deferred | Plan::Trace => m.verify(),
            Plan::Prompt => tally_collector::plan::prompt::verify(m.heap()),
        };
        is_named(verdict, "HEADER", "which is not live");
        holder.slot(8).store(0);
        m.verify().expect("mended");
    }
}

#[test]
fn garbage_that_nobody_has_noted() {
    let (mut m, holder, held) = scene(Plan::Prompt);
    m.write(held, held.slot(0), held.address());
    // As if the write had noted nothing.
    holder.slot(0).store(0);
    held.set_exact_count(1);
    is_named(
        tally_collector::plan::prompt::verify(m.heap()),
        "CANDIDATE",
        "is garbage, and nothing notes what holds it",
    );
}

/// The promise of a type is the program's, and this is how it learns that it was wrong.
#[test]
fn cycles_of_objects_that_are_promised_to_be_in_none() {
    for plan in [Plan::Deferred, Plan::Prompt] {
        let mut m = new_mutator(HeapOptions { plan, ..HeapOptions::default() }).expect("address space");
        let (alone, node) = (allocate(&mut m, &LABEL), allocate(&mut m, &NODE));
        let words = "(Label) is part of a cycle, and its type is declared acyclic; take TALLY_ACYCLIC off";
        m.write(alone, alone.slot(0), alone.address());
        is_named(m.verify(), "CANDIDATE", words);
        m.write(alone, alone.slot(0), node.address());
        m.verify().expect("no cycle");
        // Once with the label as the last that the search comes to, once as the first.
        let before = allocate(&mut m, &NODE);
        for (holder, target) in [(node, alone), (node, before)] {
            m.write(holder, holder.slot(8), target.address());
            m.write(before, before.slot(0), alone.address());
            is_named(m.verify(), "CANDIDATE", words);
            m.write(holder, holder.slot(8), 0);
        }
        m.verify().expect("no cycle any more");
    }
}

/// While passes run, counts are on their way.
#[test]
fn verification_in_the_middle_of_an_epoch_is_refused() {
    let options = HeapOptions { slice_units: Some(1), ..HeapOptions::default() };
    let mut m = new_mutator(options).expect("address space");
    (0..10).for_each(|_| _ = allocate(&mut m, &NODE));
    m.flip();
    m.heap().with_driver(|driver, heap| {
        is_named(driver.verify(heap), "PENDING", "passes are running");
    });
    m.verify().expect("it ends them");
}
