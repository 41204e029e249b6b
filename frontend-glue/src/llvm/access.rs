//! What loads and stores are besides plain: volatile, or atomic.

use super::Value;
use inkwell::llvm_sys::LLVMAtomicOrdering;
use inkwell::llvm_sys::core::*;

impl Value {
    /// Whether a load or store is volatile.
    pub(crate) fn is_volatile(self) -> bool {
        raw!(LLVMGetVolatile(self.0)) != 0
    }

    /// Makes a load or store one that is not volatile.
    pub(crate) fn make_plain(self) {
        raw!(LLVMSetVolatile(self.0, 0));
    }

    /// Whether a load or store is atomic.
    pub(crate) fn is_atomic(self) -> bool {
        raw!(LLVMGetOrdering(self.0)) != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }
}
