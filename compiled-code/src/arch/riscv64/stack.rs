//! Entries into managed code, stacks that stop, and the registers of a fault on RISC-V.
//!
//! A stopped stack ends in the words that [`swap`] has saved, or that make a new stack look the same:
//!
//! ```text
//! higher │ s0, ra (the return address of `swap`)     sp + 208 is the stack pointer behind it
//!        │ s1 … s11                                  the registers that a call preserves (RISC-V ELF psABI, 2.1)
//!        │ fs0 … fs11                                (2.2)
//! lower  │ frm: how results are rounded     ◄── sp, in the record
//! ```

use super::super::called_by_assembly::{tally_stack_finished, tally_stack_personality, tally_stack_prepare_switch};
use stack_roots::Registers;
use std::arch::{global_asm, naked_asm};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

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
        "addi sp, sp, -16",
        ".cfi_def_cfa_offset 16",
        "sd ra, 8(sp)",
        "sd s0, 0(sp)",
        ".cfi_offset s0, -16",
        "addi s0, sp, 16",
        ".cfi_def_cfa s0, 0",
        ".cfi_undefined ra",
        "mv t0, a0",
        "mv a0, a1",
        "mv a1, a2",
        "mv a2, a3",
        "jalr t0",
        ".globl tally_entry_return",
        ".hidden tally_entry_return",
        "tally_entry_return:",
        "ld ra, 8(sp)",
        "ld s0, 0(sp)",
        "addi sp, sp, 16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore s0",
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
        "addi sp, sp, -32",
        ".cfi_def_cfa_offset 32",
        "sd ra, 24(sp)",
        "sd s0, 16(sp)",
        ".cfi_offset ra, -8",
        ".cfi_offset s0, -16",
        "addi s0, sp, 32",
        ".cfi_def_cfa s0, 0",
        // Where the walk looks for it (`stack_roots::anchor`).
        "sd a0, 8(sp)",
        "mv t0, a1",
        "mv a0, a2",
        "jalr t0",
        ".globl tally_reentry_return",
        ".hidden tally_reentry_return",
        "tally_reentry_return:",
        "ld ra, 24(sp)",
        "ld s0, 16(sp)",
        "addi sp, sp, 32",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore ra",
        ".cfi_restore s0",
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
        "addi sp, sp, -32",
        ".cfi_def_cfa_offset 32",
        "sd ra, 24(sp)",
        "sd s0, 16(sp)",
        ".cfi_offset ra, -8",
        ".cfi_offset s0, -16",
        "addi s0, sp, 32",
        "sd a1, 0(sp)",
        "call {prepare}",
        "ld a2, 0(sp)",
        "ld ra, 24(sp)",
        "ld s0, 16(sp)",
        "addi sp, sp, 32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore ra",
        ".cfi_restore s0",
        "beqz a0, 2f",
        "tail {swap}",
        "2:",
        "mv a0, a2",
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
        "addi sp, sp, -208",
        ".cfi_def_cfa_offset 208",
        "fsd fs0, 8(sp)",
        "fsd fs1, 16(sp)",
        "fsd fs2, 24(sp)",
        "fsd fs3, 32(sp)",
        "fsd fs4, 40(sp)",
        "fsd fs5, 48(sp)",
        "fsd fs6, 56(sp)",
        "fsd fs7, 64(sp)",
        "fsd fs8, 72(sp)",
        "fsd fs9, 80(sp)",
        "fsd fs10, 88(sp)",
        "fsd fs11, 96(sp)",
        "sd s1, 104(sp)",
        "sd s2, 112(sp)",
        "sd s3, 120(sp)",
        "sd s4, 128(sp)",
        "sd s5, 136(sp)",
        "sd s6, 144(sp)",
        "sd s7, 152(sp)",
        "sd s8, 160(sp)",
        "sd s9, 168(sp)",
        "sd s10, 176(sp)",
        "sd s11, 184(sp)",
        "sd s0, 192(sp)",
        "sd ra, 200(sp)",
        ".cfi_offset 40, -200",
        ".cfi_offset 41, -192",
        ".cfi_offset 50, -184",
        ".cfi_offset 51, -176",
        ".cfi_offset 52, -168",
        ".cfi_offset 53, -160",
        ".cfi_offset 54, -152",
        ".cfi_offset 55, -144",
        ".cfi_offset 56, -136",
        ".cfi_offset 57, -128",
        ".cfi_offset 58, -120",
        ".cfi_offset 59, -112",
        ".cfi_offset s1, -104",
        ".cfi_offset s2, -96",
        ".cfi_offset s3, -88",
        ".cfi_offset s4, -80",
        ".cfi_offset s5, -72",
        ".cfi_offset s6, -64",
        ".cfi_offset s7, -56",
        ".cfi_offset s8, -48",
        ".cfi_offset s9, -40",
        ".cfi_offset s10, -32",
        ".cfi_offset s11, -24",
        ".cfi_offset s0, -16",
        ".cfi_offset ra, -8",
        "frrm t0",
        "sd t0, 0(sp)",
        "sd sp, 0(a0)",
        "mv sp, a1",
        // The rounding is hardly ever different, and to set it is slow.
        "ld t1, 0(sp)",
        "beq t0, t1, 2f",
        "fsrm t1",
        "2:",
        "mv a0, a2",
        "fld fs0, 8(sp)",
        "fld fs1, 16(sp)",
        "fld fs2, 24(sp)",
        "fld fs3, 32(sp)",
        "fld fs4, 40(sp)",
        "fld fs5, 48(sp)",
        "fld fs6, 56(sp)",
        "fld fs7, 64(sp)",
        "fld fs8, 72(sp)",
        "fld fs9, 80(sp)",
        "fld fs10, 88(sp)",
        "fld fs11, 96(sp)",
        "ld s1, 104(sp)",
        "ld s2, 112(sp)",
        "ld s3, 120(sp)",
        "ld s4, 128(sp)",
        "ld s5, 136(sp)",
        "ld s6, 144(sp)",
        "ld s7, 152(sp)",
        "ld s8, 160(sp)",
        "ld s9, 168(sp)",
        "ld s10, 176(sp)",
        "ld s11, 184(sp)",
        "ld s0, 192(sp)",
        "ld ra, 200(sp)",
        "addi sp, sp, 208",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore 40",
        ".cfi_restore 41",
        ".cfi_restore 50",
        ".cfi_restore 51",
        ".cfi_restore 52",
        ".cfi_restore 53",
        ".cfi_restore 54",
        ".cfi_restore 55",
        ".cfi_restore 56",
        ".cfi_restore 57",
        ".cfi_restore 58",
        ".cfi_restore 59",
        ".cfi_restore s1",
        ".cfi_restore s2",
        ".cfi_restore s3",
        ".cfi_restore s4",
        ".cfi_restore s5",
        ".cfi_restore s6",
        ".cfi_restore s7",
        ".cfi_restore s8",
        ".cfi_restore s9",
        ".cfi_restore s10",
        ".cfi_restore s11",
        ".cfi_restore s0",
        ".cfi_restore ra",
        "ret",
        ".cfi_endproc",
    )
}

/// Words that `swap` leaves on a stack; those of s1, s0 and ra.
const WORDS: usize = 26;
const S1: usize = 13;
const S0: usize = 24;
const RA: usize = 25;

/// The registers of the frame that has stopped, by what `swap` left at `sp`; `None` on a new stack.
///
/// # Safety
/// `swap` or [`prepare`] has left its words there.
pub(crate) unsafe fn stopped_registers(sp: u64) -> Option<Registers> {
    // SAFETY: by the caller's promise.
    let words = unsafe { *(sp as *const [u64; WORDS]) };
    let is_new = words[RA] == &raw const tally_stack_begin as u64;
    let sp = sp + (WORDS * 8) as u64;
    (!is_new).then_some(Registers { pc: words[RA], sp, fp: words[S0], rbx: Some(words[S1]) })
}

/// Makes a new stack that ends at `high` look as if it had stopped before `entry`. Returns its stack pointer.
pub(crate) fn prepare(high: u64, entry: u64) -> u64 {
    let rounding: u64;
    // SAFETY: reads the control word that a new stack takes over from its maker.
    unsafe { std::arch::asm!("frrm {0}", out(reg) rounding, options(nomem, nostack, preserves_flags)) };
    let mut words = [0; WORDS];
    words[0] = rounding;
    words[S1] = entry;
    words[RA] = &raw const tally_stack_begin as u64;
    let sp = (high & !15) - 16 - (WORDS * 8) as u64;
    // SAFETY: the end of a new stack, which has pages of room.
    unsafe { *(sp as *mut [u64; WORDS]) = words };
    sp
}

unsafe extern "C" {
    static tally_stack_begin: u8;
}

// s1 holds the entry function, a0 the first value.
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
    ".cfi_undefined ra",
    // A return address is looked up by the byte before it.
    "nop",
    "tally_stack_begin:",
    "li s0, 0",
    "mv a2, a0",
    "mv a1, s1",
    "li a0, 0",
    "call {call}",
    "call {finished}",
    "unimp",
    ".cfi_endproc",
    ".size tally_stack_begin, . - tally_stack_begin",
    personality = sym tally_stack_personality,
    call = sym tally_call_managed,
    finished = sym tally_stack_finished,
);

/// Where a start routine returns to, if no unwind table leads beyond: glibc's code is compiled without tables for RISC-V, unless it can meet
/// exceptions. The first call starts a thread, which says where it was called from.
pub(crate) fn untabled_thread_start() -> Option<u64> {
    static PLACE: OnceLock<Option<u64>> = OnceLock::new();
    *PLACE.get_or_init(|| {
        let mut thread = 0;
        // SAFETY: the routine touches nothing, and the thread's identity is written before it is read.
        let failed = unsafe { libc::pthread_create(&raw mut thread, ptr::null(), return_address, ptr::null_mut()) };
        let mut place = ptr::null_mut();
        // SAFETY: the thread that was started, if it was; nothing else waits for it.
        let is_known = failed == 0 && unsafe { libc::pthread_join(thread, &raw mut place) } == 0;
        is_known.then_some(place as u64)
    })
}

/// The address to which it returns.
#[unsafe(naked)]
extern "C" fn return_address(_: *mut c_void) -> *mut c_void {
    naked_asm!("mv a0, ra", "ret")
}

/// The registers at a fault: pc, sp and fp.
pub(crate) fn registers_at(context: &libc::ucontext_t) -> [u64; 3] {
    let registers = &context.uc_mcontext.__gregs;
    // The first is pc, in the place of x0.
    [registers[0], registers[2], registers[8]]
}

/// A request to valgrind, if the process runs under it: it must not take a switch for a large move of one stack. The
/// four shifts of x0 do nothing.
pub(crate) fn valgrind(request: u64, first: u64, second: u64) -> u64 {
    let request = [request, first, second, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: shifts x0, which stays zero, and combines a register with itself.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option norvc",
            "srli zero, zero, 3",
            "srli zero, zero, 13",
            "srli zero, zero, 51",
            "srli zero, zero, 61",
            "or a0, a0, a0",
            ".option pop",
            in("a4") &raw const request,
            inout("a3") answer,
        );
    }
    answer
}
