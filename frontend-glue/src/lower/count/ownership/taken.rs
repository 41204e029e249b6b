//! Values that a write takes out of a field: the count that the field had for its object goes to the value.
//!
//! ```text
//!   packet = queue.first;  queue.first = packet.next;  send(packet)
//! ```
//!
//! Read literally, the write leaves `packet` without a count: its object waits on the pending list, and each safepoint drains, until
//! something counts it again. But what the write replaces is known to be `packet`, so the write keeps that count (`keep`), and
//! `packet` is a temporary from there on, as if a call had returned it with its count.
//!
//! That is done only where the count has somewhere to go before anything can die: to a root that has borrowed the object, or, further
//! on along a straight line, to a root, a field, or the hidden root of an argument. So no object dies at another safepoint
//! than in the literal reading.
//!
//! What a function returns may be such a value: its count goes to the caller, where the module shows all callers (`facts`).
//!
//! The content of a field is known from its load to the next write at the same offset, or a call. Writes at other offsets are to
//! other fields: the object operand of a write is the object itself. An element whose index is no constant (`places`) is known
//! until any write but one of it.

use super::places::{Place, may_replace, place_of, read_slot};
use super::state::{Holds, State};
use super::walk::Walk;
use crate::analysis::callee::Callee;
use crate::llvm::call::Call;
use crate::llvm::{Block, HandleSet, Opcode, Value};
use crate::lower::count::decisions::What;
use crate::lower::count::facts::Effect;
use crate::lower::count::operation::Operation;
use crate::lower::count::remark::Saving;
use crate::lower::count::stops;
use crate::lower::global_slots::global_behind;
use smallvec::{SmallVec, smallvec};

/// Fields whose content is known, at most.
const FIELDS_MAX: usize = 8;
/// Instructions behind a write that are searched for a use of what it took.
const LOOKED_AT_MAX: usize = 256;

/// A field whose content is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Field {
    place: Place,
    pub(super) content: Value,
}

/// Whether a block calls something that does not return.
fn ends_program(block: Block) -> bool {
    block.terminator().is_some_and(|end| end.is(Opcode::LLVMUnreachable))
}

/// Whether the pointer is, or may have come from, the address of a global.
fn may_be_in_a_global(base: Value) -> bool {
    let from_operands = base.is(Opcode::LLVMPHI) || base.is(Opcode::LLVMSelect);
    base.is(Opcode::LLVMGetElementPtr)
        || global_behind(base).is_some()
        || from_operands && base.operands().any(|operand| global_behind(operand).is_some())
}

impl Walk<'_> {
    /// The content of a field is known from here on.
    pub(super) fn note_field(&self, state: &mut State, value: Value) {
        if !self.takeable.contains(&value) {
            return;
        }
        let Some(slot) = read_slot(self.it.callees, value) else { return };
        let place = place_of(self.it.function.module(), slot);
        // In a global the same word may have several bases and offsets.
        if may_be_in_a_global(place.object) {
            return;
        }
        state.fields.retain(|field| !self.is_same(&field.place, &place) && field.content != value);
        if state.fields.len() == FIELDS_MAX {
            state.fields.remove(0);
        }
        state.fields.push(Field { place, content: value });
    }

    fn is_same(&self, one: &Place, other: &Place) -> bool {
        one.is(other, &|one, other| self.canonical(one) == self.canonical(other))
    }

    /// What the write replaces, if that is known; the field's content is not known any more.
    pub(super) fn replaced(&self, state: &mut State, write: Call) -> Option<Value> {
        let module = self.it.function.module();
        let object = place_of(module, write.argument(1));
        let place = place_of(module, write.argument(2));
        let is_of_object = object.offset == 0 && object.indexed.is_none();
        if !is_of_object
            || self.canonical(place.object) != self.canonical(object.object)
            || may_be_in_a_global(place.object)
        {
            state.fields.clear();
            return None;
        }
        let found = state.fields.iter().find(|field| self.is_same(&field.place, &place)).copied();
        let written = self.canonical(write.argument(0));
        state.fields.retain(|field| {
            let is_replaced = self.is_same(&field.place, &place);
            let is_another =
                place.indexed.is_none() && field.place.indexed.is_none() && field.place.offset != place.offset;
            // Where the write is to this word after all, the word has the same content behind it.
            is_another || !is_replaced && self.canonical(field.content) == written
        });
        // Where object and slot were computed from two loads of a root, a later look at the write cannot tell.
        let can_be_checked = |field: &Field| may_replace(self.it.callees, write, field.content);
        found.filter(can_be_checked).map(|field| field.content)
    }

    /// Whether the write keeps the count of what it replaces, and what that is.
    pub(super) fn taken(&self, state: &mut State, write: Call) -> Option<Value> {
        let value = self.replaced(state, write)?;
        if self.advances.contains_key(&write.value()) {
            return Some(value);
        }
        let is_counted =
            self.counted_temporary(state, value).is_some() || self.holder(state, value, Holds::Owns).is_some();
        let is_wanted =
            || self.holder(state, value, Holds::Borrows).is_some() || self.is_consumed(value, write.value(), true);
        (!is_counted && is_wanted()).then_some(value)
    }

    /// The root that has the value in that way.
    fn holder(&self, state: &State, value: Value, holds: Holds) -> Option<usize> {
        let has = |&slot: &usize| state.slots[slot] == holds && state.contents[slot] == Some(value);
        (0..state.slots.len()).find(has)
    }

    /// Behind the write: the count goes to a root that borrows the object, or stays with the value.
    pub(super) fn own_taken(&mut self, state: &mut State, value: Value, write: Call) {
        let number = self.numbers[&value];
        self.remark(write.value(), Saving::Moved);
        let Some(slot) = self.holder(state, value, Holds::Borrows) else {
            return state.temporaries.insert(number);
        };
        let next = write.value().next_instruction().expect("a call is no terminator");
        self.edit(next, What::Of(Operation::Spend, value));
        self.edit(next, What::ForRoot(Operation::Take, value, slot));
        state.slots[slot] = Holds::Owns;
    }

    /// The number and the value of the temporary that the count of a root goes to when the root is overwritten: what is returned, or
    /// stored elsewhere, before anything can die.
    pub(super) fn handed_on(&self, state: &State, slot: usize, store: Value) -> Option<(usize, Value)> {
        let patterns = &self.it.patterns;
        if !(patterns.moves && patterns.last_use) || self.it.returns_twice {
            return None;
        }
        let value = state.contents[slot]?;
        let number = *self.numbers.get(&value)?;
        (!state.temporaries.contains(number) && self.is_consumed(value, store, false)).then_some((number, value))
    }

    /// Whether the value is stored to a root or a field, passed on to the next safepoint, or returned with its count, on every way from an
    /// instruction on that does not end the program.
    fn is_consumed(&self, value: Value, behind: Value, by_arguments: bool) -> bool {
        let (mut ways, mut seen) = (vec![behind.next_instruction()], HandleSet::default());
        let mut left = LOOKED_AT_MAX;
        while let Some(mut next) = ways.pop() {
            loop {
                let Some(instruction) = next.filter(|_| left > 0) else { return false };
                left -= 1;
                match self.consumes(value, instruction, by_arguments) {
                    Some(true) => break,
                    Some(false) => return false,
                    None if instruction.is_terminator() => {
                        let on = self.goes_on_to(instruction);
                        let new = on.into_iter().filter(|&block| {
                            !ends_program(block) && !self.goes_into_phi(value, instruction.block(), block)
                        });
                        ways.extend(
                            new.filter(|&block| seen.insert(block.as_value())).map(|block| block.instructions().next()),
                        );
                        break;
                    }
                    None => next = instruction.next_instruction(),
                }
            }
        }
        true
    }

    /// Whether the instruction takes the value over; false where objects may die before something does.
    fn consumes(&self, value: Value, instruction: Value, by_arguments: bool) -> Option<bool> {
        let is_it = |argument: Value| self.canonical(argument) == value;
        if let Some(call) = instruction.as_call() {
            return match self.it.facts.effect(self.it.callees, call) {
                _ if call.is_musttail() => Some(false),
                // To the program a leaf that was inferred is a safepoint.
                Effect::None if self.it.facts.calls_inferred_leaf(call) => {
                    Some(by_arguments && call.arguments().into_iter().any(is_it))
                }
                Effect::None if self.it.operations.of_call(call) == Some(Operation::Due) => {
                    let stays = stops::words_at_stop(self.it.operations, call).into_iter().any(is_it);
                    (!stays).then_some(false)
                }
                Effect::Safepoint => Some(by_arguments && call.arguments().into_iter().any(is_it)),
                Effect::Unwinds => Some(false),
                Effect::None if self.it.callees.of_call(call) == Callee::GcWrite && is_it(call.argument(0)) => {
                    Some(true)
                }
                Effect::None => None,
            };
        }
        match instruction.opcode() {
            Some(Opcode::LLVMStore) => {
                let is_root = self.slot_of.contains_key(&instruction.operand(1));
                (is_root && is_it(instruction.operand(0))).then_some(true)
            }
            Some(Opcode::LLVMRet) => {
                Some(instruction.operands().any(is_it) && self.it.facts.has_owned_result(self.it.function))
            }
            Some(Opcode::LLVMResume) => Some(false),
            _ => None,
        }
    }

    /// The blocks behind a block's end; behind a stop, where it goes on as a rule.
    fn goes_on_to(&self, end: Value) -> SmallVec<[Block; 2]> {
        match stops::behind_stop(self.it.operations, end) {
            Some(rest) => smallvec![rest],
            None => end.block().successors(),
        }
    }

    fn goes_into_phi(&self, value: Value, from: Block, to: Block) -> bool {
        let mut phis = to.instructions().take_while(|value| value.is(Opcode::LLVMPHI));
        phis.any(|phi| {
            let comes = |(incoming, origin): (Value, Block)| origin == from && self.canonical(incoming) == value;
            self.owned_phis.contains(&phi) && phi.incoming().into_iter().any(comes)
        })
    }

    /// The first instruction of the block that a branch leads to, if each is the other's only neighbour there.
    pub(super) fn only_way(&self, end: Value) -> Option<Value> {
        let flow = self.it.flow;
        let block = flow.blocks[..flow.reachable].iter().position(|&block| block == end.block())?;
        match flow.successors[block][..] {
            [to] if flow.predecessors[to].len() == 1 => flow.blocks[to].instructions().next(),
            _ => None,
        }
    }
}
