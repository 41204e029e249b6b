//! Advances: a write stores what a later one takes out of the field that it was loaded from.
//!
//! ```text
//!   top = piles.top[to];  disk.below = top;  piles.top[to] = disk
//! ```
//!
//! Read literally, the first write counts `top`, and the second lets go of it. Both cancel: the first write has the count that the
//! field holds (`advance`), and the second, which replaces `top`, leaves it alone (`keep`, `repay`). In between `top` has a count
//! less than it has references, but at least the field's own, so it does not come to zero; and no other code looks at counts: the second
//! write is on a straight line behind the first, with no call between them.
//!
//! If both words are the same, the first write lets go of `top`, and stores it again: its count may come to zero for a moment, and is
//! right behind the second.

use super::state::{Holds, State};
use super::walk::{Walk, keeps_fields};
use crate::analysis::callee::Callee;
use crate::llvm::call::Call;
use crate::llvm::{Opcode, Value};
use crate::lower::count::decisions::What;
use crate::lower::count::facts::Effect;
use crate::lower::count::operation::Operation;
use crate::lower::count::remark::Saving;

/// Instructions behind a write that are searched for the one that repays it.
const LOOKED_AT_MAX: usize = 64;

impl Walk<'_> {
    /// The write that will take `value`, which `write` stores, out of its field; `None` if there is none, or if another has the count.
    /// The state is that behind the write.
    pub(super) fn advance_for(&mut self, state: &State, value: Value, write: Call) -> Option<Value> {
        let mine = write.value();
        let has_count =
            self.counted_temporary(state, value).is_some() || self.giver(state, value, Some(mine)).is_some();
        let repaid = if has_count || !self.it.patterns.advances || self.it.returns_twice {
            None
        } else {
            self.write_that_takes(state, value, mine)
        };
        self.advances.retain(|_, by| *by != mine);
        repaid.filter(|repaid| !self.advances.contains_key(repaid))
    }

    fn write_that_takes(&self, state: &State, value: Value, behind: Value) -> Option<Value> {
        let is_known = |state: &State| state.fields.iter().any(|field| self.canonical(field.content) == value);
        if !is_known(state) {
            return None;
        }
        let mut state = state.clone();
        let mut next = behind.next_instruction();
        for _ in 0..LOOKED_AT_MAX {
            let instruction = next?;
            if let Some(call) = instruction.as_call() {
                let callee = self.it.callees.of_call(call);
                let is_passed = keeps_fields(callee) && self.it.operations.of_call(call).is_none();
                if !is_passed || self.it.facts.effect(self.it.callees, call) != Effect::None {
                    return None;
                }
                if callee == Callee::GcWrite {
                    if self.replaced(&mut state, call) == Some(value) {
                        return Some(instruction);
                    }
                    if !is_known(&state) {
                        return None;
                    }
                } else if callee == Callee::GcRead {
                    self.note_field(&mut state, instruction);
                }
            } else if instruction.is(Opcode::LLVMLoad) {
                self.note_field(&mut state, instruction);
            } else if instruction.is(Opcode::LLVMStore) && self.gives_away(&state, value, instruction) {
                return None;
            }
            next = match instruction.block().terminator() == Some(instruction) {
                false => instruction.next_instruction(),
                true => self.only_way(instruction),
            };
        }
        None
    }

    /// Whether a root that owns the object is overwritten: its count may go on with the value.
    fn gives_away(&self, state: &State, value: Value, store: Value) -> bool {
        let slot = self.slot_of.get(&store.operand(1));
        slot.is_some_and(|&slot| state.slots[slot] == Holds::Owns && state.contents[slot] == Some(value))
    }

    /// The write has the count of the field that `repaid` will overwrite.
    pub(super) fn advance(&mut self, value: Value, write: Call, repaid: Value) {
        self.advances.insert(repaid, write.value());
        self.edit(write.value(), What::Of(Operation::Advance, value));
        self.remark(write.value(), Saving::Moved);
    }

    /// Behind the write that has taken the value: its count is the one that was advanced.
    pub(super) fn repay(&mut self, value: Value, write: Call) {
        let next = write.value().next_instruction().expect("a call is no terminator");
        self.edit(next, What::Of(Operation::Repay, value));
    }
}
