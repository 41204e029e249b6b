//! The unwinder on x86-64: register numbers, and a call that begins in the middle of a stack.

use std::ffi::{c_int, c_void};

/// The processor's number in ELF files.
pub(crate) const ELF_MACHINE: u16 = 62;

/// DWARF numbers of the callee-saved registers that managed code addresses roots by: rbp and rbx.
pub(crate) const FRAME_POINTER: c_int = 6;
pub(crate) const BASE_POINTER: c_int = 3;

/// Calls `_Unwind_Backtrace(step, state)` and makes it believe that it was called from the frame in `start`.
///
/// # Safety
/// As for `_Unwind_Backtrace`; and `start` points to pc, sp, fp and base pointer of a frame of this thread's stack, below the
/// caller's.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn backtrace_from(step: *const c_void, state: *mut c_void, start: *const c_void) -> c_int {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        "push rdx",
        "sub rsp, 8",
        // CFA = [[rbp - 8] + 8]; the return address is at [rbp - 8], the caller's rbp at [rbp - 8] + 16, rbx behind it.
        // (DWARF 5, 6.4.2: def_cfa_expression 0x0f, expression 0x10; 2.5.1: breg6 0x76, deref 0x06, plus_uconst 0x23.)
        ".cfi_escape 0x0f, 6, 0x76, 0x78, 0x06, 0x23, 8, 0x06",
        ".cfi_escape 0x10, 16, 3, 0x76, 0x78, 0x06",
        ".cfi_escape 0x10, 6, 5, 0x76, 0x78, 0x06, 0x23, 16",
        ".cfi_escape 0x10, 3, 5, 0x76, 0x78, 0x06, 0x23, 24",
        "call _Unwind_Backtrace@PLT",
        "leave",
        "ret",
        ".cfi_endproc",
    )
}
