//! Finds out whether an instruction is in code that can never run, as far as constants show it.
//!
//! Optimisers (and frontends that fold) leave a write to null after a branch on a constant, or in a block that no
//! path enters. Such a module is right, so the write is no error; it is lowered like any other code. Only writes that
//! would be refused are checked, so the search costs nothing otherwise.

use crate::llvm::{Block, Opcode, Value};
use std::collections::HashSet;

/// Whether no path leads from the function's entry to the block of `instruction`.
pub(super) fn holds(instruction: Value) -> bool {
    let (wanted, entry) = (instruction.block(), instruction.function().entry());
    let (mut seen, mut open) = (HashSet::from([entry]), vec![entry]);
    while let Some(block) = open.pop() {
        if block == wanted {
            return false;
        }
        open.extend(ways_out(block).into_iter().filter(|&next| seen.insert(next)));
    }
    true
}

/// The possible successors: of a branch or switch on a constant, only one.
pub(super) fn ways_out(block: Block) -> Vec<Block> {
    let successors = block.successors().to_vec();
    let terminator = block.terminator().expect("a block ends in a terminator");
    let on_constant = || terminator.operand(0).constant_integer();
    let only = match terminator.opcode() {
        Some(Opcode::LLVMBr) if successors.len() == 2 => on_constant().map(|bit| successors[usize::from(bit == 0)]),
        Some(Opcode::LLVMSwitch) => {
            let value = Some(terminator.operand(0)).filter(|value| value.is_integer_constant());
            value.map(|value| terminator.switch_target(value))
        }
        _ => None,
    };
    only.map_or(successors, |target| vec![target])
}
