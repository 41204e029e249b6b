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
//! The content of a field is known from its load to the next write at the same offset, or a call. Writes at other offsets are to
//! other fields: the object operand of a write is the object itself.

use super::state::{Holds, State};
use super::walk::Walk;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::count::decisions::What;
use crate::lower::count::facts::Effect;
use crate::lower::count::operation::Operation;
use crate::lower::count::remark::Saving;
use crate::lower::global_slots::global_behind;

/// Fields whose content is known, at most.
const FIELDS_MAX: usize = 8;
/// Offsets that are added up to find the object of an address, at most.
const STEPS_MAX: usize = 32;
/// Instructions behind a write that are searched for a use of what it took.
const LOOKED_AT_MAX: usize = 256;

/// A field whose content is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Field {
    object: Value,
    offset: i64,
    pub(super) content: Value,
}

/// The loads of a function whose values a write may take: of fields at an offset that some write names.
pub(in crate::lower::count) fn candidates(callees: &Callees, function: Value) -> HandleSet<Value> {
    let module = function.module();
    let is_write = |call: &Call| callees.of_call(*call) == Callee::GcWrite;
    let written: Vec<i64> = function.calls().filter(is_write).filter_map(|call| offset_in(module, call)).collect();
    if written.is_empty() {
        return HandleSet::default();
    }
    let instructions = function.blocks().flat_map(|block| block.instructions().collect::<Vec<_>>());
    let is_of_field = |value: &Value| {
        read_slot(callees, *value).is_some_and(|slot| written.contains(&place_of(module, slot).1))
            && value.type_of().is_plain_pointer()
    };
    instructions.filter(is_of_field).collect()
}

/// The slot that a load, or a call of gcread, reads.
fn read_slot(callees: &Callees, value: Value) -> Option<Value> {
    match value.opcode() {
        Some(Opcode::LLVMLoad) if !value.is_volatile() && !value.is_atomic() => {
            Some(value.operand(0)).filter(|slot| !slot.is(Opcode::LLVMAlloca))
        }
        Some(Opcode::LLVMCall) => {
            let call = value.as_call()?;
            (callees.of_call(call) == Callee::GcRead).then(|| call.argument(1))
        }
        _ => None,
    }
}

/// The pointer that an address was computed from, and its constant offset from there. In code that is never reached an address may be
/// computed from itself.
fn place_of(module: Module, mut address: Value) -> (Value, i64) {
    let mut offset = 0_i64;
    for _ in 0..STEPS_MAX {
        if !address.is(Opcode::LLVMGetElementPtr) {
            break;
        }
        let Some(sum) = address.own_offset(module).and_then(|own| own.checked_add(offset)) else { break };
        (address, offset) = (address.operand(0), sum);
    }
    (address, offset)
}

/// The offset in its object at which a write stores, if it is a constant.
pub(in crate::lower::count) fn offset_in(module: Module, write: Call) -> Option<i64> {
    let (object, before) = place_of(module, write.argument(1));
    let (base, offset) = place_of(module, write.argument(2));
    (base == object).then(|| offset - before)
}

/// The offset at which a value was loaded from where its address was computed from.
pub(in crate::lower::count) fn offset_of_read(callees: &Callees, value: Value) -> Option<i64> {
    Some(place_of(value.function().module(), read_slot(callees, value)?).1)
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
        let (base, offset) = place_of(self.it.function.module(), slot);
        // In a global the same word may have several bases and offsets.
        if may_be_in_a_global(base) {
            return;
        }
        let object = self.canonical(base);
        state.fields.retain(|field| (field.object, field.offset) != (object, offset) && field.content != value);
        if state.fields.len() == FIELDS_MAX {
            state.fields.remove(0);
        }
        state.fields.push(Field { object, offset, content: value });
    }

    /// What the write replaces, if that is known; the field's content is not known any more.
    pub(super) fn replaced(&self, state: &mut State, write: Call) -> Option<Value> {
        let module = self.it.function.module();
        let (base, before) = place_of(module, write.argument(1));
        let (slot_base, offset) = place_of(module, write.argument(2));
        let object = self.canonical(base);
        if before != 0 || self.canonical(slot_base) != object || may_be_in_a_global(base) {
            state.fields.clear();
            return None;
        }
        let found = state.fields.iter().find(|field| (field.object, field.offset) == (object, offset)).copied();
        state.fields.retain(|field| field.offset != offset);
        // Where object and slot were computed from two loads of a root, a later look at the write cannot tell.
        found.filter(|_| offset_in(module, write).is_some()).map(|field| field.content)
    }

    /// Whether the write keeps the count of what it replaces, and what that is.
    pub(super) fn taken(&self, state: &mut State, write: Call) -> Option<Value> {
        let value = self.replaced(state, write)?;
        let is_counted =
            self.counted_temporary(state, value).is_some() || self.holder(state, value, Holds::Owns).is_some();
        let is_wanted = || self.holder(state, value, Holds::Borrows).is_some() || self.is_consumed(value, write);
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

    /// Whether the value is stored to a root or a field, or passed on to the next safepoint, on a straight line behind the
    /// write.
    fn is_consumed(&self, value: Value, write: Call) -> bool {
        let mut next = write.value().next_instruction();
        for _ in 0..LOOKED_AT_MAX {
            let Some(instruction) = next else { return false };
            if let Some(call) = instruction.as_call() {
                let is_it = |argument: Value| self.canonical(argument) == value;
                match self.it.facts.effect(self.it.callees, call) {
                    _ if call.is_musttail() => return false,
                    Effect::Safepoint => return call.arguments().into_iter().any(is_it),
                    Effect::Unwinds => return false,
                    Effect::None if self.it.callees.of_call(call) == Callee::GcWrite && is_it(call.argument(0)) => {
                        return true;
                    }
                    Effect::None => {}
                }
            } else if instruction.is(Opcode::LLVMStore) {
                let is_root = self.slot_of.contains_key(&instruction.operand(1));
                if is_root && self.canonical(instruction.operand(0)) == value {
                    return true;
                }
            }
            next = match instruction.block().terminator() == Some(instruction) {
                false => instruction.next_instruction(),
                true => self.only_way(instruction),
            };
        }
        false
    }

    /// The first instruction of the block that a branch leads to, if each is the other's only neighbour there.
    fn only_way(&self, end: Value) -> Option<Value> {
        let flow = self.it.flow;
        let block = flow.blocks[..flow.reachable].iter().position(|&block| block == end.block())?;
        match flow.successors[block][..] {
            [to] if flow.predecessors[to].len() == 1 => flow.blocks[to].instructions().next(),
            _ => None,
        }
    }
}
