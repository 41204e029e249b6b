//! Gives each way to a common return a return of its own.
//!
//! Frontends let all returns of a function branch to one block. Where they meet, a root that owns its object on one path owns it
//! on all: a path that meets no safepoint would count each root there, only to release it at once. With a return of its own such
//! a path counts nothing. A few instructions in front of the return (the load of the result, a write, variables that end) stand
//! in front of each. The code generator merges returns that have turned out the same.
//!
//! ```text
//!   if (vector->length == vector->items->capacity) enlarge(vector);     hardly ever, and the only safepoint
//!   vector->items->at[vector->length++] = item;
//! ```

use super::out_parameters::OutParameters;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::surgery::{copy_before, forget_edge};
use crate::llvm::{Block, Builder, HandleMap, Opcode, Value};

/// Releases of roots and other instructions that a function gets more, for one block that returns, at most.
const MORE_MAX: usize = 64;
/// Instructions in front of a return that each way to it gets, besides ends of variables, at most.
const COPIED_MAX: usize = 40;
/// A write becomes as many instructions.
const WRITE: usize = 12;

/// Separates the returns of a function with so many roots.
pub(super) fn separate(builder: &Builder, callees: &Callees, stores: &OutParameters, function: Value, roots: usize) {
    if roots == 0 {
        return;
    }
    let kinds = Kinds { callees, stores };
    // A block that has got a return of its own may be one where ways meet; each round moves the returns forward by a block.
    let mut returning: Vec<Block> = function.blocks().filter(|&block| kinds.only_returns(block)).collect();
    while let Some(block) = returning.pop() {
        let origins: Vec<Block> = function.blocks().filter(|&origin| goes_only_to(origin, block)).collect();
        let is_more = |value: &Value| !value.is(Opcode::LLVMPHI) && !value.is(Opcode::LLVMRet);
        let cost = roots + block.instructions().filter(is_more).map(|value| kinds.size_of(value)).sum::<usize>();
        let is_left = origins.len() < block.as_value().users().count();
        let copies = if is_left { origins.len() } else { origins.len().saturating_sub(1) };
        if origins.is_empty() || copies * cost > MORE_MAX {
            continue;
        }
        for origin in origins {
            end_in_return(builder, origin, block);
            returning.extend(Some(origin).filter(|&origin| kinds.only_returns(origin)));
        }
        if block.as_value().users().next().is_none() {
            block.delete();
        }
    }
}

/// The kinds of instructions in front of a return.
struct Kinds<'a> {
    callees: &'a Callees,
    /// Stores that are known by their place in the function are not copied.
    stores: &'a OutParameters,
}

impl Kinds<'_> {
    /// Whether a block returns, and does hardly anything before.
    fn only_returns(&self, block: Block) -> bool {
        let mut copied = 0;
        let mut behind_phis = block.instructions().skip_while(|value| value.is(Opcode::LLVMPHI));
        let end = behind_phis.find(|&value| {
            let ends_variable = ends_variable(self.callees, value);
            let is_copied = !ends_variable && self.is_copied(value);
            copied += if is_copied { self.size_of(value) } else { 0 };
            !is_copied && !ends_variable
        });
        end.is_some_and(|end| end.is(Opcode::LLVMRet)) && copied <= COPIED_MAX
    }

    /// Whether an instruction reads or writes, or computes from what was read.
    fn is_copied(&self, value: Value) -> bool {
        use Opcode::{LLVMAdd, LLVMGetElementPtr, LLVMSExt, LLVMSub, LLVMTrunc, LLVMZExt};
        match value.opcode() {
            Some(Opcode::LLVMLoad | Opcode::LLVMStore) => !value.is_volatile() && !value.is_atomic(),
            Some(LLVMGetElementPtr | LLVMTrunc | LLVMZExt | LLVMSExt | LLVMAdd | LLVMSub) => true,
            _ => self.is_write(value),
        }
    }

    fn is_write(&self, value: Value) -> bool {
        let call = value.as_call().filter(|&call| self.callees.of_call(call) == Callee::GcWrite);
        call.is_some_and(|call| !self.stores.is_counted_store(call))
    }

    fn size_of(&self, value: Value) -> usize {
        if self.is_write(value) { WRITE } else { 1 }
    }
}

/// Whether an instruction stores a constant to a variable, or ends its life.
fn ends_variable(callees: &Callees, instruction: Value) -> bool {
    let is_variable = |value: Value| value.is(Opcode::LLVMAlloca);
    match instruction.opcode() {
        Some(Opcode::LLVMStore) => {
            instruction.operand(0).is_constant() && is_variable(instruction.operand(1)) && !instruction.is_volatile()
        }
        Some(Opcode::LLVMCall) => {
            let call = instruction.as_call().expect("a call");
            callees.of_call(call) == Callee::LifetimeEnd
        }
        _ => false,
    }
}

fn goes_only_to(origin: Block, block: Block) -> bool {
    origin != block
        && origin.terminator().is_some_and(|end| end.is(Opcode::LLVMBr) && origin.successors()[..] == [block])
}

fn end_in_return(builder: &Builder, origin: Block, block: Block) {
    let branch = origin.terminator().expect("a block ends in a terminator");
    // What the block's values are on this way.
    let mut here: HandleMap<Value, Value> = HandleMap::default();
    for instruction in block.instructions().collect::<Vec<_>>() {
        if instruction.is(Opcode::LLVMPHI) {
            let (value, _) =
                instruction.incoming().into_iter().find(|(_, from)| *from == origin).expect("a phi knows its edges");
            here.insert(instruction, value);
            continue;
        }
        let copy = copy_before(builder, instruction, branch, |value| here.get(&value).copied().unwrap_or(value));
        here.insert(instruction, copy);
    }
    branch.erase();
    forget_edge(builder, block, origin);
}
