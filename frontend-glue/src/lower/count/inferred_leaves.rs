//! Inferred leaves: functions that may let go of objects, but reach no safepoint, so that nothing dies while they run.
//!
//! ```text
//!   push(piles, pop(piles, from), to)      both only read and write fields
//! ```
//!
//! A function that writes a reference is not quiet: a count falls. Yet objects die at safepoints only, and such a function has none of
//! its own but the drain at its end. An inferred leaf leaves that drain to its caller: the caller looks whether anything is pending behind
//! the call (`stops`), and what died there goes then, before the caller's next instruction. So neither the leaf nor its caller
//! counts roots for the call, and what a program sees is the same.
//!
//! All callers must know it: the function is internal, and only called, by managed functions. It calls quiet functions, leaves, and others
//! of its kind that are already known, so no recursion is a leaf. A cycle of blocks in which something may be let go of would be polled,
//! and is no leaf either: a leaf lets go of a bounded number of references.

use super::facts::{Facts, is_direct_call};
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::smallest;
use crate::analysis::flow::{Edges, Flow};
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Value};
use crate::lower::poll::strongly_connected;
use tally_compiled::symbols::CallKind;

/// Finds them among the managed functions.
pub(super) fn find(callees: &Callees, facts: &Facts, managed: &[Value]) -> HandleSet<Value> {
    let all: HandleSet<Value> = managed.iter().copied().collect();
    let may_be = |function: &Value| {
        function.is_internal()
            && !function.may_be_replaced()
            && !facts.leaves_its_dead(*function)
            && !facts.is_quiet_function(*function)
            && function.users().all(|user| is_direct_call(user, *function, &all))
    };
    let candidates: HandleSet<Value> = managed.iter().copied().filter(may_be).collect();
    smallest(candidates.iter().copied(), &candidates, |leaves, function| {
        let lets_go = |call: Call| lets_go(callees, facts, leaves, call);
        let passes = |call: Call| lets_go(call) || facts.is_passed_by_quiet(callees, call) || ends_program(call);
        let fits = |call: Call| !call.is_musttail() && passes(call);
        function.calls().all(fits) && !comes_again(function, lets_go)
    })
}

/// Whether the call is of a function of the C library that ends the program at once, without running any of its code: nothing
/// dies any more.
pub(super) fn ends_program(call: Call) -> bool {
    const ENDS: [&str; 4] = ["abort", "_exit", "_Exit", "__assert_fail"];
    let callee = call.callee();
    callee.is_function() && !callee.has_body() && !call.is_invoke() && ENDS.contains(&callee.name().as_str())
}

/// Whether counts may fall in the call, but nothing dies, given the leaves known so far.
fn lets_go(callees: &Callees, facts: &Facts, leaves: &HandleSet<Value>, call: Call) -> bool {
    match callees.of_call(call) {
        Callee::GcWrite | Callee::WriteWord | Callee::WritePair | Callee::Runtime(CallKind::Leaf) => true,
        _ if facts.is_quiet(call) => false,
        _ => leaves.contains(&call.callee()) || facts.is_unknown_leaf(callees, call),
    }
}

/// Whether a cycle of blocks contains such a call.
fn comes_again(function: Value, is_wanted: impl Fn(Call) -> bool) -> bool {
    let flow = Flow::of(function);
    let edges: Vec<Edges> = flow.successors[..flow.reachable].to_vec();
    let is_cycle = |part: &Vec<usize>| part.len() > 1 || edges[part[0]].contains(&part[0]);
    let mut cycles = strongly_connected(&edges).into_iter().filter(is_cycle).flatten();
    cycles.any(|block| flow.blocks[block].calls().any(&is_wanted))
}
