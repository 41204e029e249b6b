//! A way that knows where it goes at the next meeting goes there at once.
//!
//! ```text
//!   early:    …  br cleanup                          early:    …  root = null; br return
//!   late:     …  br cleanup                          late:     …  root = null; br next
//!   cleanup:  left = phi [1, early], [0, late]
//!             root = null
//!             switch left: 1 → return, 0 → next
//! ```
//!
//! So clang leaves a scope with a variable in it from several places, and so do other frontends. Where such ways meet, a root that
//! owns its object on one owns it on all: in a function with one way past a safepoint each early return counted every root there,
//! only to release it at once. Once they are separate, they end in returns of their own (`returns`). A block between does nothing
//! but to end variables, and is copied for each way; the head of a loop stays one.

use crate::analysis::callee::{Callee, Callees};
use crate::analysis::flow::Flow;
use crate::llvm::surgery::{copy_before, forget_edge, go_past};
use crate::llvm::{Block, Builder, Opcode, Value};

/// Instructions that a function gets more, at most.
const MORE_MAX: usize = 256;

/// Separates the ways of a function; nothing is changed but branches.
pub(super) fn separate(builder: &Builder, callees: &Callees, function: Value) {
    let mut left = MORE_MAX;
    // Each way that is separated may know the next meeting, too; the bound ends cycles of them.
    while let Some(meeting) = next_meeting(callees, function) {
        let cost = 1 + meeting.between.len();
        if cost > left {
            return;
        }
        left -= cost;
        meeting.pass_by(builder);
    }
}

/// A block where ways meet, one of them, and where that one goes on.
struct Meeting {
    block: Block,
    origin: Block,
    target: Block,
    between: Vec<Value>,
}

impl Meeting {
    fn pass_by(&self, builder: &Builder) {
        let end = self.origin.terminator().expect("a block ends in a terminator");
        for &instruction in &self.between {
            copy_before(builder, instruction, end, |value| value);
        }
        if self.block.predecessor_count() > 1 {
            return go_past(builder, self.origin, self.block, self.target);
        }
        // The last way: the block itself goes on where it goes.
        let end = self.block.terminator().expect("a block ends in a terminator");
        for &instruction in &self.between {
            instruction.erase();
        }
        let mut others: Vec<Block> =
            self.block.successors().into_iter().filter(|&other| other != self.target).collect();
        others.dedup();
        builder.before(end);
        builder.branch(self.target);
        end.erase();
        others.into_iter().for_each(|other| forget_edge(builder, other, self.block));
    }
}

fn next_meeting(callees: &Callees, function: Value) -> Option<Meeting> {
    let has_switch = |block: &Block| block.terminator().is_some_and(|end| chooses_by_phi(end, *block).is_some());
    if !function.blocks().any(|block| has_switch(&block)) {
        return None;
    }
    let flow = Flow::of(function);
    (0..flow.reachable).find_map(|number| {
        let block = flow.blocks[number];
        let is_head = flow.predecessors[number].iter().any(|&origin| origin >= number);
        let by = chooses_by_phi(block.terminator()?, block).filter(|_| !is_head)?;
        let between = only_ends_variables(callees, block)?;
        by.incoming().into_iter().find_map(|(value, origin)| {
            let target = value.is_integer_constant().then(|| target_for(block, value))??;
            let ends_here = origin.successors()[..] == [block] && origin.terminator()?.is(Opcode::LLVMBr);
            (ends_here && target != block).then(|| Meeting { block, origin, target, between: between.clone() })
        })
    })
}

/// The phi of its block by which a terminator chooses, unless it chooses already.
fn chooses_by_phi(end: Value, block: Block) -> Option<Value> {
    let chooses = end.is(Opcode::LLVMSwitch) || end.is(Opcode::LLVMBr) && block.successors().len() == 2;
    let by = chooses.then(|| end.operand(0))?;
    (by.is(Opcode::LLVMPHI) && by.block() == block).then_some(by)
}

/// Where the block goes with this value; none where that is one of several edges to the same block.
fn target_for(block: Block, value: Value) -> Option<Block> {
    let (end, successors) = (block.terminator()?, block.successors());
    let target = match end.is(Opcode::LLVMSwitch) {
        true => end.switch_target(value),
        false => successors[usize::from(value.is_null())],
    };
    (successors.iter().filter(|&&successor| successor == target).count() == 1).then_some(target)
}

/// The instructions of a block between its phis and its end, if they only end variables, and its phis are of no use behind its
/// successors' phis.
fn only_ends_variables(callees: &Callees, block: Block) -> Option<Vec<Value>> {
    let end = block.terminator()?;
    let is_last_use = |phi: Value, user: Value| {
        user == end
            || user.is(Opcode::LLVMPHI) && user.incoming().iter().all(|&(value, from)| value != phi || from == block)
    };
    let mut between = Vec::new();
    for instruction in block.instructions().take_while(|&instruction| instruction != end) {
        if instruction.is(Opcode::LLVMPHI) {
            if !instruction.users().all(|user| is_last_use(instruction, user)) {
                return None;
            }
        } else if ends_variable(callees, instruction) {
            between.push(instruction);
        } else {
            return None;
        }
    }
    Some(between)
}

/// Whether an instruction stores a constant to a variable, or ends its life.
pub(super) fn ends_variable(callees: &Callees, instruction: Value) -> bool {
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
