//! Whatever differs by **processor** in this crate: the thread's context, a call that catches exceptions, time stamps, pages.
//!
//! Each file of the folder has the same items for one processor, and nothing else in the crate asks which one it is. The
//! crates above have such a folder each: `stack-roots` for frames, `tally-compiled` for shims and stacks.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "riscv64")]
mod riscv64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "riscv64")]
pub use riscv64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"), target_os = "linux")))]
compile_error!(
    "Tally's context, walker and shims are written for x86-64, AArch64 and RISC-V 64 Linux (docs/port/platforms.md)"
);

// The context itself, whose address and distance each file finds in its own way.
std::arch::global_asm!(
    ".section .tbss.tally_context,\"awT\",@nobits",
    ".globl tally_context",
    ".type tally_context,@object",
    ".size tally_context,832",
    ".p2align 6",
    "tally_context:",
    ".zero 832",
    ".text",
);

unsafe extern "C" {
    /// Of `services::exception`, which names this folder: assembly needs no more than its name.
    fn tally_guarded_personality();
    /// Behind the call in `guarded_call`.
    static tally_guarded_landing: u8;
}

/// Where `guarded_call` goes on with an exception, which is in its result register.
pub(crate) fn guarded_landing() -> u64 {
    &raw const tally_guarded_landing as u64
}
