//! The writes that need no barrier because a write just before them logged their object.
//!
//! The first write of an epoch to an object logs the whole of it, or the first part of a large one, and clears the bits
//! of all its slots; so until a safepoint comes, the barrier of a second write there could only find them clear [LOG].
//! `entry->next = …; entry->previous = …` pays once.
//!
//! The search follows blocks that run one after the other, each once: every value is made once there. Two addresses
//! lie in one object if they are at known distances from the same value, and loads of a private slot without a store
//! between them are the same value. Frontends leave their variables in memory until LLVM optimises, so without this
//! rule nearly nothing would be found.

use super::fresh::private_slots;
use crate::analysis::callee::Callees;
use crate::analysis::flow::Flow;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Module, Opcode, Value};
use tally_heap::type_registry::LOGGED_TOGETHER;

/// The writes of `function` whose object an earlier one has logged. Polls have been placed.
pub(super) fn repeated_writes(callees: &Callees, module: Module, function: Value, flow: &Flow) -> HandleSet<Call> {
    let slots = private_slots(function);
    let mut repeated = HandleSet::default();
    let follows = |block: usize| matches!(flow.predecessors[block][..], [before] if flow.successors[before].len() == 1);
    for first in (0..flow.reachable).filter(|&block| !follows(block)) {
        let next = |&block: &usize| flow.successors[block].first().copied().filter(|&next| follows(next));
        let row = std::iter::successors(Some(first), next).flat_map(|block| flow.blocks[block].instructions());
        look_along(callees, module, &slots, row, &mut repeated);
    }
    repeated
}

fn look_along(
    callees: &Callees,
    module: Module,
    slots: &HandleSet<Value>,
    row: impl Iterator<Item = Value>,
    repeated: &mut HandleSet<Call>,
) {
    let mut known = Known { module, held: HandleMap::default(), same: HandleMap::default() };
    let mut logged: HandleSet<Value> = HandleSet::default();
    for instruction in row {
        match instruction.opcode() {
            Some(Opcode::LLVMLoad) if slots.contains(&instruction.operand(0)) => {
                let held = *known.held.entry(instruction.operand(0)).or_insert(instruction);
                known.same.insert(instruction, held);
            }
            Some(Opcode::LLVMStore) if slots.contains(&instruction.operand(1)) => {
                let (object, distance) = known.place(instruction.operand(0));
                let held = if distance == 0 { object } else { instruction.operand(0) };
                known.held.insert(instruction.operand(1), held);
            }
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                let call = instruction.as_call().expect("a call or invoke");
                if callees.is_safepoint(call) {
                    logged.clear();
                } else if let Some(object) = known.object_of(callees, call)
                    && !logged.insert(object)
                {
                    repeated.insert(call);
                }
            }
            _ => {}
        }
    }
}

/// The knowledge about values at one place.
struct Known {
    module: Module,
    /// The content of private slots.
    held: HandleMap<Value, Value>,
    /// Loads, and the first value that is the same.
    same: HandleMap<Value, Value>,
}

impl Known {
    /// `value` as the representative of all equal values, and the offset from there.
    fn place(&self, value: Value) -> (Value, i64) {
        let mut distance = 0i64;
        let end = value.follow(|value| {
            let step = match value.opcode() {
                Some(Opcode::LLVMBitCast) => 0,
                Some(Opcode::LLVMGetElementPtr) => value.own_offset(self.module)?,
                _ => return None,
            };
            distance = distance.checked_add(step)?;
            Some(value.operand(0))
        });
        let (value, distance) = end.map_or((value, 0), |end| (end, distance));
        match self.same.get(&value) {
            Some(&first) => (first, distance),
            None => (value, distance),
        }
    }

    /// The object that a write logs together with its first reference.
    fn object_of(&self, callees: &Callees, write: Call) -> Option<Value> {
        let written = callees.written(write)?;
        let (object, from) = self.place(written.object);
        let (holder, to) = self.place(written.slot);
        let distance = to.checked_sub(from)?;
        let is_near = (0..=LOGGED_TOGETHER as i64 - written.bytes).contains(&distance);
        (object == holder && is_near).then_some(object)
    }
}
