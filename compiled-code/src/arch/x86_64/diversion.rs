//! The diverted return on x86-64 (`stack::diversion`).
//!
//! ```text
//! higher │ return address         pair + 8   = tally_diverted_return
//!        │ its frame pointer      pair       = address of the record { fp, pc, … }
//! ```

use super::super::called_by_assembly::{tally_diversion_arrived, tally_diversion_personality};
use std::arch::global_asm;
use std::ffi::c_void;

/// Whether the processor can save all registers that may carry a result.
pub(crate) fn saves_results() -> bool {
    std::arch::is_x86_feature_detected!("xsave")
}

/// Whether the processor compares return addresses with a shadow stack (CET): a diverted return would end the process.
pub(crate) fn returns_are_checked() -> bool {
    let shadow_stack_pointer: u64;
    // SAFETY: rdsspq rax, which does nothing where there is no shadow stack, or no such instruction.
    unsafe {
        std::arch::asm!("xor eax, eax", ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8", out("rax") shadow_stack_pointer);
    }
    shadow_stack_pointer != 0
}

// The frame above has left: the return has set rsp, and rbp is the record's address. The first two pushes make this
// the frame of a function called from the place where the return leads to. All registers that may carry a result are
// preserved: SSE, AVX and x87 (0xe7: the states of XCR0 except those of MPX, PKRU and AMX). The last jump is not a
// `ret`: the processor's return stack has already lost its entry for this return.
global_asm!(
    ".text",
    ".p2align 4",
    ".cfi_startproc",
    // Of this library alone: an unwind table cannot name a function that another may replace.
    ".hidden {personality}",
    ".cfi_personality 0x1b, {personality}",
    ".cfi_def_cfa rsp, 0",
    // The return address (16) is saved at rbp + 8, rbp (6) at rbp. (DW_CFA_expression, breg6.)
    ".cfi_escape 0x10, 16, 2, 0x76, 8",
    ".cfi_escape 0x10, 6, 2, 0x76, 0",
    // A return address is looked up by the byte before it.
    "nop",
    ".cfi_endproc",
    ".globl tally_diverted_return",
    ".hidden tally_diverted_return",
    ".type tally_diverted_return,@function",
    "tally_diverted_return:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 0",
    ".cfi_escape 0x10, 16, 2, 0x76, 8",
    ".cfi_escape 0x10, 6, 2, 0x76, 0",
    "push qword ptr [rbp + 8]",
    ".cfi_def_cfa_offset 8",
    "push qword ptr [rbp]",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rip, -8",
    ".cfi_offset rbp, -16",
    "push rbp",
    ".cfi_def_cfa_offset 24",
    "lea rbp, [rsp + 8]",
    ".cfi_def_cfa rbp, 16",
    "push rax",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "sub rsp, 2752",
    "and rsp, -64",
    "xor eax, eax",
    "mov qword ptr [rsp + 512], rax",
    "mov qword ptr [rsp + 520], rax",
    "mov qword ptr [rsp + 528], rax",
    "mov qword ptr [rsp + 536], rax",
    "mov qword ptr [rsp + 544], rax",
    "mov qword ptr [rsp + 552], rax",
    "mov qword ptr [rsp + 560], rax",
    "mov qword ptr [rsp + 568], rax",
    "mov eax, 0xe7",
    "xor edx, edx",
    "xsave [rsp]",
    "mov rdi, qword ptr [rbp - 8]",
    "call {arrived}",
    "mov eax, 0xe7",
    "xor edx, edx",
    "xrstor [rsp]",
    "lea rsp, [rbp - 80]",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "lea rsp, [rsp + 8]",
    ".cfi_def_cfa_offset 0",
    "jmp qword ptr [rsp - 8]",
    ".cfi_endproc",
    ".size tally_diverted_return, . - tally_diverted_return",
    // The same when an exception comes by: it is in rax.
    ".globl tally_diverted_unwinding",
    ".hidden tally_diverted_unwinding",
    ".type tally_diverted_unwinding,@function",
    "tally_diverted_unwinding:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 0",
    ".cfi_escape 0x10, 16, 2, 0x76, 8",
    ".cfi_escape 0x10, 6, 2, 0x76, 0",
    "push qword ptr [rbp + 8]",
    ".cfi_def_cfa_offset 8",
    "push qword ptr [rbp]",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rip, -8",
    ".cfi_offset rbp, -16",
    "push rbp",
    ".cfi_def_cfa_offset 24",
    "lea rbp, [rsp + 8]",
    ".cfi_def_cfa rbp, 16",
    "push rax",
    "mov rdi, qword ptr [rbp - 8]",
    "call {arrived}",
    "mov rdi, qword ptr [rbp - 16]",
    "call {resume}",
    "ud2",
    ".cfi_endproc",
    ".size tally_diverted_unwinding, . - tally_diverted_unwinding",
    personality = sym tally_diversion_personality,
    arrived = sym tally_diversion_arrived,
    resume = sym _Unwind_Resume,
);

unsafe extern "C-unwind" {
    fn _Unwind_Resume(exception: *mut c_void) -> !;
}
