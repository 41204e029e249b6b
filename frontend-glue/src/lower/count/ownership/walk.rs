//! One walk through a function, block by block: the effect of each instruction on the counts.
//!
//! The walk is the transfer function of the analysis. It runs until the states no longer change; then once more, to
//! record the operations (`edges`).

use super::Ownership;
use super::phi_contents::PhiContents;
use super::state::{Holds, State};
use crate::analysis::callee::Callee;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};
use crate::lower::bit_set::BitSet;
use crate::lower::count::decisions::{Decisions, Edit, What};
use crate::lower::count::facts::Effect;
use crate::lower::count::operation::Operation;
use crate::lower::count::remark::{Remark, Saving};
use crate::lower::count::settled_roots::SettledRoots;

/// One walk: the transfer function of the analysis, or the last walk, which records.
pub(super) struct Walk<'a> {
    pub(super) it: &'a Ownership<'a>,
    pub(super) changes: SettledRoots<'a>,
    pub(super) slot_of: HandleMap<Value, usize>,
    pub(super) phi_contents: PhiContents,
    pub(super) owned_phis: HandleSet<Value>,
    /// Loads of fields whose content a write may take.
    pub(super) takeable: &'a HandleSet<Value>,
    /// Temporaries are numbered in the order of the program.
    pub(super) numbers: HandleMap<Value, usize>,
    pub(super) temporaries: Vec<Value>,
    /// Loads of a root whose content is known, and that content: what this round finds, and what the last one has found.
    pub(super) same: HandleMap<Value, Value>,
    pub(super) known: HandleMap<Value, Value>,
    pub(super) soon_gone: HandleMap<Value, BitSet>,
    /// By block: roots that are overwritten before the next safepoint.
    pub(super) overwritten: Vec<BitSet>,
    pub(super) arrivals: HandleMap<usize, Call>,
    /// Roots that own their objects for the stop of the block that is walked through.
    pub(super) borrowed: Vec<usize>,
    /// Writes that repay an advance, and the writes that have taken it.
    pub(super) advances: HandleMap<Value, Value>,
    /// In the last walk: the decisions.
    pub(super) output: Option<Decisions>,
}

impl Walk<'_> {
    pub(super) fn edit(&mut self, before: Value, what: What) {
        if let Some(output) = &mut self.output {
            output.edits.push(Edit { before, what });
        }
    }

    pub(super) fn remark(&mut self, at: Value, saving: Saving) {
        if let Some(output) = &mut self.output {
            output.remarks.push(Remark::at(at, saving));
        }
    }

    pub(super) fn root_name(&self, root: usize) -> String {
        self.it.roots[root].name.clone()
    }

    /// The value behind a load of a root.
    pub(super) fn canonical(&self, value: Value) -> Value {
        self.known.get(&value).copied().unwrap_or(value)
    }

    /// The number of the temporary that the value is, if it still holds its count.
    pub(super) fn counted_temporary(&self, state: &State, value: Value) -> Option<usize> {
        let number = *self.numbers.get(&value)?;
        state.temporaries.contains(number).then_some(number)
    }

    pub(super) fn through(&mut self, number: usize, mut state: State) -> State {
        self.decide_mixed(number, &mut state);
        for &(slot, phi) in &self.phi_contents[number] {
            if state.slots[slot] != Holds::Null {
                state.contents[slot].get_or_insert(phi);
            }
        }
        let block = self.it.flow.blocks[number];
        let first = block.first_insertion_point();
        for phi in block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if !self.owned_phis.contains(&phi) {
                continue;
            }
            for (value, _) in phi.incoming() {
                if let Some(number) = self.counted_temporary(&state, self.canonical(value)) {
                    state.temporaries.remove(number);
                    state.pending = true;
                }
            }
        }
        for phi in block.instructions().take_while(|value| value.is(Opcode::LLVMPHI)) {
            if self.owned_phis.contains(&phi) {
                self.edit(first, What::Of(Operation::Join, phi));
                state.temporaries.insert(self.numbers[&phi]);
            }
        }
        if let Some(&invoke) = self.arrivals.get(&number) {
            self.after_call(&mut state, invoke, first);
        }
        if block.is_landing_pad() {
            self.land(&mut state, first);
        }
        if number == 0 && self.it.lends {
            self.edit(block.behind_allocas(), What::Lend);
        }
        for instruction in block.instructions().collect::<Vec<_>>() {
            self.step(&mut state, instruction);
        }
        self.leave_stop(&mut state, block);
        state
    }

    fn step(&mut self, state: &mut State, instruction: Value) {
        let is_call = matches!(instruction.opcode(), Some(Opcode::LLVMCall | Opcode::LLVMInvoke));
        if !is_call {
            self.change(state, instruction);
        }
        match instruction.opcode() {
            Some(Opcode::LLVMLoad) => {
                self.load(state, instruction);
                self.note_field(state, instruction);
            }
            Some(Opcode::LLVMStore) => self.store(state, instruction),
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                let call = instruction.as_call().expect("a call or invoke");
                match self.it.operations.of_call(call) {
                    Some(Operation::Due) => return self.due(state, call),
                    Some(Operation::Stop) => return self.stop(state, call),
                    _ => {}
                }
                let effect = self.it.facts.effect(self.it.callees, call);
                if !keeps_fields(self.it.callees.of_call(call)) {
                    state.fields.clear();
                }
                if call.is_musttail() {
                    self.hand_on(state, call);
                } else if effect == Effect::None {
                    self.quiet_call(state, call);
                    self.change(state, instruction);
                } else {
                    self.before_call(state, call, effect);
                    // What gets the address of a root may have written to it.
                    state.unchanged.step(&self.changes, instruction);
                    if !call.is_invoke() {
                        let next = instruction.next_instruction().expect("a call is no terminator");
                        self.after_call(state, call, next);
                    }
                }
            }
            Some(Opcode::LLVMRet) if !ends_in_tail_call(instruction) => self.end(state, instruction),
            Some(Opcode::LLVMResume) => self.leave(state, instruction),
            _ => {}
        }
    }

    /// Roots that the instruction may change. One whose life ends is settled there, or the places where ways meet would settle it, again and
    /// again: in a loop around a large switch each root of each branch.
    fn change(&mut self, state: &mut State, instruction: Value) {
        if let Some(root) = state.unchanged.step(&self.changes, instruction) {
            let next = instruction.next_instruction().expect("a store is no terminator");
            self.settle(state, next, root);
        }
    }

    fn load(&mut self, state: &mut State, load: Value) {
        let Some(&slot) = self.slot_of.get(&load.operand(0)).filter(|_| !self.it.returns_twice) else { return };
        match state.contents[slot] {
            Some(content) => {
                self.same.insert(load, content);
            }
            None => {
                self.same.remove(&load);
                if state.slots[slot] != Holds::Null {
                    state.contents[slot] = Some(load);
                }
            }
        }
    }

    fn store(&mut self, state: &mut State, store: Value) {
        let Some(&slot) = self.slot_of.get(&store.operand(1)) else { return };
        let value = self.canonical(store.operand(0));
        if state.slots[slot] == Holds::Owns {
            self.let_go(state, slot, store);
        } else if state.slots[slot] == Holds::Borrows {
            self.remark(store, Saving::Unseen { root: self.root_name(slot) });
        }
        let next = store.next_instruction().expect("a store is no terminator");
        if self.it.returns_twice {
            self.edit(next, What::OfRoot(Operation::Own, slot));
            state.slots[slot] = Holds::Owns;
            return;
        }
        if value.is_null() {
            (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
            return;
        }
        state.contents[slot] = Some(value);
        if let Some(number) = self.counted_temporary(state, value) {
            self.edit(store, What::Of(Operation::Spend, value));
            self.edit(next, What::ForRoot(Operation::Take, value, slot));
            self.remark(store, Saving::MovedToRoot { root: self.root_name(slot) });
            state.temporaries.remove(number);
            state.slots[slot] = Holds::Owns;
        } else if self.it.patterns.lazy_roots {
            state.slots[slot] = Holds::Borrows;
        } else {
            self.edit(next, What::OfRoot(Operation::Own, slot));
            state.slots[slot] = Holds::Owns;
        }
    }

    /// A root is overwritten that owns its object: the count goes to where the object is needed soon, or away.
    fn let_go(&mut self, state: &mut State, slot: usize, store: Value) {
        match self.handed_on(state, slot, store) {
            Some((number, value)) => {
                self.edit(store, What::ForRoot(Operation::Give, value, slot));
                self.edit(store, What::Of(Operation::Hold, value));
                self.remark(store, Saving::LastUse { root: self.root_name(slot) });
                state.temporaries.insert(number);
            }
            None => {
                self.edit(store, What::OfRoot(Operation::Drop, slot));
                state.pending = true;
            }
        }
    }

    pub(super) fn take_result(&mut self, state: &mut State, call: Call, next: Value) {
        if let Some(&number) = self.numbers.get(&call.value()) {
            if self.it.patterns.moves {
                state.temporaries.insert(number);
            } else {
                self.edit(next, What::Of(Operation::Release, call.value()));
                state.pending = true;
            }
        }
    }

    fn quiet_call(&mut self, state: &mut State, call: Call) {
        match self.it.callees.of_call(call) {
            Callee::GcWrite => self.write(state, call),
            Callee::GcRead => self.note_field(state, call.value()),
            Callee::Runtime(_) if self.it.facts.checks(call) => {}
            Callee::Runtime(_) | Callee::WriteWord | Callee::WritePair => state.pending = true,
            Callee::Ordinary if self.it.facts.is_quiet(call) || self.it.facts.calls_inferred_leaf(call) => {
                let borrowing = (0..state.slots.len()).filter(|&slot| state.slots[slot] == Holds::Borrows);
                let names: Vec<String> = borrowing.map(|slot| self.root_name(slot)).collect();
                for root in names {
                    self.remark(call.value(), Saving::Borrowed { root });
                }
                let next = call.value().next_instruction().expect("a call is no terminator");
                self.take_result(state, call, next);
                state.pending |= self.it.facts.calls_inferred_leaf(call);
            }
            // An unknown leaf may write references.
            Callee::Ordinary => state.pending = true,
            _ => {}
        }
    }

    /// A reference goes into an object or a global: it needs a credit.
    fn write(&mut self, state: &mut State, call: Call) {
        let value = self.canonical(call.argument(0));
        let place = call.value();
        let taken = self.taken(state, call);
        if let Some(taken) = taken {
            self.edit(place, What::Of(Operation::Keep, taken));
        }
        if !value.is_null() {
            self.credit_of_write(state, value, call);
        }
        if let Some(taken) = taken {
            match self.advances.contains_key(&place) {
                true => self.repay(taken, call),
                false => self.own_taken(state, taken, call),
            }
        }
        state.pending = true;
    }

    /// Provides the credit for a write.
    fn credit_of_write(&mut self, state: &mut State, value: Value, write: Call) {
        match self.advance_for(state, value, write) {
            Some(repaid) => self.advance(value, write, repaid),
            None => self.credit(state, value, write.value(), true),
        }
    }

    /// Provides the credit for a consumer of `value`.
    pub(super) fn credit(&mut self, state: &mut State, value: Value, place: Value, only_if_gone: bool) {
        if let Some(number) = self.counted_temporary(state, value) {
            state.temporaries.remove(number);
            self.edit(place, What::Of(Operation::Spend, value));
            self.remark(place, Saving::Moved);
            return;
        }
        match self.giver(state, value, only_if_gone.then_some(place)) {
            Some(slot) => {
                state.slots[slot] = Holds::Borrows;
                self.edit(place, What::ForRoot(Operation::Give, value, slot));
                self.remark(place, Saving::LastUse { root: self.root_name(slot) });
            }
            None => self.edit(place, What::Of(Operation::Increment, value)),
        }
    }
}

impl Walk<'_> {
    /// The root that gives its count for the value; with a `write`, if it is soon gone behind that.
    pub(super) fn giver(&self, state: &State, value: Value, write: Option<Value>) -> Option<usize> {
        let is_gone = |slot: usize, write: Value| self.soon_gone.get(&write).is_some_and(|gone| gone.contains(slot));
        let gives = |&slot: &usize| {
            state.slots[slot] == Holds::Owns
                && state.contents[slot] == Some(value)
                && write.is_none_or(|write| is_gone(slot, write))
        };
        (0..state.slots.len()).find(gives).filter(|_| self.it.patterns.last_use)
    }
}

/// Whether the call writes to no field, or is a write, which tells which.
pub(in crate::lower::count) fn keeps_fields(callee: Callee) -> bool {
    use Callee::{GcRead, GcRoot, GcWrite, LifetimeEnd, LifetimeStart, OtherIntrinsic};
    matches!(callee, GcWrite | GcRead | GcRoot | LifetimeStart | LifetimeEnd | OtherIntrinsic)
}

/// Whether the frame is already gone at this return.
fn ends_in_tail_call(end: Value) -> bool {
    end.block().calls().any(Call::is_musttail)
}
