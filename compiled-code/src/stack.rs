//! Stacks of compiled code: the walk for a heap's roots, its pauses, and the frames that need special care.
mod alloc_sites;
pub(crate) mod anchor;
pub(crate) mod bounds;
pub(crate) mod coroutine;
pub(crate) mod described_roots;
pub(crate) mod diversion;
pub(crate) mod ended;
pub(crate) mod plain_root;
pub mod reentry;
pub mod root_listing;
pub(crate) mod root_metadata;
pub mod roots;
pub mod shadow_stack;
