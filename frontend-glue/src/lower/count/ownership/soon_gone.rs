//! The last use of a root: its count may go to the written value.

use super::Ownership;
use crate::analysis::flow::Direction;
use crate::llvm::{HandleMap, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::count::facts::Effect;

impl Ownership<'_> {
    /// For each write the roots that are overwritten or left before the next safepoint on every path.
    pub(super) fn soon_gone(&self) -> HandleMap<Value, BitSet> {
        let mut at_writes = HandleMap::default();
        let slots: HandleMap<Value, usize> = self.roots.iter().map(|root| root.slot).zip(0..).collect();
        let all = || {
            let mut set = BitSet::empty(self.roots.len());
            (0..self.roots.len()).for_each(|root| set.insert(root));
            set
        };
        let through = |block: usize, mut gone: BitSet| {
            let instructions: Vec<Value> = self.flow.blocks[block].instructions().collect();
            for instruction in instructions.into_iter().rev() {
                if let Some(call) = instruction.as_call() {
                    if self.facts.effect(self.callees, call) != Effect::None {
                        gone = BitSet::empty(self.roots.len());
                    } else if self.callees.is_write(call) {
                        at_writes.insert(instruction, gone.clone());
                    }
                } else if instruction.is(Opcode::LLVMStore)
                    && let Some(&slot) = slots.get(&instruction.operand(1))
                {
                    gone.insert(slot);
                }
            }
            gone
        };
        self.flow.solve(Direction::Backward, &all(), |into, from| into.intersect(from), through);
        at_writes
    }
}
