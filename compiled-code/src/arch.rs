//! Whatever differs by **processor** in this crate: shims, the diverted return, entries, switches of stacks, and a fault's registers.
//!
//! Each folder has the same items for one processor, and nothing else in the crate asks which one it is. Stacks look alike on all:
//! where compiled code leaves for a safepoint, its return address lies just below its stack pointer, and its frame pointer below that.

mod called_by_assembly;

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
