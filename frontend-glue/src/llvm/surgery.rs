//! Splitting blocks, which LLVM's C API has no function for.
//!
//! ```text
//!   before                split_before(i)
//!   B: a                  H: a            <- receives B's predecessors and block addresses; no terminator yet
//!      b                     b
//!      i   <- here        B: i            <- keeps B's successors, so their phis need no change
//!      br …                  br …
//! ```
//!
//! Replacing the uses of a block (`LLVMReplaceAllUsesWith`) also rewrites the phis of its *successors*, through its
//! terminator; so the terminator is taken out while B's uses go to H. Debug records of moved instructions go to the
//! next instruction that stays: a debugger may show a variable's new value a few instructions late, never early.

use super::call::Call;
use super::{Block, Builder, Opcode, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};

/// Splits the block of `instruction` in front of it; returns the new upper half, which still lacks a terminator.
pub(crate) fn split_before(builder: &Builder, instruction: Value) -> Block {
    let lower = instruction.block();
    let upper = Block(raw!(LLVMInsertBasicBlockInContext(builder.module().context(), lower.0, c"".as_ptr())));
    let terminator = lower.terminator().expect("a block ends in a terminator");
    let moved: Vec<Value> = lower.instructions().take_while(|&current| current != instruction).collect();
    raw!(LLVMInstructionRemoveFromParent(terminator.0));
    redirect_uses(lower, upper);
    builder.at_end(upper, None);
    for current in moved {
        raw!(LLVMInstructionRemoveFromParent(current.0));
        builder.insert(current);
    }
    builder.at_end(lower, None);
    builder.insert(terminator);
    give_name(lower, upper);
    upper
}

/// Gives the old name to the upper half, where jumps arrive.
fn give_name(lower: Block, upper: Block) {
    let (from, to) = (Value(raw!(LLVMBasicBlockAsValue(lower.0))), Value(raw!(LLVMBasicBlockAsValue(upper.0))));
    let name = from.name();
    from.set_name("");
    to.set_name(&name);
}

fn redirect_uses(from: Block, to: Block) {
    raw!(LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(from.0), LLVMBasicBlockAsValue(to.0)));
}

/// Makes the phis of `block` expect `new` wherever they expected `old`.
pub(crate) fn redirect_phis(builder: &Builder, block: Block, old: Block, new: Block) {
    rebuild_phis(builder, block, |incoming| {
        incoming.iter_mut().filter(|(_, from)| *from == old).for_each(|(_, from)| *from = new)
    });
}

/// Makes the phis of `block` no longer expect `origin`, which no longer branches there.
pub(crate) fn forget_edge(builder: &Builder, block: Block, origin: Block) {
    rebuild_phis(builder, block, |incoming| incoming.retain(|(_, from)| *from != origin));
}

/// LLVM's C API can add to a phi's list but not change it: each phi is made anew. Returns the new phi for each old
/// one.
fn rebuild_phis(builder: &Builder, block: Block, change: impl Fn(&mut Vec<(Value, Block)>)) -> Vec<(Value, Value)> {
    let mut replaced = Vec::new();
    let phis: Vec<Value> = block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)).collect();
    for phi in phis {
        let mut incoming = phi.incoming();
        change(&mut incoming);
        let name = phi.name();
        let replacement = if incoming.is_empty() {
            Value(raw!(LLVMGetPoison(phi.type_of().0)))
        } else {
            let fresh = builder.phi_before(phi, phi.type_of(), &incoming);
            if raw!(LLVMCanValueUseFastMathFlags(phi.0)) != 0 {
                raw!(LLVMSetFastMathFlags(fresh.0, LLVMGetFastMathFlags(phi.0)));
            }
            raw!(LLVMInstructionSetDebugLoc(fresh.0, LLVMInstructionGetDebugLoc(phi.0)));
            fresh
        };
        phi.replace_all_uses(replacement);
        phi.erase();
        if replacement.is_instruction() {
            replacement.set_name(&name);
        }
        replaced.push((phi, replacement));
    }
    replaced
}

/// A new block on all edges from one block to another, ending in a branch there. The first may not end in an invoke
/// or an indirect branch. The phis there are made anew: the result maps each old phi to its new one.
pub(crate) fn split_edge(builder: &Builder, from: Block, to: Block) -> (Block, Vec<(Value, Value)>) {
    let between = Block(raw!(LLVMInsertBasicBlockInContext(builder.module().context(), to.0, c"".as_ptr())));
    let end = from.terminator().expect("a block ends in a terminator");
    for index in 0..raw!(LLVMGetNumSuccessors(end.0)) {
        if raw!(LLVMGetSuccessor(end.0, index)) == to.0 {
            raw!(LLVMSetSuccessor(end.0, index, between.0));
        }
    }
    builder.at_end(between, Some(end));
    builder.branch(to);
    let replaced = rebuild_phis(builder, to, |incoming| {
        // Several edges have become one.
        let value = incoming.iter().find(|(_, origin)| *origin == from).map(|(value, _)| *value);
        incoming.retain(|(_, origin)| *origin != from);
        incoming.extend(value.map(|value| (value, between)));
    });
    (between, replaced)
}

/// A new block on the way from the block of `invoke` to its normal destination, ending in a branch there.
pub(crate) fn split_normal_edge(builder: &Builder, invoke: Value) -> Block {
    let call = invoke.as_call().expect("an invoke");
    let (origin, destination) = (invoke.block(), call.normal_destination());
    let between = Block(raw!(LLVMInsertBasicBlockInContext(builder.module().context(), destination.0, c"".as_ptr())));
    raw!(LLVMSetNormalDest(invoke.0, between.0));
    builder.at_end(between, Some(invoke));
    builder.branch(destination);
    redirect_phis(builder, destination, origin, between);
    between
}

/// Moves an instruction in front of `place`.
pub(crate) fn move_before(builder: &Builder, instruction: Value, place: Value) {
    raw!(LLVMInstructionRemoveFromParent(instruction.0));
    builder.before(place);
    builder.insert(instruction);
}

/// A copy of an instruction in front of `place`, with `operand` in the place of each operand.
pub(crate) fn copy_before(
    builder: &Builder,
    instruction: Value,
    place: Value,
    operand: impl Fn(Value) -> Value,
) -> Value {
    let copy = Value(raw!(LLVMInstructionClone(instruction.0)));
    for (index, before) in (0..).zip(instruction.operands()) {
        raw!(LLVMSetOperand(copy.0, index, operand(before).0));
    }
    builder.before(place);
    builder.insert(copy);
    copy
}

impl Call {
    /// Turns an invoke of something that never unwinds into a call and a branch.
    pub(crate) fn make_call(self, builder: &Builder) -> Call {
        if !self.is_invoke() {
            return self;
        }
        builder.before(self.value());
        let (normal, unwind) = self.destinations().expect("an invoke");
        let arguments = self.arguments();
        let new = self.build(builder, self.function_type(), self.callee(), &arguments, self.own_bundles(), None);
        self.carry_over(new);
        forget_edge(builder, unwind, self.value().block());
        builder.before(self.value());
        builder.branch(normal);
        self.replace_by(new);
        new
    }
}
