//! Native code without unwind tables calls back into managed code: the trampoline that carries its anchor.
//!
//! The walk knows the return address below and finds the anchor in the frame (`stack_roots::anchor` has the picture).
//! The C view, with the macro that writes an anchor, is in `tally.h`. To the unwinder it is a frame like any other:
//! exceptions pass.

use std::arch::naked_asm;
use std::ffi::c_void;

/// `void *tally_call_managed(const tally_anchor *anchor, void *(*function)(void *), void *argument)`: calls
/// `function(argument)`; a walk that reaches this frame goes on at the anchor, or ends here if the anchor is null.
///
/// # Safety
/// The anchor lies in the frame of a function that managed code called and that has not returned.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn tally_call_managed(
    anchor: *const c_void,
    function: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rdi",
        "sub rsp, 8",
        "mov rdi, rdx",
        "call rsi",
        ".globl tally_reentry_return",
        ".hidden tally_reentry_return",
        "tally_reentry_return:",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

unsafe extern "C" {
    /// The return address inside `tally_call_managed`.
    static tally_reentry_return: u8;
}

/// The return address by which a walk knows the trampoline.
pub(crate) fn reentry_return() -> u64 {
    &raw const tally_reentry_return as u64
}
