//! Words of objects, as code computes their addresses: whether a write stores to the word that a load has read.
//!
//! ```text
//!   node = stacks.top[i];  stacks.top[i] = node.next
//! ```
//!
//! The front end computes both addresses, each by instructions of its own. They are the same word where each is the same steps from
//! the same object: constants add up to an offset; an index that is no constant is compared by how it was computed.

use crate::analysis::callee::{Callee, Callees};
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Opcode, Value};

/// Steps that are followed to find the object of an address, at most.
const STEPS_MAX: usize = 32;
/// Instructions that compute an index from others, in a row, at most.
const DEPTH_MAX: usize = 6;

/// Loads in front of a write that are compared with it, at most.
const LOOKED_AT_MAX: usize = 32;

/// A word of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) object: Value,
    /// Constant offset: from the object, or behind the last index that is no constant.
    pub(super) offset: i64,
    /// The step with that index.
    pub(super) indexed: Option<Value>,
}

/// The word at an address. In code that is never reached an address may be computed from itself.
pub(super) fn place_of(module: Module, mut address: Value) -> Place {
    let (mut offset, mut indexed) = (0_i64, None);
    for _ in 0..STEPS_MAX {
        if !address.is(Opcode::LLVMGetElementPtr) {
            break;
        }
        match address.own_offset(module).map(|own| own.checked_add(offset)) {
            _ if indexed.is_some() => {}
            Some(Some(sum)) => offset = sum,
            Some(None) => break,
            None => indexed = Some(address),
        }
        address = address.operand(0);
    }
    Place { object: address, offset, indexed }
}

impl Place {
    /// Whether both are the same word, where `same` tells it of the values that they are computed from.
    pub(super) fn is(&self, other: &Place, same: &impl Fn(Value, Value) -> bool) -> bool {
        let indexed = match (self.indexed, other.indexed) {
            (None, None) => true,
            (Some(one), Some(other)) => are_computed_alike(one, other, same, DEPTH_MAX),
            _ => false,
        };
        indexed && self.offset == other.offset && same(self.object, other.object)
    }
}

/// Whether both values are the same, as they are computed in the same way from what is the same.
fn are_computed_alike(one: Value, other: Value, same: &impl Fn(Value, Value) -> bool, depth: usize) -> bool {
    use Opcode::{LLVMAShr, LLVMAdd, LLVMAnd, LLVMLShr, LLVMMul, LLVMOr, LLVMShl, LLVMSub, LLVMXor};
    use Opcode::{LLVMGetElementPtr, LLVMSDiv, LLVMSExt, LLVMSRem, LLVMTrunc, LLVMUDiv, LLVMURem, LLVMZExt};
    if same(one, other) {
        return true;
    }
    if depth == 0 || one.opcode() != other.opcode() || one.type_of() != other.type_of() {
        return false;
    }
    let fits = match one.opcode() {
        Some(LLVMGetElementPtr) => one.source_element_type() == other.source_element_type(),
        Some(LLVMSExt | LLVMZExt | LLVMTrunc | LLVMAdd | LLVMSub | LLVMMul | LLVMSDiv | LLVMUDiv) => true,
        Some(LLVMSRem | LLVMURem | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr | LLVMAShr) => true,
        _ => false,
    };
    let operands: Vec<Value> = other.operands().collect();
    let alike = |(one, &other): (Value, &Value)| are_computed_alike(one, other, same, depth - 1);
    fits && one.operands().count() == operands.len() && one.operands().zip(&operands).all(alike)
}

/// Whether two values are the same as far as the code around them tells: loads of one variable are taken for the same.
fn look_the_same(one: Value, other: Value) -> bool {
    let is_of_variable = |value: Value| value.is(Opcode::LLVMLoad) && value.operand(0).is(Opcode::LLVMAlloca);
    one == other || is_of_variable(one) && is_of_variable(other) && one.operand(0) == other.operand(0)
}

/// The slot that a load, or a call of gcread, reads.
pub(super) fn read_slot(callees: &Callees, value: Value) -> Option<Value> {
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

/// Whether the write stores to a word of its object that has the look of the one which the value was read from.
pub(in crate::lower::count) fn may_replace(callees: &Callees, write: Call, value: Value) -> bool {
    let module = write.value().function().module();
    let Some(slot) = read_slot(callees, value) else { return false };
    let (object, written) = (place_of(module, write.argument(1)), place_of(module, write.argument(2)));
    let read = place_of(module, slot);
    let is_of_object = object.indexed.is_none() && object.object == written.object;
    match written.indexed {
        None => is_of_object && read.indexed.is_none() && read.offset == written.offset - object.offset,
        Some(_) => is_of_object && read.is(&written, &look_the_same),
    }
}

/// The loads of a function whose values a write may take: of fields that some write names.
pub(in crate::lower::count) fn candidates(callees: &Callees, function: Value) -> HandleSet<Value> {
    let writes: Vec<Call> = function.calls().filter(|&call| callees.of_call(call) == Callee::GcWrite).collect();
    taken_by(callees, function, &writes, |written, read| {
        written.offset == read.offset && written.indexed.is_some() == read.indexed.is_some()
    })
}

/// Those among them that a write replaces, as it looks, in a function whose result may be one of them.
pub(in crate::lower::count) fn replaced_in(callees: &Callees, function: Value) -> HandleSet<Value> {
    let writes: Vec<Call> = function.calls().filter(|&call| callees.of_call(call) == Callee::GcWrite).collect();
    taken_by(callees, function, &writes, |written, read| written.is(read, &look_the_same))
}

/// Those that a write replaces in the same block, whatever came between: the word holds a reference wherever one of them is read.
pub(in crate::lower::count) fn replaced_at_once(callees: &Callees, function: Value) -> HandleSet<Value> {
    let module = function.module();
    let mut found = HandleSet::default();
    for block in function.blocks() {
        let mut read: Vec<(Place, Value)> = Vec::new();
        for instruction in block.instructions() {
            if let Some(write) = instruction.as_call().filter(|&call| callees.of_call(call) == Callee::GcWrite) {
                let written = place_of(module, write.argument(2));
                let is_of_object = write.argument(1) == written.object;
                let replaced =
                    read.iter().filter(|(place, _)| is_of_object && place.is(&written, &|one, other| one == other));
                found.extend(replaced.map(|&(_, value)| value));
            } else if instruction.type_of().is_plain_pointer()
                && let Some(slot) = read_slot(callees, instruction)
            {
                if read.len() == LOOKED_AT_MAX {
                    read.remove(0);
                }
                read.push((place_of(module, slot), instruction));
            }
        }
    }
    found
}

fn taken_by(
    callees: &Callees,
    function: Value,
    writes: &[Call],
    fits: impl Fn(&Place, &Place) -> bool,
) -> HandleSet<Value> {
    let module = function.module();
    let of_object = writes.iter().filter_map(|write| {
        let (object, mut written) = (place_of(module, write.argument(1)), place_of(module, write.argument(2)));
        written.offset -= if written.indexed.is_none() { object.offset } else { 0 };
        (object.indexed.is_none() && object.object == written.object).then_some(written)
    });
    let mut written: Vec<Place> = Vec::new();
    of_object.for_each(|place| {
        if !written.contains(&place) {
            written.push(place);
        }
    });
    if written.is_empty() {
        return HandleSet::default();
    }
    let instructions = function.blocks().flat_map(|block| block.instructions().collect::<Vec<_>>());
    let is_taken = |value: &Value| {
        value.type_of().is_plain_pointer()
            && read_slot(callees, *value).is_some_and(|slot| {
                let read = place_of(module, slot);
                written.iter().any(|place| fits(place, &read))
            })
    };
    instructions.filter(is_taken).collect()
}
