//! Under the trace plan code may store references plainly, and then a mark stops the program. A module whose references are all
//! written by `llvm.gcwrite` gets the barrier of the deferred plan (`barrier`), and lets marks go in slices.
//!
//! That is so if each of its functions has the strategy `refcount` or `refcount-prompt`, whose contract it is (`--plan trace`), or
//! the attribute `"tally-barriers"`; if LLVM compiles none of them by a strategy of its own; if none makes objects by
//! `llvm_gc_allocate`, whose programs store plainly; and if nothing that can be seen in the
//! module breaks the promise: a reference that is certain to be stored past the barrier (`verify/source/raw_stores.rs`), an atomic or
//! volatile store of a typed one. Such a module is lowered as if nothing had been promised.

use super::fresh;
use super::inferred::references::is_typed;
use super::strategy::{BARRIER_FLAG, PROMPT_STRATEGY, STRATEGY};
use crate::analysis::callee::Callees;
use crate::analysis::flow::LazyFlow;
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::Plan;
use crate::verify::source;

/// The attribute of a function that writes references by `llvm.gcwrite` alone.
const PROMISE: &str = "tally-barriers";
/// Makes objects that programs for other collectors fill by plain stores.
const UNTYPED: &str = "llvm_gc_allocate";

/// Notes in the module whether its promise holds; before roots are inferred.
pub(super) fn note(module: Module, gc_names: &[(String, Plan)]) {
    let managed = source::managed_functions(module, gc_names);
    let is_traced = managed.first().is_some_and(|&function| !source::plan_of(function, gc_names).has_barrier());
    if is_traced && managed.iter().copied().all(promises) && is_kept(module, &managed, gc_names) {
        module.set_flag(BARRIER_FLAG, 1);
    }
}

/// The writes into objects that were allocated since the last safepoint, which need no barrier.
pub(super) fn fresh_writes(callees: &Callees, function: Value, flow: &LazyFlow) -> HandleSet<Call> {
    match function.calls().any(|call| callees.written(call).is_some()) {
        true => fresh::fresh_writes(callees, function, flow.get(), &HandleSet::default()),
        false => HandleSet::default(),
    }
}

fn promises(function: Value) -> bool {
    function.gc().is_some_and(|gc| [STRATEGY, PROMPT_STRATEGY].contains(&gc.as_str()))
        || function.has_string_attribute(PROMISE)
}

fn is_kept(module: Module, managed: &[Value], gc_names: &[(String, Plan)]) -> bool {
    let is_of_llvm =
        source::foreign::has_statepoints(module, gc_names) || source::foreign::has_shadow_stack(module, gc_names);
    let makes_untyped = module.function(UNTYPED).is_some_and(|function| function.users().next().is_some());
    !is_of_llvm
        && !makes_untyped
        && !managed.iter().any(|&function| function.instructions().into_iter().any(stores_atomically))
        && !source::stores_past_the_barrier(module, managed)
}

fn stores_atomically(instruction: Value) -> bool {
    let is_typed = |value: Value| is_typed(value.type_of());
    match instruction.opcode() {
        Some(Opcode::LLVMStore) => {
            is_typed(instruction.operand(0)) && (instruction.is_atomic() || instruction.is_volatile())
        }
        Some(Opcode::LLVMAtomicRMW) => is_typed(instruction.operand(1)),
        Some(Opcode::LLVMAtomicCmpXchg) => is_typed(instruction.operand(2)),
        _ => false,
    }
}
