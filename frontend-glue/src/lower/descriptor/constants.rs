//! Parts of constants, found by their addresses or places: descriptors, which may be elements of larger constants, and their fields.

use crate::llvm::{Module, Opcode, TypeKind, Value};
use tally_heap::descriptor::TypeDescriptor;

/// The constant at `address`: of a variable, or of a place in one that is as large as a descriptor, as an element of an array of them.
pub(super) fn constant_at(module: Module, address: Value) -> Option<Value> {
    if !is_offset(address) {
        return address.definitive_initializer();
    }
    let (base, offset) = base_and_offset(module, address)?;
    member_at(module, base.definitive_initializer()?, u64::try_from(offset).ok()?)
}

fn is_offset(address: Value) -> bool {
    address.constant_opcode() == Some(Opcode::LLVMGetElementPtr)
}

/// The variable that an address lies in, and the bytes from its start. `None` for an offset that is not known.
pub(super) fn base_and_offset(module: Module, address: Value) -> Option<(Value, i64)> {
    if is_offset(address) { Some((address.operand(0), address.own_offset(module)?)) } else { Some((address, 0)) }
}

/// The member of a descriptor's size that begins at byte `offset` of a constant.
fn member_at(module: Module, mut constant: Value, mut offset: u64) -> Option<Value> {
    while offset != 0 || module.size_of(constant.type_of()) != size_of::<TypeDescriptor>() as u64 {
        (constant, offset) = around(module, constant, offset)?;
    }
    Some(constant)
}

/// The member of a constant in which its byte `offset` lies, and the number of the byte there.
fn around(module: Module, constant: Value, offset: u64) -> Option<(Value, u64)> {
    let of = constant.type_of();
    match of.kind() {
        TypeKind::LLVMStructTypeKind => {
            let count = of.members().len() as u32;
            let member = (0..count).rev().find(|&member| module.member_offset(of, member) <= offset)?;
            Some((constant.constant_member(member)?, offset - module.member_offset(of, member)))
        }
        TypeKind::LLVMArrayTypeKind => {
            let (element, count) = of.members()[0];
            let size = module.size_of(element);
            let index = offset.checked_div(size).filter(|&index| index < count)?;
            Some((constant.constant_member(index as u32)?, offset - index * size))
        }
        _ => None,
    }
}

pub(super) fn word_at(module: Module, constant: Value, offset: u64) -> Option<u64> {
    let scalar = scalar_at(module, constant, offset)?;
    if scalar.is_null() { Some(0) } else { scalar.constant_integer() }
}

/// The scalar that begins at byte `offset` of a constant.
pub(super) fn scalar_at(module: Module, constant: Value, offset: u64) -> Option<Value> {
    match constant.type_of().kind() {
        TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind => {
            let (member, offset) = around(module, constant, offset)?;
            scalar_at(module, member, offset)
        }
        // clang writes the address of an array as the array itself, others as a constant expression on it.
        _ => (offset == 0).then(|| strip_zero_offset(constant)),
    }
}

fn strip_zero_offset(mut constant: Value) -> Value {
    while constant.constant_opcode() == Some(Opcode::LLVMGetElementPtr)
        && constant.operands().skip(1).all(Value::is_null)
    {
        constant = constant.operand(0);
    }
    constant
}

/// A constant's address for messages: the variable, and the place in it.
pub(crate) fn label(module: Module, address: Value) -> String {
    match base_and_offset(module, address) {
        None => address.operand(0).name(),
        Some((base, offset)) if is_offset(address) => format!("{}+{offset}", base.name()),
        Some((base, _)) => base.name(),
    }
}
