//! The operations at a safepoint, at a call that may unwind, and at the end of the frame.

use super::state::{Holds, State};
use super::walk::Walk;
use crate::llvm::call::Call;
use crate::llvm::{Block, Module, Opcode, Type, Value};
use crate::lower::count::decisions::What;
use crate::lower::count::facts::Effect;
use crate::lower::count::operation::Operation;
use crate::lower::count::remark::Saving;
use crate::lower::count::stops;
use smallvec::SmallVec;

impl Walk<'_> {
    /// Establishes the state that a safepoint expects: roots own their objects, temporaries are released or hidden,
    /// and objects at zero die.
    ///
    /// A leaf that may unwind is no safepoint: nothing dies before it, and a reference in no root outlives it. But
    /// the pad of its exception expects the same state of roots, and knows no temporaries.
    pub(super) fn before_call(&mut self, state: &mut State, call: Call, effect: Effect) {
        let place = call.value();
        self.own_all(state, place);
        if effect == Effect::Unwinds {
            return self.release_temporaries(state, place);
        }
        self.settle_all(state, place);
        let arguments = call.arguments();
        let mut hidden = self.it.hidden.iter();
        for number in state.temporaries.bits().collect::<Vec<_>>() {
            let value = self.temporaries[number];
            let is_argument = arguments.iter().any(|&argument| self.canonical(argument) == value);
            if let Some(&slot) = if is_argument { hidden.next() } else { None } {
                state.temporaries.remove(number);
                self.edit(place, What::Hide(value, slot));
                state.slots[slot] = Holds::Owns;
                state.contents[slot] = Some(value);
            }
        }
        self.release_temporaries(state, place);
        if std::mem::replace(&mut state.pending, false) && !self.it.facts.drains(call) {
            let protected = self.protected(state, arguments);
            let copies = self.copied_words(call);
            self.edit(
                place,
                if copies.is_empty() { What::Drain(protected) } else { What::DrainBeside(protected, copies) },
            );
            state.pending = self.it.passed.contains(&call);
        }
    }

    /// In front of the test for a stop: temporaries are released that are needed no more, and on the usual way nothing is pending.
    pub(super) fn due(&mut self, state: &mut State, due: Call) {
        let words = stops::words_at_stop(self.it.operations, due).into_iter();
        let kept: SmallVec<[usize; 1]> =
            words.filter_map(|word| self.counted_temporary(state, self.canonical(word))).collect();
        self.release_temporaries_but(state, due.value(), &kept);
        // Postponed counts wait until they are applied.
        let waits = stops::poll_of(self.it.callees, due).is_some_and(|poll| self.it.passed.contains(&poll));
        state.pending &= waits;
    }

    /// Roots own their objects as long as a stop lasts; objects at zero die. `leave_stop` is its end.
    pub(super) fn stop(&mut self, state: &mut State, stop: Call) {
        // A finalizer may write to any field.
        state.fields.clear();
        self.borrowed = (0..state.slots.len()).filter(|&slot| state.slots[slot] == Holds::Borrows).collect();
        self.own_all(state, stop.value());
        self.settle_all(state, stop.value());
        // A result in flight without a count of its own stays on the pending list.
        state.pending |= stop.arguments().into_iter().any(|word| self.counted_temporary(state, word).is_none());
    }

    /// At the end of a stop's block the roots borrow again. An object whose last count that was is pending.
    pub(super) fn leave_stop(&mut self, state: &mut State, block: Block) {
        for slot in std::mem::take(&mut self.borrowed) {
            let end = block.terminator().expect("a block ends in a terminator");
            self.edit(end, What::OfRoot(Operation::Drop, slot));
            state.slots[slot] = Holds::Borrows;
            state.pending = true;
        }
    }

    /// Memory whose words are arguments: the callee gets a copy of it.
    fn copied_words(&self, call: Call) -> Vec<(Value, u64)> {
        let module = self.it.function.module();
        let words = |(address, of): (Value, Type)| (address, module.store_size_of(of) / 8);
        call.arguments_by_value().into_iter().map(words).filter(|&(_, count)| count > 0).collect()
    }

    fn own_all(&mut self, state: &mut State, place: Value) {
        for slot in 0..state.slots.len() {
            if state.slots[slot] == Holds::Borrows {
                self.edit(place, What::OfRoot(Operation::Own, slot));
                state.slots[slot] = Holds::Owns;
            }
        }
    }

    fn release_temporaries(&mut self, state: &mut State, place: Value) {
        self.release_temporaries_but(state, place, &[]);
    }

    fn release_temporaries_but(&mut self, state: &mut State, place: Value, kept: &[usize]) {
        for number in state.temporaries.bits().filter(|number| !kept.contains(number)).collect::<Vec<_>>() {
            self.edit(place, What::Of(Operation::Release, self.temporaries[number]));
            state.temporaries.remove(number);
            state.pending = true;
        }
    }

    fn protected(&self, state: &State, words: Vec<Value>) -> Vec<Value> {
        words.into_iter().filter(|&word| self.needs_protection(state, word)).collect()
    }

    /// Whether a word in flight may be the only reference to an object.
    fn needs_protection(&self, state: &State, word: Value) -> bool {
        let value = self.canonical(word);
        let counted = || {
            (0..state.slots.len()).any(|slot| state.slots[slot] == Holds::Owns && state.contents[slot] == Some(value))
        };
        // A `swifterror` parameter is a register, which must not be stored.
        may_hold_reference(self.it.function.module(), word)
            && !value.base().is(Opcode::LLVMAlloca)
            && !counted()
            && !value.is_parameter_with("swifterror")
    }

    pub(super) fn after_call(&mut self, state: &mut State, call: Call, next: Value) {
        state.pending |= self.changes.leaves_pending(self.it.facts, call);
        self.unhide(state, next);
        self.take_result(state, call, next);
    }

    /// Handles the arrival of an exception: the frames that it went through have released their roots, and the
    /// arguments of the call that it left are no longer needed.
    pub(super) fn land(&mut self, state: &mut State, first: Value) {
        state.pending = true;
        self.unhide(state, first);
    }

    fn unhide(&mut self, state: &mut State, place: Value) {
        for &slot in &self.it.hidden {
            if state.slots[slot] == Holds::Owns {
                self.edit(place, What::Unhide(slot));
                (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
                state.pending = true;
            }
        }
    }

    /// Handles a return: the result's count goes to the caller, the rest is released, in the order that the
    /// documentation promises.
    pub(super) fn end(&mut self, state: &mut State, end: Value) {
        let result = end.operands().next();
        let has_roots = state.slots.iter().any(|&holds| holds != Holds::Null);
        if !self.it.patterns.moves && state.pending && has_roots && !self.it.facts.leaves_its_dead(self.it.function) {
            // Fresh objects went to the pending list at birth. They are removed from it before their roots are
            // released, so that they come back in the order of the roots.
            self.own_all(state, end);
            let protected = self.protected(state, result.into_iter().collect());
            self.settle_all(state, end);
            self.edit(end, What::Drain(protected));
            state.pending = false;
        }
        // After that drain: a recount there would find a count that neither a root nor a word in flight explains.
        let hands_on = self.it.facts.has_owned_result(self.it.function);
        if hands_on && let Some(value) = result {
            let value = self.canonical(value);
            if !value.is_null() {
                self.credit(state, value, end, false);
                self.edit(end, What::Of(Operation::Result, value));
            }
        }
        let kept = if hands_on { SmallVec::new() } else { self.keep_for_result(state, end, result) };
        self.leave_but(state, end, &kept);
        // The objects in the caller's memory, or those that a leaf let go of, may be at zero now, and are valid until the caller's next
        // safepoint.
        if !self.it.facts.leaves_its_dead(self.it.function) {
            self.finish(state, end, result.into_iter().collect());
        }
        // Behind that drain, which would find them at zero and in flight, and leave them where they are.
        for number in kept {
            self.edit(end, What::Of(Operation::ReleaseInResult, self.temporaries[number]));
            state.temporaries.remove(number);
        }
    }

    /// The temporaries that the result is made of; one that a root has taken is a temporary again.
    fn keep_for_result(&mut self, state: &mut State, end: Value, result: Option<Value>) -> SmallVec<[usize; 1]> {
        let mut kept = SmallVec::new();
        for part in result.into_iter().flat_map(parts_of) {
            let value = self.canonical(part);
            let Some(&number) = self.numbers.get(&value).filter(|number| !kept.contains(*number)) else { continue };
            if !state.temporaries.contains(number) {
                let Some(slot) = self.giver(state, value, None) else { continue };
                self.edit(end, What::ForRoot(Operation::Give, value, slot));
                self.edit(end, What::Of(Operation::Hold, value));
                self.remark(end, Saving::LastUse { root: self.root_name(slot) });
                (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
                state.temporaries.insert(number);
            }
            kept.push(number);
        }
        kept
    }

    /// Handles a guaranteed tail call: the frame ends first, and its dead objects die before the callee runs.
    pub(super) fn hand_on(&mut self, state: &mut State, call: Call) {
        self.leave(state, call.value());
        if !self.it.facts.is_leaf(self.it.function) {
            self.finish(state, call.value(), call.arguments());
        }
    }

    fn finish(&mut self, state: &mut State, place: Value, in_flight: Vec<Value>) {
        if std::mem::replace(&mut state.pending, false) {
            let protected = self.protected(state, in_flight);
            self.edit(place, What::Finish(protected));
        }
    }

    /// Settles the roots that may have changed. What one of them counted may be pending then.
    fn settle_all(&mut self, state: &mut State, place: Value) {
        for &root in &self.it.settled {
            if !state.unchanged.settled.contains(root) {
                self.settle(state, place, root);
            }
        }
    }

    pub(super) fn settle(&mut self, state: &mut State, place: Value, root: usize) {
        self.edit(place, What::Settle(root));
        state.pending |= state.unchanged.counting.contains(root);
        state.unchanged.settle(&self.changes, root);
    }

    /// Ends the frame: locals are released in reverse order of declaration.
    pub(super) fn leave(&mut self, state: &mut State, place: Value) {
        self.leave_but(state, place, &[]);
    }

    /// The same, but for temporaries that are kept.
    fn leave_but(&mut self, state: &mut State, place: Value, kept: &[usize]) {
        self.release_temporaries_but(state, place, kept);
        for slot in (0..state.slots.len()).rev() {
            if self.it.settled.contains(&slot) {
                if state.unchanged.counting.contains(slot) {
                    self.edit(place, What::Unsettle(slot));
                    state.pending = true;
                }
            } else if state.slots[slot] == Holds::Owns {
                self.edit(place, What::OfRoot(Operation::Drop, slot));
                state.pending = true;
            } else if state.slots[slot] == Holds::Borrows {
                self.remark(place, Saving::Unseen { root: self.root_name(slot) });
            }
            (state.slots[slot], state.contents[slot]) = (Holds::Null, None);
        }
        if self.it.lends {
            self.edit(place, What::Unlend);
        }
    }
}

/// The pointers that a result is made of, by casts and tags, at most so many instructions away: `(uint64_t)p | 1`, `{ 5, p }`.
fn parts_of(result: Value) -> SmallVec<[Value; 1]> {
    const LOOKED_AT_MAX: usize = 8;
    use Opcode::{LLVMAdd, LLVMAnd, LLVMFreeze, LLVMInsertValue, LLVMOr, LLVMPtrToInt, LLVMSub, LLVMXor};
    let (mut parts, mut queue, mut looked_at) = (SmallVec::new(), vec![result], 0);
    while let Some(value) = queue.pop().filter(|_| looked_at < LOOKED_AT_MAX) {
        looked_at += 1;
        match value.opcode() {
            _ if value.type_of().is_plain_pointer() => parts.push(value),
            Some(LLVMPtrToInt | LLVMFreeze) => queue.push(value.operand(0)),
            Some(LLVMAdd | LLVMSub | LLVMAnd | LLVMOr | LLVMXor | LLVMInsertValue) => {
                queue.extend([value.operand(0), value.operand(1)])
            }
            _ => {}
        }
    }
    parts
}

/// Whether a word of this kind may be a reference.
fn may_hold_reference(module: Module, word: Value) -> bool {
    let of = word.type_of();
    word.is_local() && !of.is_void() && module.store_size_of(of) >= 8
}
