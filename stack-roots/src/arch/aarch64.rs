//! The unwinder on AArch64: register numbers, and a call that begins in the middle of a stack.

use std::ffi::{c_int, c_void};

/// The processor's number in ELF files.
pub(crate) const ELF_MACHINE: u16 = 183;

/// DWARF numbers of the callee-saved registers that managed code addresses roots by: x29 and x19.
pub(crate) const FRAME_POINTER: c_int = 29;
pub(crate) const BASE_POINTER: c_int = 19;

/// Calls `_Unwind_Backtrace(step, state)` and makes it believe that it was called from the frame in `start`.
///
/// # Safety
/// As for `_Unwind_Backtrace`; and `start` points to pc, sp, fp and base pointer of a frame of this thread's stack, below the
/// caller's.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn backtrace_from(step: *const c_void, state: *mut c_void, start: *const c_void) -> c_int {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "str x2, [x29, #16]",
        // CFA = [[x29 + 16] + 8]; the return address (x30) is at [x29 + 16], the caller's x29 at [x29 + 16] + 16, x19 behind
        // it. (DWARF 5, 6.4.2: def_cfa_expression 0x0f, expression 0x10; 2.5.1: breg29 0x8d, deref 0x06, plus_uconst 0x23.)
        ".cfi_escape 0x0f, 6, 0x8d, 16, 0x06, 0x23, 8, 0x06",
        ".cfi_escape 0x10, 30, 3, 0x8d, 16, 0x06",
        ".cfi_escape 0x10, 29, 5, 0x8d, 16, 0x06, 0x23, 16",
        ".cfi_escape 0x10, 19, 5, 0x8d, 16, 0x06, 0x23, 24",
        "bl _Unwind_Backtrace",
        "ldp x29, x30, [sp], #32",
        "ret",
        ".cfi_endproc",
    )
}
