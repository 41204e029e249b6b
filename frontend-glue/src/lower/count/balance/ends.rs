//! The ends of frames: nothing has a count there that nobody takes.

use super::Checker;
use super::state::{Holds, State};
use crate::llvm::call::Call;
use crate::llvm::{Opcode, Value};

impl Checker<'_> {
    /// Nothing has a count any more, but for what the result is made of while the frame `ends`.
    pub(super) fn frame_is_empty(&mut self, state: &State, at: Value, ends: bool) {
        self.nothing_is_advanced(state, at);
        if let Some(slot) = state.slots.iter().position(|holds| matches!(holds, Holds::Owns | Holds::Clash)) {
            self.blame(at, &format!("root {} still owns its object when the frame goes away", self.root(slot)));
        }
        if let Some(&root) = state.counting.first() {
            self.blame(at, &format!("root {} still counts its old object when the frame goes away", self.root(root)));
        }
        if let Some(&root) = state.ended.first() {
            self.blame(at, &format!("root {} was not settled where its life ended", self.root(root)));
        }
        if !ends && !state.temporaries.is_empty() {
            self.blame(at, "a temporary still has its count when the frame goes away");
        }
        if !state.credits.is_empty() {
            self.blame(at, "a count is left over that no write, root or result takes");
        }
        if state.address_taken {
            self.blame(at, "the frame goes away while it is still announced as one whose roots others may write to");
        }
    }

    pub(super) fn ends_in_tail_call(&self, end: Value) -> bool {
        end.block().calls().any(Call::is_musttail)
    }

    pub(super) fn end(&mut self, state: &State, end: Value) {
        if self.ends_in_tail_call(end) {
            return;
        }
        self.frame_is_empty(state, end, false);
        self.nothing_is_put_off(state, end);
        if end.is(Opcode::LLVMRet)
            && self.facts.has_owned_result(self.function)
            && !state.handed
            && end.operands().next().is_some_and(|value| !value.is_null())
        {
            self.blame(end, "the result comes without the count that callers expect");
        }
        if end.is(Opcode::LLVMRet) && state.fallen && !self.facts.leaves_its_dead(self.function) {
            self.blame(end, "a count fell since the last drain: dead objects outlive the function");
        }
    }
}
