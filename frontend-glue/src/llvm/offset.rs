//! Offsets: the distance of an address from another, and the place of a member in its aggregate.

use super::{Module, Opcode, Type, Value};
use inkwell::llvm_sys::core::*;

impl Value {
    /// The offset of a constant address from the global that it was made from.
    pub(crate) fn constant_offset(self, module: Module) -> Option<i64> {
        match self.constant_opcode() {
            None => Some(0),
            Some(Opcode::LLVMGetElementPtr) => {
                self.own_offset(module)?.checked_add(self.operand(0).constant_offset(module)?)
            }
            Some(_) => None,
        }
    }

    /// The offset of this getelementptr from its first operand, if the offset is a constant.
    pub(crate) fn own_offset(self, module: Module) -> Option<i64> {
        self.offset_and_step(module).filter(|&(_, step)| step == 0).map(|(offset, _)| offset)
    }

    /// The distance of this getelementptr from its first operand: an offset, plus a multiple of a step. The step is 0
    /// if all indices are constants.
    pub(crate) fn offset_and_step(self, module: Module) -> Option<(i64, u64)> {
        let (mut offset, mut step) = (0_i64, 0);
        let mut inner = Type(raw!(LLVMGetGEPSourceElementType(self.0)));
        for (number, operand) in self.operands().skip(1).enumerate() {
            let index = operand.constant_index();
            if number > 0 && inner.is_structure() {
                let member = u32::try_from(index?).ok()?;
                offset = offset.checked_add(module.member_offset(inner, member) as i64)?;
                inner = inner.members().get(member as usize)?.0;
                continue;
            }
            if number > 0 {
                inner = inner.members().first()?.0;
            }
            let each = module.size_of(inner);
            match index {
                Some(index) => offset = offset.checked_add(index.checked_mul(i64::try_from(each).ok()?)?)?,
                None => step = greatest_common_divisor(step, each),
            }
        }
        Some((offset, step))
    }

    /// The offset in an aggregate at which an extractvalue or insertvalue works, in bytes.
    pub(crate) fn aggregate_offset(self, module: Module) -> i64 {
        let count = raw!(LLVMGetNumIndices(self.0)) as usize;
        let first = raw!(LLVMGetIndices(self.0));
        let mut inner = self.operand(0).type_of();
        let mut offset = 0;
        for place in 0..count {
            // SAFETY: [HANDLE] LLVM keeps `count` indices there while the instruction is not changed.
            let index = unsafe { first.add(place) };
            // SAFETY: [HANDLE] as above.
            let index = unsafe { *index };
            let is_struct = inner.is_structure();
            let member = inner.members()[if is_struct { index as usize } else { 0 }].0;
            offset += if is_struct {
                module.member_offset(inner, index) as i64
            } else {
                i64::from(index) * module.size_of(member) as i64
            };
            inner = member;
        }
        offset
    }

    /// The value of an index of a getelementptr, which is signed, if it is a constant.
    fn constant_index(self) -> Option<i64> {
        self.constant_integer()?;
        Some(raw!(LLVMConstIntGetSExtValue(self.0)))
    }
}

/// The greatest number that divides both; 0 for two zeros.
pub(crate) fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
