//! Entries into managed code, stacks that stop, and the registers of a fault on x86-64.
//!
//! A stopped stack ends in the words that [`swap`] has pushed, or that make a new stack look the same:
//!
//! ```text
//! higher │ return address of `swap`                sp + 64 is the stack pointer behind it
//!        │ rbp, rbx, r12, r13, r14, r15            the registers that a call preserves (System V ABI, 3.2.1)
//! lower  │ control words of SSE and x87     ◄── sp, in the record
//! ```
//!
//! Expected cost of a swap: 29 instructions. The jump in place of a return is predicted by its address; a return would
//! always be taken for one to the stack that was left.

use super::super::called_by_assembly::{tally_stack_finished, tally_stack_personality, tally_stack_prepare_switch};
use stack_roots::Registers;
use std::arch::{global_asm, naked_asm};
use std::ffi::{c_char, c_int, c_void};

/// Calls `main` from a known address, with a frame record that the walker can stop at.
///
/// To the unwinder it is the first frame of the thread. So an uncaught exception ends with the language's own
/// message, and `pthread_exit` in `main` does not try to unwind the host below, which may not allow it (Rust's `main`
/// does not).
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn enter(
    main: *const u8,
    argc: c_int,
    argv: *const *const c_char,
    env: *const *const c_char,
) -> c_int {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        ".cfi_undefined rip",
        "mov rax, rdi",
        "mov edi, esi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        ".globl tally_entry_return",
        ".hidden tally_entry_return",
        "tally_entry_return:",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// `void *tally_call_managed(const tally_anchor *anchor, void *(*function)(void *), void *argument)`: calls
/// `function(argument)`; a walk that reaches this frame goes on at the anchor, or ends here if the anchor is null.
///
/// # Safety
/// The anchor lies in the frame of a function that managed code called and that has not returned.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn tally_call_managed(
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
        prepare = sym tally_stack_prepare_switch,
        swap = sym swap,
    )
}

/// Stops here, with the stack pointer in `save`, and goes on where `to` says; returns the `value` that the call
/// passes by which this stack goes on.
///
/// # Safety
/// `to` was saved by this function, or made by `stopped::prepare`, on a stack that no call has gone on with since.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn swap(save: *mut u64, to: u64, value: u64) -> u64 {
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

/// The registers of the frame that has stopped, by what `swap` left at `sp`; `None` on a new stack.
///
/// # Safety
/// `swap` or [`prepare`] has left its words there.
pub(crate) unsafe fn stopped_registers(sp: u64) -> Option<Registers> {
    // SAFETY: by the caller's promise.
    let [.., rbx, fp, pc] = unsafe { *(sp as *const [u64; WORDS]) };
    let is_new = pc == &raw const tally_stack_begin as u64;
    (!is_new).then_some(Registers { pc, sp: sp + (WORDS * 8) as u64, fp, rbx: Some(rbx) })
}

/// Words that `swap` leaves on a stack.
const WORDS: usize = 8;

/// Makes a new stack that ends at `high` look as if it had stopped before `entry`. Returns its stack pointer.
pub(crate) fn prepare(high: u64, entry: u64) -> u64 {
    let (mut sse, mut x87) = (0_u32, 0_u16);
    // SAFETY: stores the control words that a new stack takes over from its maker.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut sse, in(reg) &raw mut x87, options(nostack));
    }
    let control = u64::from(x87) << 32 | u64::from(sse);
    let first = (high & !15) - 16;
    let words: [u64; WORDS] = [control, 0, 0, 0, 0, entry, 0, &raw const tally_stack_begin as u64];
    let sp = first - (WORDS * 8) as u64;
    // SAFETY: the end of a new stack, which has pages of room.
    unsafe { *(sp as *mut [u64; WORDS]) = words };
    sp
}

unsafe extern "C" {
    static tally_stack_begin: u8;
}

// rbx holds the entry function, rax the first value.
global_asm!(
    ".text",
    ".p2align 4",
    ".type tally_stack_begin,@function",
    ".globl tally_stack_begin",
    ".hidden tally_stack_begin",
    ".cfi_startproc",
    // Of this library alone: an unwind table cannot name a function that another may replace.
    ".hidden {personality}",
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
    personality = sym tally_stack_personality,
    call = sym tally_call_managed,
    finished = sym tally_stack_finished,
);

/// Where a start routine returns to, if no unwind table leads beyond. The C library has tables here.
pub(crate) fn untabled_thread_start() -> Option<u64> {
    None
}

/// The registers at a fault: pc, sp and fp.
pub(crate) fn registers_at(context: &libc::ucontext_t) -> [u64; 3] {
    let register = |index: c_int| context.uc_mcontext.gregs[index as usize] as u64;
    [libc::REG_RIP, libc::REG_RSP, libc::REG_RBP].map(register)
}

/// A request to valgrind, if the process runs under it: it must not take a switch for a large move of one stack. The
/// four rotations add up to nothing.
pub(crate) fn valgrind(request: u64, first: u64, second: u64) -> u64 {
    let request = [request, first, second, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: changes rdi and changes it back, and exchanges a register with itself.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const request,
            inout("rdx") answer,
        );
    }
    answer
}
