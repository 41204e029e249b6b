//! Stacks of compiled code: where the walk meets the heap, and what stands in its way.
pub(crate) mod diversion;
pub(crate) mod plain_root;
pub mod reentry;
pub mod roots;
pub mod shadow_stack;
