//! Entries into managed code, stacks that stop, and the registers of a fault on AArch64.
//!
//! A stopped stack ends in the words that [`swap`] has saved, or that make a new stack look the same:
//!
//! ```text
//! higher │ x29, x30 (the return address of `swap`)   sp + 176 is the stack pointer behind it
//!        │ x19 … x28                                 the registers that a call preserves (AAPCS64, 6.1.1)
//!        │ d8 … d15                                  (6.1.2)
//! lower  │ FPCR, 0     ◄── sp, in the record
//! ```

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
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        "mov x29, sp",
        ".cfi_def_cfa x29, 16",
        ".cfi_undefined x30",
        "mov x9, x0",
        "mov w0, w1",
        "mov x1, x2",
        "mov x2, x3",
        "blr x9",
        ".globl tally_entry_return",
        ".hidden tally_entry_return",
        "tally_entry_return:",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
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
        "sub sp, sp, #32",
        ".cfi_def_cfa_offset 32",
        "stp x29, x30, [sp, #16]",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "add x29, sp, #16",
        ".cfi_def_cfa x29, 16",
        // Where the walk looks for it (`stack_roots::anchor`).
        "str x0, [sp, #8]",
        "mov x9, x1",
        "mov x0, x2",
        "blr x9",
        ".globl tally_reentry_return",
        ".hidden tally_reentry_return",
        "tally_reentry_return:",
        "ldp x29, x30, [sp, #16]",
        "add sp, sp, #32",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}

/// `void *tally_stack_switch(void *to, void *value)`: stops this stack and lets another go on.
///
/// It is the shim of a safepoint (`crate::abi`), and goes on to `swap` as if its caller had called that.
///
/// # Safety
/// Called by compiled code with the arguments that `tally.h` states.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_stack_switch() {
    naked_asm!(
        ".cfi_startproc",
        crate::note_exit!(),
        "sub sp, sp, #32",
        ".cfi_def_cfa_offset 32",
        "stp x29, x30, [sp, #16]",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "add x29, sp, #16",
        "str x1, [sp]",
        "bl {prepare}",
        "ldr x2, [sp]",
        "ldp x29, x30, [sp, #16]",
        "add sp, sp, #32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "cbz x0, 2f",
        "b {swap}",
        "2:",
        "mov x0, x2",
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
/// `to` was saved by this function, or made by [`prepare`], on a stack that no call has gone on with since.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn swap(save: *mut u64, to: u64, value: u64) -> u64 {
    naked_asm!(
        ".cfi_startproc",
        "sub sp, sp, #176",
        ".cfi_def_cfa_offset 176",
        "stp d8, d9, [sp, #16]",
        "stp d10, d11, [sp, #32]",
        "stp d12, d13, [sp, #48]",
        "stp d14, d15, [sp, #64]",
        "stp x19, x20, [sp, #80]",
        "stp x21, x22, [sp, #96]",
        "stp x23, x24, [sp, #112]",
        "stp x25, x26, [sp, #128]",
        "stp x27, x28, [sp, #144]",
        "stp x29, x30, [sp, #160]",
        ".cfi_offset 72, -160",
        ".cfi_offset 73, -152",
        ".cfi_offset 74, -144",
        ".cfi_offset 75, -136",
        ".cfi_offset 76, -128",
        ".cfi_offset 77, -120",
        ".cfi_offset 78, -112",
        ".cfi_offset 79, -104",
        ".cfi_offset x19, -96",
        ".cfi_offset x20, -88",
        ".cfi_offset x21, -80",
        ".cfi_offset x22, -72",
        ".cfi_offset x23, -64",
        ".cfi_offset x24, -56",
        ".cfi_offset x25, -48",
        ".cfi_offset x26, -40",
        ".cfi_offset x27, -32",
        ".cfi_offset x28, -24",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mrs x9, fpcr",
        "stp x9, xzr, [sp]",
        "mov x10, sp",
        "str x10, [x0]",
        "mov sp, x1",
        // The control word is hardly ever different, and to load it is slow.
        "ldr x10, [sp]",
        "cmp x9, x10",
        "b.eq 2f",
        "msr fpcr, x10",
        "2:",
        "mov x0, x2",
        "ldp d8, d9, [sp, #16]",
        "ldp d10, d11, [sp, #32]",
        "ldp d12, d13, [sp, #48]",
        "ldp d14, d15, [sp, #64]",
        "ldp x19, x20, [sp, #80]",
        "ldp x21, x22, [sp, #96]",
        "ldp x23, x24, [sp, #112]",
        "ldp x25, x26, [sp, #128]",
        "ldp x27, x28, [sp, #144]",
        "ldp x29, x30, [sp, #160]",
        "add sp, sp, #176",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore 72",
        ".cfi_restore 73",
        ".cfi_restore 74",
        ".cfi_restore 75",
        ".cfi_restore 76",
        ".cfi_restore 77",
        ".cfi_restore 78",
        ".cfi_restore 79",
        ".cfi_restore x19",
        ".cfi_restore x20",
        ".cfi_restore x21",
        ".cfi_restore x22",
        ".cfi_restore x23",
        ".cfi_restore x24",
        ".cfi_restore x25",
        ".cfi_restore x26",
        ".cfi_restore x27",
        ".cfi_restore x28",
        ".cfi_restore x29",
        ".cfi_restore x30",
        // Not a jump, which would have to lead to a landing pad where those are checked (BTI).
        "ret",
        ".cfi_endproc",
    )
}

/// Words that `swap` leaves on a stack; those of x19, x29 and x30.
const WORDS: usize = 22;
const X19: usize = 10;
const X29: usize = 20;
const X30: usize = 21;

/// The registers of the frame that has stopped, by what `swap` left at `sp`; `None` on a new stack.
///
/// # Safety
/// `swap` or [`prepare`] has left its words there.
pub(crate) unsafe fn stopped_registers(sp: u64) -> Option<Registers> {
    // SAFETY: by the caller's promise.
    let words = unsafe { *(sp as *const [u64; WORDS]) };
    let is_new = words[X30] == &raw const tally_stack_begin as u64;
    let sp = sp + (WORDS * 8) as u64;
    (!is_new).then_some(Registers { pc: words[X30], sp, fp: words[X29], rbx: Some(words[X19]) })
}

/// Makes a new stack that ends at `high` look as if it had stopped before `entry`. Returns its stack pointer.
pub(crate) fn prepare(high: u64, entry: u64) -> u64 {
    let control: u64;
    // SAFETY: reads the control word that a new stack takes over from its maker.
    unsafe { std::arch::asm!("mrs {0}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    let mut words = [0; WORDS];
    words[0] = control;
    words[X19] = entry;
    words[X30] = &raw const tally_stack_begin as u64;
    let sp = (high & !15) - 16 - (WORDS * 8) as u64;
    // SAFETY: the end of a new stack, which has pages of room.
    unsafe { *(sp as *mut [u64; WORDS]) = words };
    sp
}

unsafe extern "C" {
    static tally_stack_begin: u8;
}

// x19 holds the entry function, x0 the first value.
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
    ".cfi_def_cfa sp, 16",
    ".cfi_undefined x30",
    // A return address is looked up by the byte before it.
    "nop",
    "tally_stack_begin:",
    "mov x29, xzr",
    "mov x2, x0",
    "mov x1, x19",
    "mov x0, xzr",
    "bl {call}",
    "bl {finished}",
    "brk #1",
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
    let machine = &context.uc_mcontext;
    [machine.pc, machine.sp, machine.regs[29]]
}

/// A request to valgrind, if the process runs under it: it must not take a switch for a large move of one stack. The
/// four rotations add up to nothing.
pub(crate) fn valgrind(request: u64, first: u64, second: u64) -> u64 {
    let request = [request, first, second, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: changes x12 and changes it back, and combines a register with itself.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            in("x4") &raw const request,
            inout("x3") answer,
        );
    }
    answer
}
