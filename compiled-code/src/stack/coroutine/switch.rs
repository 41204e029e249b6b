//! The switch itself, and the first and last instructions of a stack: x86-64 assembly.
//!
//! A stopped stack ends in what [`swap`] has pushed (`stopped`).
//!
//! Both stacks look the same to the unwinder at every instruction, so debuggers see through a switch. A new stack looks
//! as if `begin` had called `swap`. `begin` calls the entry through `tally_call_managed` with no anchor: there walks end
//! (`stack_roots::anchor`). To unwinders it is the first frame. Its personality routine stops the process when an
//! exception comes by: it could only go on in frames of another stack.
//!
//! Expected cost of a swap: 29 instructions. The jump in place of a return is predicted by its address; a return would
//! always be taken for one to the stack that was left.

use super::switching::{finished, prepare_switch};
use crate::stack::reentry::tally_call_managed;
use std::arch::{global_asm, naked_asm};
use std::ffi::{c_int, c_void};
use tally_heap::fatal::{self, STATUS_USAGE};

/// `void *tally_stack_switch(void *to, void *value)`: stops this stack and lets another go on.
///
/// It is the shim of a safepoint (`crate::abi`), and goes on to `swap` as if its caller had called that: no return
/// stands between, which the processor would expect on the other stack.
///
/// # Safety
/// Called by compiled code with the arguments that `tally.h` states.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_stack_switch() {
    naked_asm!(
        ".cfi_startproc",
        crate::note_exit!(),
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "call {prepare}",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "mov rdi, rax",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "test rax, rax",
        "jne {swap}",
        "mov rax, rcx",
        "ret",
        ".cfi_endproc",
        prepare = sym prepare_switch,
        swap = sym swap,
    )
}

/// Stops here, with the stack pointer in `save`, and goes on where `to` says; returns the `value` that the call
/// passes by which this stack goes on.
///
/// # Safety
/// `to` was saved by this function, or made by `stopped::prepare`, on a stack that no call has gone on with since.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn swap(save: *mut u64, to: u64, value: u64) -> u64 {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "push rbx",
        ".cfi_def_cfa_offset 24",
        ".cfi_offset rbx, -24",
        "push r12",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset r12, -32",
        "push r13",
        ".cfi_def_cfa_offset 40",
        ".cfi_offset r13, -40",
        "push r14",
        ".cfi_def_cfa_offset 48",
        ".cfi_offset r14, -48",
        "push r15",
        ".cfi_def_cfa_offset 56",
        ".cfi_offset r15, -56",
        "sub rsp, 8",
        ".cfi_def_cfa_offset 64",
        "stmxcsr dword ptr [rsp]",
        "fnstcw word ptr [rsp + 4]",
        "mov eax, dword ptr [rsp]",
        "movzx ecx, word ptr [rsp + 4]",
        "mov qword ptr [rdi], rsp",
        "mov rsp, rsi",
        // The control words are hardly ever different, and to load them is slow.
        "cmp eax, dword ptr [rsp]",
        "je 2f",
        "ldmxcsr dword ptr [rsp]",
        "2:",
        "cmp cx, word ptr [rsp + 4]",
        "je 3f",
        "fldcw word ptr [rsp + 4]",
        "3:",
        "mov rax, rdx",
        "add rsp, 8",
        ".cfi_def_cfa_offset 56",
        "pop r15",
        ".cfi_def_cfa_offset 48",
        ".cfi_restore r15",
        "pop r14",
        ".cfi_def_cfa_offset 40",
        ".cfi_restore r14",
        "pop r13",
        ".cfi_def_cfa_offset 32",
        ".cfi_restore r13",
        "pop r12",
        ".cfi_def_cfa_offset 24",
        ".cfi_restore r12",
        "pop rbx",
        ".cfi_def_cfa_offset 16",
        ".cfi_restore rbx",
        "pop rbp",
        ".cfi_def_cfa_offset 8",
        ".cfi_restore rbp",
        "pop rcx",
        ".cfi_def_cfa_offset 0",
        ".cfi_register rip, rcx",
        "jmp rcx",
        ".cfi_endproc",
    )
}

/// The personality routine of `begin`: an exception, a panic or `pthread_exit` would leave the stack.
unsafe extern "C" fn personality(_: c_int, _: c_int, _: u64, _: *mut c_void, _: *mut c_void) -> c_int {
    fatal::stop(
        STATUS_USAGE,
        "an exception leaves the entry function of a stack that tally_stack_new has made: it must be caught there, and \
         handed on as a value",
    )
}

// rbx holds the entry function, rax the first value.
global_asm!(
    ".text",
    ".p2align 4",
    ".type tally_stack_begin,@function",
    ".globl tally_stack_begin",
    ".hidden tally_stack_begin",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    ".cfi_def_cfa rsp, 16",
    ".cfi_undefined rip",
    // A return address is looked up by the byte before it.
    "nop",
    "tally_stack_begin:",
    "xor ebp, ebp",
    "xor edi, edi",
    "mov rsi, rbx",
    "mov rdx, rax",
    "call {call}",
    "mov rdi, rax",
    "call {finished}",
    "ud2",
    ".cfi_endproc",
    ".size tally_stack_begin, . - tally_stack_begin",
    personality = sym personality,
    call = sym tally_call_managed,
    finished = sym finished,
);
