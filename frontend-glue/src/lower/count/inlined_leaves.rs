//! Small leaves are put in place of their calls, before anything is decided about counts.
//!
//! ```text
//!   push(piles, pop(piles, from), to)        pop takes a disk out of a field, push stores it to another
//! ```
//!
//! Between the two bodies the disk's count moves along, and what both write to the same words cancels (`advances`). As calls, each
//! function counts for itself, and LLVM's inliner comes too late: counts are decided by then.
//!
//! Only inferred leaves are taken (`inferred_leaves`): in their bodies there is no safepoint, so nothing dies there that did not die
//! there before, and no root of theirs is seen by the collector. Each root becomes null where the leaf returned, in reverse order.
//! Behind the place of a call in a function that is no leaf stands a mark (`left`), which becomes the stop that stood behind the
//! call (`stops`): what the leaf has let go of dies there, as before. Leaves that call leaves are taken after those.
//!
//! Inferred roots are inferred again where leaves were put in place (`inferred/again.rs`).
//!
//! Roots that are no plain references stay where they are, as do functions marked `noinline`, and calls in functions that call
//! `setjmp`. A leaf with no call left is deleted.

use super::Patterns;
use super::facts::Facts;
use super::operation::{Operation, Operations};
use super::stops::in_flight;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::{AttributeKind, Call, Position};
use crate::llvm::{Builder, HandleMap, HandleSet, Module, Opcode, Value};
use crate::lower::inferred;
use crate::lower::roots::rooted_variable;
use tally_heap::plan::Plan;

/// Instructions of a leaf that is taken, at most.
const LEAF_MAX: usize = 40;
/// Instructions that a function gets more, at most.
const MORE_MAX: usize = 1024;
/// Leaves that call leaves that call leaves are taken to this depth.
const ROUNDS_MAX: usize = 4;

/// Puts small leaves in place of their calls; those that are gone are taken off the list of managed functions.
pub(in crate::lower) fn put_in_place(builder: &Builder, managed: &mut Vec<Value>, patterns: Patterns) {
    let module = builder.module();
    let callees = Callees::of(module);
    let facts_alone = Patterns { owned_results: false, ..patterns };
    let facts = Facts::of(builder, &callees, &mut managed.clone(), facts_alone);
    let left: Vec<Value> = managed.iter().copied().filter(|&function| facts.is_inferred_leaf(function)).collect();
    let leaves: HandleSet<Value> = left.iter().copied().collect();
    let taking = Taking { builder, callees: &callees, leaves, no_inline: AttributeKind::named("noinline") };
    let mut more: HandleMap<Value, usize> = HandleMap::default();
    put_all(&taking, managed, left, &mut more);
    if inferred::is_done(module) {
        let grown = managed.iter().copied().filter(|function| more.get(function).is_some_and(|&more| more > 0));
        let end_of_leaf = Operations::declare(module).function(Operation::Left);
        inferred::again::infer(builder, grown, Some(end_of_leaf), Plan::Prompt);
    }
}

/// Puts the leaves in place that are left, those first that call no others of them.
fn put_all(taking: &Taking, managed: &mut Vec<Value>, mut left: Vec<Value>, more: &mut HandleMap<Value, usize>) {
    let module = taking.builder.module();
    for _ in 0..ROUNDS_MAX {
        let waiting: HandleSet<Value> = left.iter().copied().collect();
        let chosen: Vec<Value> = left.iter().copied().filter(|&leaf| taking.fits(leaf, &waiting)).collect();
        if chosen.is_empty() {
            return;
        }
        left.retain(|leaf| !chosen.contains(leaf));
        let marked = chosen.iter().map(|&leaf| taking.mark(leaf, more)).filter(|&marked| marked).count();
        if marked == 0 {
            continue;
        }
        inline_marked(module);
        let is_gone = |leaf: &Value| leaf.users().next().is_none();
        let gone: HandleSet<Value> = chosen.into_iter().filter(is_gone).collect();
        managed.retain(|function| !gone.contains(function));
        gone.iter().for_each(|&leaf| module.delete_function(leaf));
    }
}

struct Taking<'a> {
    builder: &'a Builder,
    callees: &'a Callees,
    leaves: HandleSet<Value>,
    no_inline: AttributeKind,
}

impl Taking<'_> {
    /// Whether a leaf is small, has only plain roots, and calls none of those that wait for their turn.
    fn fits(&self, leaf: Value, waiting: &HandleSet<Value>) -> bool {
        let may_be =
            !leaf.has_attribute_kind(self.no_inline) && !leaf.may_be_replaced() && !leaf.value_type().is_variadic();
        may_be
            && size_of(self.callees, leaf) <= LEAF_MAX
            && leaf.calls().all(|call| !waiting.contains(&call.callee()) && !self.callees.returns_twice(call))
            && self.gcroots(leaf).into_iter().all(|call| self.is_plain(call))
    }

    fn gcroots(&self, function: Value) -> Vec<Call> {
        function.calls().filter(|&call| self.callees.of_call(call) == Callee::GcRoot).collect()
    }

    fn is_plain(&self, gcroot: Call) -> bool {
        let variable = rooted_variable(gcroot.argument(0)).filter(|variable| variable.is(Opcode::LLVMAlloca));
        gcroot.argument(1).is_null()
            && variable.is_some_and(|variable| {
                let is_access = |user: Value| match user.opcode() {
                    Some(Opcode::LLVMLoad) => true,
                    Some(Opcode::LLVMStore) => user.operand(0) != variable,
                    Some(Opcode::LLVMCall) => user.as_call().is_some_and(|call| {
                        matches!(
                            self.callees.of_call(call),
                            Callee::GcRoot | Callee::LifetimeStart | Callee::LifetimeEnd
                        )
                    }),
                    _ => false,
                };
                variable.allocated_type().is_plain_pointer()
                    && variable.operand(0).constant_integer() == Some(1)
                    && variable.users().all(is_access)
            })
    }

    /// Marks the calls of a leaf that its body takes the place of; whether there are any.
    fn mark(&self, leaf: Value, more: &mut HandleMap<Value, usize>) -> bool {
        let size = size_of(self.callees, leaf);
        let takes = |call: &Call| {
            let caller = call.value().function();
            let grows = more.entry(caller).or_insert(0);
            let fits = !call.is_invoke()
                && !call.has_attribute(self.no_inline)
                && *grows + size <= MORE_MAX
                && !caller.calls().any(|call| self.callees.returns_twice(call));
            *grows += if fits { size } else { 0 };
            fits
        };
        let calls: Vec<Call> = leaf.users().filter_map(Value::as_call).filter(takes).collect();
        if calls.is_empty() {
            return false;
        }
        self.empty_roots(leaf);
        let operations = Operations::declare(self.builder.module());
        for call in &calls {
            call.set_attribute("alwaysinline");
            if !self.leaves.contains(&call.value().function()) {
                self.builder.before(call.value().next_instruction().expect("a call is no terminator"));
                operations.emit(self.builder, Operation::Left, in_flight(self.builder, *call).as_slice());
            }
        }
        true
    }

    /// Lets go of the roots of a leaf before it returns.
    fn empty_roots(&self, leaf: Value) {
        let variables: Vec<Value> =
            self.gcroots(leaf).into_iter().filter_map(|call| rooted_variable(call.argument(0))).collect();
        let ends: Vec<Value> = leaf.blocks().filter_map(|block| block.terminator()).collect();
        for end in ends.into_iter().filter(|end| end.is(Opcode::LLVMRet)) {
            self.builder.before(end);
            for &variable in variables.iter().rev() {
                self.builder.store(self.builder.module().pointer().null(), variable);
            }
        }
    }
}

/// Instructions of a function that may become code.
fn size_of(callees: &Callees, function: Value) -> usize {
    let becomes_code = |value: &Value| match value.as_call().map(|call| callees.of_call(call)) {
        Some(callee) => !matches!(callee, Callee::GcRoot | Callee::LifetimeStart | Callee::LifetimeEnd),
        None => !matches!(value.opcode(), Some(Opcode::LLVMAlloca | Opcode::LLVMPHI | Opcode::LLVMBr)),
    };
    function.blocks().map(|block| block.instructions().filter(becomes_code).count()).sum()
}

/// Inlines the marked calls, and no others: LLVM's pass would take what the program has marked, too.
pub(in crate::lower) fn inline_marked(module: Module) {
    let kind = AttributeKind::named("alwaysinline");
    let functions: Vec<Value> = module.functions().filter(|function| function.has_attribute_kind(kind)).collect();
    functions.iter().for_each(|function| function.remove_attribute(Position::Function, "alwaysinline"));
    module.run_passes("always-inline");
    functions.iter().for_each(|function| function.set_attribute("alwaysinline", 0));
}
