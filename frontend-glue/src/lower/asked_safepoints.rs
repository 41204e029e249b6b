//! Safepoints where the frontend asks for them, beside those that are calls anyway: `"tally-safepoints"="entry,loops"`.
//!
//! LLVM's document leaves to a collector where code may stop: in front of calls, at back edges, at the entry and the exits of
//! functions. The attribute of a function names any of these, and each becomes a call of `tally_safepoint`: a load and a branch
//! once it is lowered.
//!
//! Where roots are inferred they are placed first, and what is live there gets a root. Where roots are written, one is left out
//! where it would expose a reference that no root holds, as polls of loops are (`exposure.rs`).

use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::diagnostic::Diagnostic;
use crate::llvm::{Builder, HandleSet, Opcode, Value};
use crate::lower::runtime;

/// The attribute.
pub(crate) const ATTRIBUTE: &str = "tally-safepoints";

/// What it may name.
const WORDS: [&str; 4] = ["calls", "loops", "entry", "exits"];

/// A finding about an attribute with another word in it.
pub(crate) fn misspelt(name: &str, function: Value) -> Option<Diagnostic> {
    let asked = function.string_attribute(ATTRIBUTE)?;
    let wrong = words(&asked).find(|word| !WORDS.contains(word))?;
    let message = format!("\"{ATTRIBUTE}\" asks for `{wrong}`");
    Some(Diagnostic::about_function(name, function, message).help(format!("name any of {}", WORDS.join(", "))))
}

fn words(asked: &str) -> impl Iterator<Item = &str> {
    asked.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// The instructions in front of which a function asks for a safepoint.
pub(super) fn places(callees: &Callees, function: Value) -> Vec<Value> {
    let Some(asked) = function.string_attribute(ATTRIBUTE) else { return Vec::new() };
    let asks_for = |word: &str| words(&asked).any(|it| it == word);
    let mut places = Vec::new();
    if asks_for("entry") {
        places.push(behind_roots(callees, function));
    }
    if asks_for("calls") {
        let calls =
            function.calls().filter(|&call| callees.of_call(call) == Callee::Ordinary && callees.is_safepoint(call));
        places.extend(calls.map(|call| call.value()));
    }
    if asks_for("exits") {
        let ends = function.blocks().filter_map(|block| block.terminator());
        let ends = ends.filter(|end| matches!(end.opcode(), Some(Opcode::LLVMRet | Opcode::LLVMResume)));
        // In front of a guaranteed tail call, which must come right before the return.
        places.extend(ends.map(|end| {
            let before = end.previous_instruction().and_then(Value::as_call);
            before.filter(|call| call.is_musttail()).map_or(end, |call| call.value())
        }));
    }
    if asks_for("loops") {
        let flow = Flow::of(function);
        let goes_back = |&block: &usize| flow.successors[block].iter().any(|&to| to <= block);
        let latches = (0..flow.reachable).filter(goes_back).filter_map(|block| flow.blocks[block].terminator());
        // A call that ends a block is in front of its own edge.
        places.extend(latches.filter(|end| end.as_call().is_none()));
    }
    let mut seen = HandleSet::default();
    places.retain(|&place| seen.insert(place));
    places
}

/// The first instruction of a function behind its variables, roots, and what it stores to them.
fn behind_roots(callees: &Callees, function: Value) -> Value {
    let mut body = function.entry().instructions();
    let is_beginning = |it: &Value| match it.opcode() {
        Some(Opcode::LLVMAlloca) => true,
        Some(Opcode::LLVMStore) => it.operand(1).is(Opcode::LLVMAlloca),
        _ => it.as_call().is_some_and(|call| {
            matches!(callees.of_call(call), Callee::GcRoot | Callee::LifetimeStart)
                || call.callee().name().starts_with("llvm.dbg.")
        }),
    };
    body.find(|it| !is_beginning(it)).expect("a block ends in a terminator")
}

/// Calls `tally_safepoint` in front of each place.
pub(super) fn place(builder: &Builder, places: &[Value]) {
    if places.is_empty() {
        return;
    }
    let poll = runtime::declare(builder.module(), "tally_safepoint");
    for &place in places {
        builder.before(place);
        builder.call(poll.value_type(), poll, &[]);
    }
}
