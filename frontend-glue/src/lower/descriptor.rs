//! A type descriptor as the module defines it: read from the constant, field by field, by byte offset.
//!
//! Frontends spell the struct as they like (named or anonymous, nested arrays, an opaque byte prefix is not looked
//! through), so fields are found by where they lie, with the offsets of the runtime's own `repr(C)` declaration.

use crate::llvm::{Module, Opcode, TypeKind, Value};
use rc_runtime::descriptor::{DESCRIPTOR_VERSION, SlotKind, TypeDescriptor};
use std::mem::offset_of;

/// What allocation needs to know of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Payload bytes of the fixed part.
    pub(crate) size: u64,
    /// Alignment; 0 means 8.
    pub(crate) align: u64,
    /// Bytes of a tail element; 0 for none.
    stride: u64,
    /// Offsets of the references in the fixed part; none when only `trace` or another module knows.
    pub(crate) references: Option<Vec<u32>>,
}

impl Descriptor {
    /// Reads the descriptor at `address`; none if it is not a constant of this module that nobody can replace, or not
    /// of the version we know (the runtime refuses it at registration, with a message).
    pub(crate) fn read(module: Module, address: Value) -> Option<Descriptor> {
        let constant = address.definitive_initializer()?;
        let field = |offset: usize| word_at(module, constant, offset as u64);
        if field(offset_of!(TypeDescriptor, version))? != u64::from(DESCRIPTOR_VERSION) {
            return None;
        }
        let count = field(offset_of!(TypeDescriptor, ref_count))?;
        let by_trace = field(offset_of!(TypeDescriptor, slot_kind))? == SlotKind::Trace as u64;
        let references = if by_trace {
            None
        } else if count == 0 {
            Some(Vec::new())
        } else {
            offsets(module, constant, count)
        };
        Some(Descriptor {
            size: field(offset_of!(TypeDescriptor, size))?,
            align: field(offset_of!(TypeDescriptor, align))?,
            stride: field(offset_of!(TypeDescriptor, stride))?,
            references,
        })
    }

    pub(crate) fn has_tail(&self) -> bool {
        self.stride > 0
    }
}

fn offsets(module: Module, constant: Value, count: u64) -> Option<Vec<u32>> {
    let array = scalar_at(module, constant, offset_of!(TypeDescriptor, ref_offsets) as u64)?;
    let array = array.definitive_initializer()?;
    (0..count).map(|index| word_at(module, array, index * 4).and_then(|word| u32::try_from(word).ok())).collect()
}

fn word_at(module: Module, constant: Value, offset: u64) -> Option<u64> {
    let scalar = scalar_at(module, constant, offset)?;
    if scalar.is_null() { Some(0) } else { scalar.constant_integer() }
}

/// The scalar that begins at byte `offset` of a constant.
fn scalar_at(module: Module, constant: Value, offset: u64) -> Option<Value> {
    let of = constant.type_of();
    match of.kind() {
        TypeKind::LLVMStructTypeKind => {
            let count = of.members().len() as u32;
            let member = (0..count).rev().find(|&member| module.member_offset(of, member) <= offset)?;
            scalar_at(module, constant.constant_member(member)?, offset - module.member_offset(of, member))
        }
        TypeKind::LLVMArrayTypeKind => {
            let (element, count) = of.members()[0];
            let size = module.size_of(element);
            let index = offset.checked_div(size).filter(|&index| index < count)?;
            scalar_at(module, constant.constant_member(index as u32)?, offset - index * size)
        }
        // clang writes the address of an array as the array itself, others as a constant expression on it.
        _ if offset == 0 => Some(strip_zero_offset(constant)),
        _ => None,
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
