//! Phis that are temporaries: a count goes along the edge into them.

use super::Ownership;
use super::phi_contents::PhiContents;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};

impl Ownership<'_> {
    /// Phis that are temporaries: references flow into them, some of which come with a count. One that a root holds needs none.
    pub(super) fn owned_phis(&self, slot_of: &HandleMap<Value, usize>, held: &PhiContents) -> HandleSet<Value> {
        let held: HandleSet<Value> = held.iter().flatten().map(|&(_, phi)| phi).collect();
        let reachable = || self.flow.blocks[..self.flow.reachable].iter();
        let in_pad = |phi: &Value| phi.block().instructions().any(|value| value.is(Opcode::LLVMLandingPad));
        let mut phis: HandleSet<Value> = reachable()
            .flat_map(|block| block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)))
            .filter(|phi| phi.type_of().is_plain_pointer() && !in_pad(phi) && !held.contains(phi))
            .collect();
        let hands_over = |value: Value| value.as_call().is_some_and(|call| self.facts.hands_over(self.callees, call));
        loop {
            let is_reference = |value: Value| {
                value.is_null()
                    || phis.contains(&value)
                    || hands_over(value)
                    || (value.is(Opcode::LLVMLoad) && slot_of.contains_key(&value.operand(0)))
            };
            let fitting: HandleSet<Value> = phis
                .iter()
                .copied()
                .filter(|phi| phi.incoming().into_iter().all(|(value, _)| is_reference(value)))
                .collect();
            let done = fitting.len() == phis.len();
            phis = fitting;
            if done {
                break;
            }
        }
        let mut owned: HandleSet<Value> = HandleSet::default();
        loop {
            let brings = |value: Value| owned.contains(&value) || hands_over(value);
            let more: Vec<Value> = phis
                .iter()
                .copied()
                .filter(|phi| !owned.contains(phi) && phi.incoming().into_iter().any(|(value, _)| brings(value)))
                .collect();
            if more.is_empty() {
                return owned;
            }
            owned.extend(more);
        }
    }
}
