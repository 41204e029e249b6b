//! Roots that are soon overwritten where paths meet on which they own and borrow: they borrow there.
//!
//! ```text
//!   task = cannot_run ? task->link : run_task(scheduler, task)     only the second way has a safepoint
//! ```
//!
//! Where such ways meet, the root could own its object on all of them: a way that meets no safepoint would count it, only to release
//! it at once. If the root is overwritten before the next safepoint on every way from there, the way on which it owns its
//! object releases it instead, in front of the meeting. Nothing dies in between.
//!
//! Roots that are emptied, or end with their function, are left alone: they release their objects in an order that is promised.

use super::Ownership;
use super::state::{Holds, State};
use super::walk::Walk;
use crate::analysis::flow::Direction;
use crate::llvm::{HandleMap, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::count::facts::Effect;

impl Ownership<'_> {
    /// By block: the roots that get another reference before the next safepoint on every path from its start.
    pub(super) fn overwritten(&self) -> Vec<BitSet> {
        let slots: HandleMap<Value, usize> = self.roots.iter().map(|root| root.slot).zip(0..).collect();
        let none = || BitSet::empty(self.roots.len());
        let mut all = none();
        (0..self.roots.len()).for_each(|root| all.insert(root));
        let mut at_starts = vec![none(); self.flow.blocks.len()];
        let through = |block: usize, mut soon: BitSet| {
            let instructions: Vec<Value> = self.flow.blocks[block].instructions().collect();
            for instruction in instructions.into_iter().rev() {
                if let Some(call) = instruction.as_call() {
                    if self.facts.effect(self.callees, call) != Effect::None {
                        soon = none();
                    }
                } else if instruction.is(Opcode::LLVMStore)
                    && let Some(&slot) = slots.get(&instruction.operand(1))
                {
                    match instruction.operand(0).is_null() {
                        true => soon.remove(slot),
                        false => soon.insert(slot),
                    }
                } else if matches!(instruction.opcode(), Some(Opcode::LLVMRet | Opcode::LLVMResume)) {
                    soon = none();
                }
            }
            at_starts[block] = soon.clone();
            soon
        };
        self.flow.solve(Direction::Backward, &all, |into, from| into.intersect(from), through);
        at_starts
    }
}

impl Walk<'_> {
    /// The state at the start of a block, decided where roots own their objects on some of the ways to it.
    pub(super) fn decide_mixed(&self, block: usize, state: &mut State) {
        for slot in 0..state.slots.len() {
            if state.slots[slot] == Holds::Mixed {
                let borrows = self.overwritten.get(block).is_some_and(|soon| soon.contains(slot));
                state.slots[slot] = if borrows { Holds::Borrows } else { Holds::Owns };
                // The way on which it owns its object releases it.
                state.pending |= borrows;
            }
        }
    }
}
