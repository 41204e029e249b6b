//! The unwinder on RISC-V: register numbers, and a call that begins in the middle of a stack.

use std::ffi::{c_int, c_void};

/// The processor's number in ELF files.
pub(crate) const ELF_MACHINE: u16 = 243;

/// DWARF numbers of the callee-saved registers that managed code addresses roots by: s0 and s1.
pub(crate) const FRAME_POINTER: c_int = 8;
pub(crate) const BASE_POINTER: c_int = 9;

/// Calls `_Unwind_Backtrace(step, state)` and makes it believe that it was called from the frame in `start`.
///
/// # Safety
/// As for `_Unwind_Backtrace`; and `start` points to pc, sp, fp and base pointer of a frame of this thread's stack, below the
/// caller's.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn backtrace_from(step: *const c_void, state: *mut c_void, start: *const c_void) -> c_int {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "addi sp, sp, -32",
        ".cfi_def_cfa_offset 32",
        "sd ra, 24(sp)",
        "sd s0, 16(sp)",
        ".cfi_offset ra, -8",
        ".cfi_offset s0, -16",
        "addi s0, sp, 32",
        "sd a2, -24(s0)",
        // CFA = [[s0 - 24] + 8]; the return address (1) is at [s0 - 24], the caller's s0 (8) at [s0 - 24] + 16, s1 (9) behind
        // it. (DWARF 5, 6.4.2: def_cfa_expression 0x0f, expression 0x10; 2.5.1: breg8 0x78, deref 0x06, plus_uconst 0x23.)
        ".cfi_escape 0x0f, 6, 0x78, 0x68, 0x06, 0x23, 8, 0x06",
        ".cfi_escape 0x10, 1, 3, 0x78, 0x68, 0x06",
        ".cfi_escape 0x10, 8, 5, 0x78, 0x68, 0x06, 0x23, 16",
        ".cfi_escape 0x10, 9, 5, 0x78, 0x68, 0x06, 0x23, 24",
        "call _Unwind_Backtrace",
        "ld ra, 24(sp)",
        "ld s0, 16(sp)",
        "addi sp, sp, 32",
        "ret",
        ".cfi_endproc",
    )
}
