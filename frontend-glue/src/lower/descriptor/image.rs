//! The bytes of a constant, read as the runtime reads memory.

use super::constants::{base_and_offset, scalar_at};
use crate::llvm::{Module, Opcode, Value};
use std::ffi::CString;

/// Addresses below are mapped by no system.
const LOWEST_ADDRESS: u64 = 4096;

/// Where a pointer field leads.
pub(super) enum Pointee {
    Null,
    Constant(Image),
    /// To memory that is not of this module, or changes.
    Elsewhere,
    /// To no memory; what it says.
    Nowhere(String),
}

/// A constant, or what lies behind a place in it. Every function returns `None` if the spelling of the constant does not show the
/// field.
#[derive(Clone, Copy)]
pub(super) struct Image {
    pub(super) module: Module,
    constant: Value,
    begin: u64,
}

impl Image {
    pub(super) fn of(module: Module, constant: Value) -> Image {
        Image { module, constant, begin: 0 }
    }

    pub(super) fn u32_at(&self, offset: usize) -> Option<u32> {
        self.integer(offset, 4).map(|word| word as u32)
    }

    pub(super) fn u64_at(&self, offset: usize) -> Option<u64> {
        self.integer(offset, 8)
    }

    pub(super) fn scalar(&self, offset: usize) -> Option<Value> {
        scalar_at(self.module, self.constant, self.begin + offset as u64)
    }

    /// An integer of exactly that width; null of any kind is zero.
    fn integer(&self, offset: usize, bytes: u64) -> Option<u64> {
        let scalar = self.scalar(offset)?;
        if self.module.store_size_of(scalar.type_of()) != bytes {
            return None;
        }
        if scalar.is_null() { Some(0) } else { scalar.constant_integer() }
    }

    pub(super) fn pointee(&self, offset: usize) -> Option<Pointee> {
        let scalar = self.scalar(offset)?;
        if self.module.store_size_of(scalar.type_of()) != 8 {
            return None;
        }
        if scalar.is_null() {
            return Some(Pointee::Null);
        }
        if let Some(what) = nowhere(scalar) {
            return Some(Pointee::Nowhere(what));
        }
        if scalar.is_function() {
            return Some(Pointee::Nowhere(format!("the function @{}", scalar.name())));
        }
        let (base, begin) = base_and_offset(self.module, scalar)?;
        let Some(constant) = base.definitive_initializer() else { return Some(Pointee::Elsewhere) };
        let bytes = self.module.size_of(constant.type_of());
        Some(match u64::try_from(begin) {
            Ok(begin) if begin <= bytes => Pointee::Constant(Image { module: self.module, constant, begin }),
            _ => Pointee::Nowhere(format!("{begin} bytes from the start of @{}, which has {bytes}", base.name())),
        })
    }

    /// How many of so many bytes there are.
    pub(super) fn entries(&self, bytes: u64) -> u64 {
        (self.module.size_of(self.constant.type_of()) - self.begin) / bytes
    }

    pub(super) fn words(&self, count: u32) -> Option<Vec<u32>> {
        (0..count as usize).map(|index| self.u32_at(index * 4)).collect()
    }

    /// The bytes up to the zero; none if there is no zero.
    pub(super) fn text(&self) -> Option<CString> {
        let bytes = (0..self.entries(1) as usize).map_while(|index| self.integer(index, 1));
        let text: Vec<u8> = bytes.map(|byte| byte as u8).collect();
        let length = text.iter().position(|&byte| byte == 0)?;
        CString::new(&text[..length]).ok()
    }
}

/// What a pointer says that leads to no memory, whatever it is linked with.
pub(crate) fn nowhere(pointer: Value) -> Option<String> {
    if pointer.is_undef() {
        return Some("undefined".to_owned());
    }
    let number = (pointer.constant_opcode() == Some(Opcode::LLVMIntToPtr)).then(|| pointer.operand(0))?;
    let address = number.constant_integer().filter(|&address| address < LOWEST_ADDRESS)?;
    Some(format!("the address {address}"))
}
