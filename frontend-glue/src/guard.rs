//! How LLVM's messages, crashes and greed for memory end as findings.
pub mod crash_net;
pub mod memory_limit;
pub mod messages;
pub(crate) mod out_of_memory;
