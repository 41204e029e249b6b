//! Certain facts about the paths through a function: a fault is an error only where the program cannot avoid it.
//!
//! A wrong write after a branch may never be reached: inlined code tests the type of its argument. So the faults of a
//! write into an object count only if every path from its allocation to an end of the function leads through the
//! write. A test whether the allocation returned null is no such branch.

use super::dead_code;
use super::made::{self, Nulls};
use crate::llvm::{Block, HandleSet, Opcode, Value};

/// Whether no path from `allocation` ends without `place`, as far as branches show it.
pub(super) fn follows(allocation: Value, place: Value) -> bool {
    is_on_every_way(allocation.block(), place, |block| of_one_that_is_made(allocation, block))
}

/// Whether a call of its function cannot end without `place`, as far as branches show it.
pub(super) fn is_always_run(place: Value) -> bool {
    is_on_every_way(place.function().entry(), place, |_| None)
}

/// Whether every path from `from` leads through `place`; `known` returns the targets of a block about which more is
/// known.
fn is_on_every_way(from: Block, place: Value, known: impl Fn(Block) -> Option<Vec<Block>>) -> bool {
    let wanted = place.block();
    let (mut seen, mut open) = (HandleSet::default(), vec![from]);
    let mut is_reached = false;
    while let Some(block) = open.pop() {
        if block == wanted {
            is_reached = true;
            continue;
        }
        if !seen.insert(block) {
            continue;
        }
        let next = known(block).unwrap_or_else(|| dead_code::ways_out(block));
        if next.is_empty() {
            return false;
        }
        open.extend(next);
    }
    is_reached
}

/// The way out of a block that tests whether the allocation returned null.
fn of_one_that_is_made(allocation: Value, block: Block) -> Option<Vec<Block>> {
    let terminator = block.terminator()?;
    let successors = block.successors();
    if allocation.as_call().is_some_and(|call| call.value() == terminator && call.is_invoke()) {
        // Tally's functions do not unwind.
        return allocation.as_call().map(|call| vec![call.normal_destination()]);
    }
    if !terminator.is(Opcode::LLVMBr) || successors.len() != 2 {
        return None;
    }
    let condition = terminator.operand(0);
    if !condition.is(Opcode::LLVMICmp) {
        return None;
    }
    let (asked, other) = (condition.operand(0), condition.operand(1));
    let is_equality = condition.asks_for_equality().filter(|_| other.is_null())?;
    let sources = made::sources(allocation.function().module(), asked, Nulls::Ignored);
    let is_it = sources.iter().all(|source| source.value == allocation) && !sources.is_empty();
    is_it.then(|| vec![successors[usize::from(is_equality)]])
}

/// Whether `first` has run whenever `second` runs.
pub(super) fn dominates(first: Value, second: Value) -> bool {
    let (wanted, avoided) = (second.block(), first.block());
    if wanted == avoided {
        return is_behind(first, second);
    }
    let entry = second.function().entry();
    let (mut seen, mut open) = (HandleSet::default(), vec![entry]);
    while let Some(block) = open.pop() {
        if block == avoided || !seen.insert(block) {
            continue;
        }
        if block == wanted {
            return false;
        }
        open.extend(block.successors());
    }
    true
}

/// Whether `second` may run after `first`.
pub(super) fn is_reachable(first: Value, second: Value) -> bool {
    if first.block() == second.block() && is_behind(first, second) {
        return true;
    }
    let (mut seen, mut open) = (HandleSet::default(), first.block().successors().to_vec());
    while let Some(block) = open.pop() {
        if block == second.block() {
            return true;
        }
        if seen.insert(block) {
            open.extend(block.successors());
        }
    }
    false
}

/// Whether `second` is after `first` in their block.
fn is_behind(first: Value, second: Value) -> bool {
    std::iter::successors(first.next_instruction(), |it| it.next_instruction()).any(|it| it == second)
}
