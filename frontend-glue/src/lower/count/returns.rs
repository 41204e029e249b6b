//! Gives each way to a common return a return of its own.
//!
//! Frontends let all returns of a function branch to one block. Where they meet, a root that owns its object on one path owns it
//! on all: a path that meets no safepoint would count each root there, only to release it at once. With a return of its own such
//! a path counts nothing. The code generator merges returns that have turned out the same.

use crate::llvm::surgery::forget_edge;
use crate::llvm::{Block, Builder, Opcode, Value};

/// Releases of roots that a function gets more, at most.
const MORE_MAX: usize = 64;

/// Separates the returns of a function with so many roots.
pub(super) fn separate(builder: &Builder, function: Value, roots: usize) {
    if roots == 0 {
        return;
    }
    let blocks: Vec<Block> = function.blocks().collect();
    for &block in blocks.iter().filter(|block| only_returns(**block)) {
        let branches = |origin: &&Block| origin.terminator().is_some_and(|end| goes_only_to(end, block));
        let mut origins: Vec<Block> = blocks.iter().filter(branches).copied().collect();
        if origins.len() == block.predecessor_count() {
            // The last one keeps this block.
            origins.pop();
        }
        if origins.len() * roots <= MORE_MAX {
            origins.into_iter().for_each(|origin| end_in_return(builder, origin, block));
        }
    }
}

fn only_returns(block: Block) -> bool {
    let mut behind_phis = block.instructions().skip_while(|value| value.is(Opcode::LLVMPHI));
    behind_phis.next().is_some_and(|end| end.is(Opcode::LLVMRet))
}

fn goes_only_to(end: Value, block: Block) -> bool {
    end.is(Opcode::LLVMBr) && end.block().successors()[..] == [block]
}

fn end_in_return(builder: &Builder, origin: Block, block: Block) {
    let (branch, end) = (
        origin.terminator().expect("a block ends in a terminator"),
        block.terminator().expect("a block ends in a terminator"),
    );
    let result = end.operands().next().map(|value| match value.is(Opcode::LLVMPHI) && value.block() == block {
        true => value.incoming().into_iter().find(|(_, from)| *from == origin).expect("a phi knows its edges").0,
        false => value,
    });
    builder.before_with_location_of(branch, end);
    builder.return_value(result);
    branch.erase();
    forget_edge(builder, block, origin);
}
