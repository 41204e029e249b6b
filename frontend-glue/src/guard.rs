//! Turns LLVM's messages, crashes and excessive use of memory into findings.
pub(crate) mod crash_net;
pub mod loaded_llvm;
pub mod memory_limit;
pub mod messages;
pub(crate) mod out_of_memory;
