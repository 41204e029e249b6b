//! Roots are inferred again in functions that small leaves were put into (`count/inlined_leaves.rs`).
//!
//! ```text
//!   push(piles, pop(piles, from), to)      as calls, both may let go of objects: the disk needs a root while push runs
//! ```
//!
//! In their bodies nothing dies, but at the mark where a leaf has ended. What was an argument needs no root for its call any more, and
//! its count moves along from write to write.

use super::bases::Bases;
use super::needs::Needs;
use super::placement;
use super::references::References;
use super::webs::Webs;
use super::{is_done_for_all, tail_called};
use crate::analysis::callee::Callees;
use crate::analysis::flow::Flow;
use crate::llvm::{Builder, HandleSet, Opcode, Value};
use crate::lower::roots::INFERRED;
use tally_heap::plan::Plan;

/// Infers the roots of these functions again. `end_of_leaf` is what marks the end of a leaf that was put there.
pub(in crate::lower) fn infer(
    builder: &Builder,
    functions: impl Iterator<Item = Value>,
    end_of_leaf: Option<Value>,
    plan: Plan,
) {
    let module = builder.module();
    let (callees, tail_called) = (Callees::of(module), tail_called(module));
    for function in functions {
        if !forget(function) {
            continue;
        }
        let plain_arguments = tail_called.contains(&function);
        let references = References { every: is_done_for_all(module), plain_arguments };
        let flow = Flow::of(function);
        let bases = Bases::find(builder, &references, &flow);
        let needs = Needs::find(&callees, &flow, &bases, end_of_leaf);
        let webs = Webs::of(&flow, &bases, &needs);
        placement::place(builder, &flow, &bases, &needs, &webs, plan);
    }
}

/// Removes the inferred roots, and the merges that were made for them; whether there were some that could be removed.
fn forget(function: Value) -> bool {
    let is_root = |it: &Value| it.is(Opcode::LLVMAlloca) && it.has_mark(INFERRED);
    let roots: Vec<Value> = function.instructions().into_iter().filter(is_root).collect();
    let is_only_stored = |root: &Value| {
        root.users().all(|user| user.as_call().is_some() || user.is(Opcode::LLVMStore) && user.operand(1) == *root)
    };
    if !roots.iter().all(is_only_stored) {
        return false;
    }
    for root in roots {
        root.users().collect::<Vec<_>>().into_iter().for_each(Value::erase);
        root.erase();
    }
    remove_unused_phis(function);
    true
}

/// Removes phis of which only phis make use.
fn remove_unused_phis(function: Value) {
    let mut unused: HandleSet<Value> =
        function.instructions().into_iter().filter(|it| it.is(Opcode::LLVMPHI)).collect();
    let mut used: Vec<Value> =
        unused.iter().copied().filter(|phi| phi.users().any(|user| !user.is(Opcode::LLVMPHI))).collect();
    while let Some(phi) = used.pop() {
        if unused.remove(&phi) {
            used.extend(phi.operands().filter(|operand| unused.contains(operand)));
        }
    }
    for &phi in &unused {
        phi.replace_all_uses(phi.type_of().null());
    }
    unused.into_iter().for_each(Value::erase);
}
