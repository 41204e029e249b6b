//! What constants and instructions say besides their operands: for a reader of everything in a module.

use super::{Module, Value};
use inkwell::llvm_sys::LLVMValueKind;
use inkwell::llvm_sys::core::*;

impl Module {
    /// The name of the file that the module says it was made from.
    pub(crate) fn source_name(self) -> String {
        let mut length = 0;
        let text = raw!(LLVMGetSourceFileName(self.0, &mut length));
        super::value::owned_text(text, length)
    }
}

impl Value {
    /// What kind of a value it is, as a number.
    pub(crate) fn kind_number(self) -> u64 {
        raw!(LLVMGetValueKind(self.0)) as u64
    }

    /// Whether this is a function, variable, alias or ifunc.
    pub(crate) fn is_global(self) -> bool {
        !raw!(LLVMIsAGlobalValue(self.0)).is_null()
    }

    /// The bytes of a constant array or vector of numbers.
    pub(crate) fn constant_bytes(self) -> Option<Vec<u8>> {
        let kind = raw!(LLVMGetValueKind(self.0));
        if !matches!(
            kind,
            LLVMValueKind::LLVMConstantDataArrayValueKind | LLVMValueKind::LLVMConstantDataVectorValueKind
        ) {
            return None;
        }
        let mut length = 0_usize;
        // The binding takes the address of the length as a number.
        let bytes = raw!(LLVMGetRawDataValues(self.0, &raw mut length as usize));
        // SAFETY: [HANDLE] LLVM says that there are `length` bytes; they are copied at once.
        Some(unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) }.to_vec())
    }

    /// A constant of a floating-point type, rounded to a double.
    pub(crate) fn constant_real(self) -> Option<f64> {
        let is_real = !raw!(LLVMIsAConstantFP(self.0)).is_null();
        is_real.then(|| raw!(LLVMConstRealGetDouble(self.0, &mut 0)))
    }

    /// The predicate of a comparison, as a number.
    pub(crate) fn predicate(self) -> u64 {
        match self.opcode() {
            Some(super::Opcode::LLVMICmp) => raw!(LLVMGetICmpPredicate(self.0)) as u64,
            _ => raw!(LLVMGetFCmpPredicate(self.0)) as u64,
        }
    }
}
