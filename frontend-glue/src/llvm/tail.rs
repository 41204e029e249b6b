//! Whether a call is, must be, or must not be a tail call.

use super::call::Call;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::llvm_sys::core::*;

impl Call {
    pub(crate) fn is_musttail(self) -> bool {
        !self.is_invoke() && self.tail_kind() == LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    /// Whether the program forbids a tail call.
    pub(crate) fn is_never_tail(self) -> bool {
        !self.is_invoke() && self.tail_kind() == LLVMTailCallKind::LLVMTailCallKindNoTail
    }

    /// Makes it a guaranteed tail call: a return of its result follows it.
    pub(crate) fn make_musttail(self) {
        raw!(LLVMSetTailCallKind(self.value().0, LLVMTailCallKind::LLVMTailCallKindMustTail));
    }

    /// Removes a promise not to touch the caller's variables; a mark that forbids a tail call stays.
    pub(crate) fn forget_tail(self) {
        if self.tail_kind() == LLVMTailCallKind::LLVMTailCallKindTail {
            raw!(LLVMSetTailCallKind(self.value().0, LLVMTailCallKind::LLVMTailCallKindNone));
        }
    }

    pub(super) fn tail_kind(self) -> LLVMTailCallKind {
        raw!(LLVMGetTailCallKind(self.value().0))
    }
}
