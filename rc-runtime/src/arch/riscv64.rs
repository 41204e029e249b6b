//! The thread's context, a call that catches exceptions, time stamps and pages on RISC-V.
//!
//! Source: RISC-V ELF psABI, 3.4 (thread-locals); The RISC-V Instruction Set Manual, "Zicntr" and "Zicbop".

use super::tally_guarded_personality;
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

/// Bits of an address that every kernel gives a process: those of Sv39, less one that tells the kernel's.
pub(crate) const ADDRESS_BITS: u32 = 38;

/// DWARF's number of the register in which a function returns its first word.
pub const RESULT_REGISTER: c_int = 10;

/// The calling thread's context.
#[inline(always)]
pub(crate) fn context() -> u64 {
    let address: u64;
    // SAFETY: reads the thread pointer and the symbol's initial-exec offset; both are valid for the thread's life.
    unsafe {
        std::arch::asm!(
            "la.tls.ie {0}, tally_context",
            "add {0}, {0}, tp",
            out(reg) address,
            options(pure, readonly, nostack, preserves_flags)
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
            "la.tls.ie {0}, tally_context",
            out(reg) offset,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    offset
}

/// The processor's time stamp: only differences on one thread are used, and only to compare them with each other.
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads the time, which Linux lets programs read; not the cycles, which it does not.
    unsafe { std::arch::asm!("rdtime {0}", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// Asks for the line of `address` to be in the cache soon; any address will do.
#[inline(always)]
pub fn prefetch(address: u64) {
    // SAFETY: prefetch.r, a hint which reads nothing; processors that do not know it set x0, which changes nothing.
    unsafe { std::arch::asm!("ori zero, {0}, 1", in(reg) address, options(readonly, nostack, preserves_flags)) };
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
        "addi sp, sp, -16",
        ".cfi_def_cfa_offset 16",
        "sd ra, 8(sp)",
        "sd s0, 0(sp)",
        ".cfi_offset ra, -8",
        ".cfi_offset s0, -16",
        "addi s0, sp, 16",
        ".cfi_def_cfa s0, 0",
        "mv t0, a0",
        "mv a0, a1",
        "jalr t0",
        "li a0, 0",
        ".globl tally_guarded_landing",
        ".hidden tally_guarded_landing",
        "tally_guarded_landing:",
        "ld ra, 8(sp)",
        "ld s0, 0(sp)",
        "addi sp, sp, 16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore ra",
        ".cfi_restore s0",
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
            std::arch::naked_asm!(concat!(".weak ", $symbol), concat!("lga a0, ", $symbol), "ret")
        }
    };
}
pub(crate) use weak_symbol;
