//! The thread's context, a call that catches exceptions, time stamps and pages on x86-64.

use super::tally_guarded_personality;
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

/// Bits of an address that every kernel gives a process.
pub(crate) const ADDRESS_BITS: u32 = 47;

/// DWARF's number of the register in which a function returns its first word.
pub const RESULT_REGISTER: c_int = 0;

/// The calling thread's context.
#[inline(always)]
pub(crate) fn context() -> u64 {
    let address: u64;
    // SAFETY: reads the thread pointer and the symbol's initial-exec offset; both are valid for the thread's life.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + tally_context@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, readonly, nostack)
        );
    }
    address
}

/// Distance of the context from the thread pointer.
pub(crate) fn context_offset() -> i64 {
    let offset: i64;
    // SAFETY: reads the symbol's initial-exec offset.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + tally_context@GOTTPOFF]",
            out(reg) offset,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    offset
}

/// The processor's time stamp: only differences on one thread are used, and only to compare them with each other.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Asks for the line of `address` to be in the cache soon; any address will do.
#[inline(always)]
pub fn prefetch(address: u64) {
    // SAFETY: a hint, which reads nothing.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8) };
}

/// Bytes of a page. All kernels for this processor have the same.
#[inline(always)]
pub fn page_bytes() -> u64 {
    4096
}

/// Calls `function(argument)`. Returns null when it has returned, else the exception.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn guarded_call(
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        // Of this library alone: an unwind table cannot name a function that another may replace.
        ".hidden {personality}",
        ".cfi_personality 0x1b, {personality}",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "xor eax, eax",
        ".globl tally_guarded_landing",
        ".hidden tally_guarded_landing",
        "tally_guarded_landing:",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        personality = sym tally_guarded_personality,
    )
}

/// Defines the address of a weak symbol, null where nothing defines it.
macro_rules! weak_symbol {
    ($lookup:ident, $symbol:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $lookup() -> *const c_void {
            std::arch::naked_asm!(
                concat!(".weak ", $symbol),
                concat!("mov rax, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                "ret"
            )
        }
    };
}
pub(crate) use weak_symbol;
