//! The diverted return on AArch64 (`stack::diversion`).
//!
//! ```text
//! higher │ other saved registers of the frame that returns
//!        │ return address (x30)   pair + 8   = tally_diverted_return
//!        │ frame pointer (x29)    pair       = address of the record { fp, pc, … }
//! ```
//!
//! Managed code signs no return addresses (`emit::target` in the lowering), so the words may be replaced.

use super::super::called_by_assembly::{tally_diversion_arrived, tally_diversion_personality};
use std::arch::global_asm;
use std::ffi::c_void;

/// Whether the processor can save all registers that may carry a result: the lowering refuses functions that pass
/// scalable vectors, so none does that is not saved below.
pub(crate) fn saves_results() -> bool {
    true
}

/// Whether the processor compares return addresses with a shadow stack (GCS): a diverted return would end the process.
pub(crate) fn returns_are_checked() -> bool {
    let not_enabled: u64;
    // SAFETY: chkfeat x16, which clears the bits of features that are enabled, and does nothing on processors without it.
    unsafe {
        std::arch::asm!("mov x16, #1", "hint #40", out("x16") not_enabled, options(nomem, nostack, preserves_flags));
    }
    not_enabled == 0
}

// The frame above has left: the return has set sp, and x29 is the record's address. The pair at the new x29 makes this
// the frame of a function called from the place where the return leads to. All registers that may carry a result are
// preserved. (x16 and x17 are any call's to change.)
global_asm!(
    ".text",
    ".p2align 4",
    ".cfi_startproc",
    // Of this library alone: an unwind table cannot name a function that another may replace.
    ".hidden {personality}",
    ".cfi_personality 0x1b, {personality}",
    ".cfi_def_cfa sp, 0",
    // The return address (30) is saved at x29 + 8, x29 at x29. (DW_CFA_expression, breg29.)
    ".cfi_escape 0x10, 30, 2, 0x8d, 8",
    ".cfi_escape 0x10, 29, 2, 0x8d, 0",
    // A return address is looked up by the byte before it.
    "nop",
    ".cfi_endproc",
    ".globl tally_diverted_return",
    ".hidden tally_diverted_return",
    ".type tally_diverted_return,@function",
    "tally_diverted_return:",
    ".cfi_startproc",
    ".cfi_def_cfa sp, 0",
    ".cfi_escape 0x10, 30, 2, 0x8d, 8",
    ".cfi_escape 0x10, 29, 2, 0x8d, 0",
    "sub sp, sp, #32",
    ".cfi_def_cfa_offset 32",
    "str x29, [sp, #8]",
    "ldp x16, x17, [x29]",
    "stp x16, x17, [sp, #16]",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "add x29, sp, #16",
    ".cfi_def_cfa x29, 16",
    "sub sp, sp, #672",
    "stp x0, x1, [sp, #0]",
    "stp x2, x3, [sp, #16]",
    "stp x4, x5, [sp, #32]",
    "stp x6, x7, [sp, #48]",
    "stp x8, x9, [sp, #64]",
    "stp x10, x11, [sp, #80]",
    "stp x12, x13, [sp, #96]",
    "stp x14, x15, [sp, #112]",
    "stp x16, x17, [sp, #128]",
    "str x18, [sp, #144]",
    "stp q0, q1, [sp, #160]",
    "stp q2, q3, [sp, #192]",
    "stp q4, q5, [sp, #224]",
    "stp q6, q7, [sp, #256]",
    "stp q8, q9, [sp, #288]",
    "stp q10, q11, [sp, #320]",
    "stp q12, q13, [sp, #352]",
    "stp q14, q15, [sp, #384]",
    "stp q16, q17, [sp, #416]",
    "stp q18, q19, [sp, #448]",
    "stp q20, q21, [sp, #480]",
    "stp q22, q23, [sp, #512]",
    "stp q24, q25, [sp, #544]",
    "stp q26, q27, [sp, #576]",
    "stp q28, q29, [sp, #608]",
    "stp q30, q31, [sp, #640]",
    "ldr x0, [x29, #-8]",
    "bl {arrived}",
    "ldp x0, x1, [sp, #0]",
    "ldp x2, x3, [sp, #16]",
    "ldp x4, x5, [sp, #32]",
    "ldp x6, x7, [sp, #48]",
    "ldp x8, x9, [sp, #64]",
    "ldp x10, x11, [sp, #80]",
    "ldp x12, x13, [sp, #96]",
    "ldp x14, x15, [sp, #112]",
    "ldp x16, x17, [sp, #128]",
    "ldr x18, [sp, #144]",
    "ldp q0, q1, [sp, #160]",
    "ldp q2, q3, [sp, #192]",
    "ldp q4, q5, [sp, #224]",
    "ldp q6, q7, [sp, #256]",
    "ldp q8, q9, [sp, #288]",
    "ldp q10, q11, [sp, #320]",
    "ldp q12, q13, [sp, #352]",
    "ldp q14, q15, [sp, #384]",
    "ldp q16, q17, [sp, #416]",
    "ldp q18, q19, [sp, #448]",
    "ldp q20, q21, [sp, #480]",
    "ldp q22, q23, [sp, #512]",
    "ldp q24, q25, [sp, #544]",
    "ldp q26, q27, [sp, #576]",
    "ldp q28, q29, [sp, #608]",
    "ldp q30, q31, [sp, #640]",
    "mov sp, x29",
    ".cfi_def_cfa sp, 16",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa sp, 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ret",
    ".cfi_endproc",
    ".size tally_diverted_return, . - tally_diverted_return",
    // The same when an exception comes by: it is in x0.
    ".globl tally_diverted_unwinding",
    ".hidden tally_diverted_unwinding",
    ".type tally_diverted_unwinding,@function",
    "tally_diverted_unwinding:",
    ".cfi_startproc",
    ".cfi_def_cfa sp, 0",
    ".cfi_escape 0x10, 30, 2, 0x8d, 8",
    ".cfi_escape 0x10, 29, 2, 0x8d, 0",
    "sub sp, sp, #32",
    ".cfi_def_cfa_offset 32",
    "str x29, [sp, #8]",
    "ldp x16, x17, [x29]",
    "stp x16, x17, [sp, #16]",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "add x29, sp, #16",
    ".cfi_def_cfa x29, 16",
    "str x0, [sp]",
    "ldr x0, [x29, #-8]",
    "bl {arrived}",
    "ldr x0, [x29, #-16]",
    "bl {resume}",
    "brk #1",
    ".cfi_endproc",
    ".size tally_diverted_unwinding, . - tally_diverted_unwinding",
    personality = sym tally_diversion_personality,
    arrived = sym tally_diversion_arrived,
    resume = sym _Unwind_Resume,
);

unsafe extern "C-unwind" {
    fn _Unwind_Resume(exception: *mut c_void) -> !;
}
