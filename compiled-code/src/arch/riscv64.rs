//! RISC-V: shims, the diverted return, and stacks.

mod diversion;
mod shim;
mod stack;

pub(crate) use diversion::*;
pub(crate) use shim::*;
pub use stack::*;
