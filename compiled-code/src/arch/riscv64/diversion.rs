//! The diverted return on RISC-V (`stack::diversion`).
//!
//! ```text
//! higher │ return address (ra)     pair + 8   = tally_diverted_return
//!        │ frame pointer (s0)      pair       = address of the record { fp, pc, … }
//! lower  │ other saved registers of the frame that returns
//! ```
//!
//! A frame pointer leads to the end of its pair elsewhere, and here to the record's beginning: walks know the diversion.

use super::super::called_by_assembly::{tally_diversion_arrived, tally_diversion_personality};
use std::arch::global_asm;
use std::ffi::c_void;

/// Whether the processor can save all registers that may carry a result: the lowering refuses functions that pass
/// scalable vectors, so none does that is not saved below.
pub(crate) fn saves_results() -> bool {
    true
}

/// Whether the processor compares return addresses with a shadow stack (Zicfiss): a diverted return would end the process.
pub(crate) fn returns_are_checked() -> bool {
    let mut state = 0_u64;
    // SAFETY: asks the kernel for a number of this thread; one that knows no shadow stacks refuses.
    let failed = unsafe { libc::prctl(PR_GET_SHADOW_STACK_STATUS, &raw mut state, 0, 0, 0) };
    failed == 0 && state & PR_SHADOW_STACK_ENABLE != 0
}

/// Of linux/prctl.h, since 6.13.
const PR_GET_SHADOW_STACK_STATUS: libc::c_int = 74;
const PR_SHADOW_STACK_ENABLE: u64 = 1;

// The frame above has left: the return has set sp, and s0 is the record's address. The first words make this the frame
// of a function called from the place where the return leads to. All registers that may carry a result are preserved.
global_asm!(
    ".text",
    ".p2align 4",
    ".cfi_startproc",
    // Of this library alone: an unwind table cannot name a function that another may replace.
    ".hidden {personality}",
    ".cfi_personality 0x1b, {personality}",
    ".cfi_def_cfa sp, 0",
    // The return address (1) is saved at s0 + 8, s0 (8) at s0. (DW_CFA_expression, breg8.)
    ".cfi_escape 0x10, 1, 2, 0x78, 8",
    ".cfi_escape 0x10, 8, 2, 0x78, 0",
    // A return address is looked up by the byte before it.
    "nop",
    ".cfi_endproc",
    ".globl tally_diverted_return",
    ".hidden tally_diverted_return",
    ".type tally_diverted_return,@function",
    "tally_diverted_return:",
    ".cfi_startproc",
    ".cfi_def_cfa sp, 0",
    ".cfi_escape 0x10, 1, 2, 0x78, 8",
    ".cfi_escape 0x10, 8, 2, 0x78, 0",
    "addi sp, sp, -32",
    ".cfi_def_cfa_offset 32",
    "sd t0, 0(sp)",
    "sd s0, 8(sp)",
    "ld t0, 0(s0)",
    "sd t0, 16(sp)",
    "ld t0, 8(s0)",
    "sd t0, 24(sp)",
    ".cfi_offset s0, -16",
    ".cfi_offset ra, -8",
    "addi s0, sp, 32",
    ".cfi_def_cfa s0, 0",
    "addi sp, sp, -272",
    "sd a0, 0(sp)",
    "sd a1, 8(sp)",
    "sd a2, 16(sp)",
    "sd a3, 24(sp)",
    "sd a4, 32(sp)",
    "sd a5, 40(sp)",
    "sd a6, 48(sp)",
    "sd a7, 56(sp)",
    "sd t1, 64(sp)",
    "sd t2, 72(sp)",
    "sd t3, 80(sp)",
    "sd t4, 88(sp)",
    "sd t5, 96(sp)",
    "sd t6, 104(sp)",
    "fsd fa0, 112(sp)",
    "fsd fa1, 120(sp)",
    "fsd fa2, 128(sp)",
    "fsd fa3, 136(sp)",
    "fsd fa4, 144(sp)",
    "fsd fa5, 152(sp)",
    "fsd fa6, 160(sp)",
    "fsd fa7, 168(sp)",
    "fsd ft0, 176(sp)",
    "fsd ft1, 184(sp)",
    "fsd ft2, 192(sp)",
    "fsd ft3, 200(sp)",
    "fsd ft4, 208(sp)",
    "fsd ft5, 216(sp)",
    "fsd ft6, 224(sp)",
    "fsd ft7, 232(sp)",
    "fsd ft8, 240(sp)",
    "fsd ft9, 248(sp)",
    "fsd ft10, 256(sp)",
    "fsd ft11, 264(sp)",
    "ld a0, -24(s0)",
    "call {arrived}",
    "ld a0, 0(sp)",
    "ld a1, 8(sp)",
    "ld a2, 16(sp)",
    "ld a3, 24(sp)",
    "ld a4, 32(sp)",
    "ld a5, 40(sp)",
    "ld a6, 48(sp)",
    "ld a7, 56(sp)",
    "ld t1, 64(sp)",
    "ld t2, 72(sp)",
    "ld t3, 80(sp)",
    "ld t4, 88(sp)",
    "ld t5, 96(sp)",
    "ld t6, 104(sp)",
    "fld fa0, 112(sp)",
    "fld fa1, 120(sp)",
    "fld fa2, 128(sp)",
    "fld fa3, 136(sp)",
    "fld fa4, 144(sp)",
    "fld fa5, 152(sp)",
    "fld fa6, 160(sp)",
    "fld fa7, 168(sp)",
    "fld ft0, 176(sp)",
    "fld ft1, 184(sp)",
    "fld ft2, 192(sp)",
    "fld ft3, 200(sp)",
    "fld ft4, 208(sp)",
    "fld ft5, 216(sp)",
    "fld ft6, 224(sp)",
    "fld ft7, 232(sp)",
    "fld ft8, 240(sp)",
    "fld ft9, 248(sp)",
    "fld ft10, 256(sp)",
    "fld ft11, 264(sp)",
    "addi sp, s0, -32",
    ".cfi_def_cfa sp, 32",
    "ld t0, 0(sp)",
    "ld s0, 16(sp)",
    "ld ra, 24(sp)",
    ".cfi_restore s0",
    ".cfi_restore ra",
    "addi sp, sp, 32",
    ".cfi_def_cfa_offset 0",
    "ret",
    ".cfi_endproc",
    ".size tally_diverted_return, . - tally_diverted_return",
    // The same when an exception comes by: it is in a0.
    ".globl tally_diverted_unwinding",
    ".hidden tally_diverted_unwinding",
    ".type tally_diverted_unwinding,@function",
    "tally_diverted_unwinding:",
    ".cfi_startproc",
    ".cfi_def_cfa sp, 0",
    ".cfi_escape 0x10, 1, 2, 0x78, 8",
    ".cfi_escape 0x10, 8, 2, 0x78, 0",
    "addi sp, sp, -32",
    ".cfi_def_cfa_offset 32",
    "sd a0, 0(sp)",
    "sd s0, 8(sp)",
    "ld t0, 0(s0)",
    "sd t0, 16(sp)",
    "ld t0, 8(s0)",
    "sd t0, 24(sp)",
    ".cfi_offset s0, -16",
    ".cfi_offset ra, -8",
    "addi s0, sp, 32",
    ".cfi_def_cfa s0, 0",
    "ld a0, -24(s0)",
    "call {arrived}",
    "ld a0, -32(s0)",
    "call {resume}",
    "unimp",
    ".cfi_endproc",
    ".size tally_diverted_unwinding, . - tally_diverted_unwinding",
    personality = sym tally_diversion_personality,
    arrived = sym tally_diversion_arrived,
    resume = sym _Unwind_Resume,
);

unsafe extern "C-unwind" {
    fn _Unwind_Resume(exception: *mut c_void) -> !;
}
