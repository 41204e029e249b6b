//! Makes exceptions release roots: every call that may unwind becomes an invoke whose landing pad releases the
//! function's roots.
//!
//! A function that has a personality keeps it (all personalities of this platform know cleanups); one that has none
//! gets the C one, `__gcc_personality_v0`, which knows nothing else. One pad serves all calls of a function: at a
//! safepoint a root owns its object or is null, so the pad need not know where the exception came from. The analysis
//! finds the operations of the pad like all others: its `resume` is an end of the function.
//!
//! Functions that are `nounwind` (all C) have no pads. An invoke of something that cannot unwind is a call.

use super::facts::{Effect, Facts};
use crate::analysis::callee::Callees;
use crate::llvm::call::Call;
use crate::llvm::surgery::{split_before, split_normal_edge};
use crate::llvm::{Block, Builder, Opcode, Type, Value};
use crate::lower::roots::Root;

/// The personality for a function without one.
const PERSONALITY: &str = "__gcc_personality_v0";

/// Gives `function` its pad. Functions without roots or counted results need none, unless writes may take something out of a
/// field (`takes`).
pub(super) fn release_on_unwinding(
    builder: &Builder,
    callees: &Callees,
    facts: &Facts,
    function: Value,
    roots: &[Root],
    takes: bool,
) {
    let has_counts = || !roots.is_empty() || function.calls().any(|call| facts.hands_over(callees, call)) || takes;
    if function.has_attribute("nounwind") || !has_counts() {
        return;
    }
    let calls: Vec<Call> = function.calls().filter(|call| !call.is_invoke() && !call.is_musttail()).collect();
    let unwinding =
        calls.into_iter().filter(|&call| facts.may_unwind(call) && facts.effect(callees, call) != Effect::None);
    let unwinding: Vec<Call> = unwinding.filter(|&call| callees.may_be_invoked(call)).collect();
    if unwinding.is_empty() {
        return;
    }
    let pad = make_pad(builder, function, facts.landing());
    for call in unwinding {
        let next = call.value().next_instruction().expect("a call is no terminator");
        let head = split_before(builder, next);
        let rest = next.block();
        call.make_invoke(builder, head, rest, pad);
    }
}

/// Gives the normal way out of each invoke a block of its own.
pub(super) fn separate_arrivals(builder: &Builder, callees: &Callees, facts: &Facts, function: Value) {
    let invokes: Vec<Call> = function.calls().filter(|call| call.is_invoke()).collect();
    for invoke in invokes {
        if facts.effect(callees, invoke) == Effect::None {
            invoke.make_call(builder);
            continue;
        }
        let normal = invoke.normal_destination();
        let first = normal.instructions().next().expect("a block ends in a terminator");
        if first.is(Opcode::LLVMPHI) || normal.predecessor_count() != 1 {
            split_normal_edge(builder, invoke.value());
        }
    }
}

fn make_pad(builder: &Builder, function: Value, landing: Type) -> Block {
    let module = builder.module();
    if !function.has_personality() || function.personality().is_null() || function.personality().is_undef() {
        let of = Type::function(module.integer(32), &[], true);
        let personality = module.function(PERSONALITY).unwrap_or_else(|| module.add_function(PERSONALITY, of));
        function.set_personality(personality);
    }
    let pad = function.append_block("tally.unwind");
    builder.at_end_unlocated(pad);
    builder.cleanup_and_resume(landing);
    pad
}
