//! The thread's context, a call that catches exceptions, time stamps and pages on AArch64.
//!
//! Source: Procedure Call Standard for the Arm 64-bit Architecture; ELF for the Arm 64-bit Architecture, 5.7 (TLS).

use super::tally_guarded_personality;
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of an address that every kernel gives a process.
pub(crate) const ADDRESS_BITS: u32 = 39;

/// DWARF's number of the register in which a function returns its first word.
pub const RESULT_REGISTER: c_int = 0;

/// The calling thread's context.
#[inline(always)]
pub(crate) fn context() -> u64 {
    let address: u64;
    // SAFETY: reads the thread pointer and the symbol's initial-exec offset; both are valid for the thread's life.
    unsafe {
        std::arch::asm!(
            "adrp {0}, :gottprel:tally_context",
            "ldr {0}, [{0}, :gottprel_lo12:tally_context]",
            "mrs {1}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) address,
            out(reg) _,
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
            "adrp {0}, :gottprel:tally_context",
            "ldr {0}, [{0}, :gottprel_lo12:tally_context]",
            out(reg) offset,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    offset
}

/// The processor's time stamp: only differences on one thread are used, and only to compare them with each other.
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads the virtual counter, which Linux lets programs read.
    unsafe { std::arch::asm!("mrs {0}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// Asks for the line of `address` to be in the cache soon; any address will do.
#[inline(always)]
pub fn prefetch(address: u64) {
    // SAFETY: a hint, which reads nothing.
    unsafe { std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(readonly, nostack, preserves_flags)) };
}

/// Bytes of a page: 4, 16 or 64 KiB, as the kernel was built.
#[inline]
pub fn page_bytes() -> u64 {
    static PAGE_BYTES: AtomicU64 = AtomicU64::new(0);
    match PAGE_BYTES.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: asks for a number.
            let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
            PAGE_BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
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
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa x29, 16",
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        "mov x0, xzr",
        ".globl tally_guarded_landing",
        ".hidden tally_guarded_landing",
        "tally_guarded_landing:",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
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
                concat!("adrp x0, :got:", $symbol),
                concat!("ldr x0, [x0, :got_lo12:", $symbol, "]"),
                "ret"
            )
        }
    };
}
pub(crate) use weak_symbol;
