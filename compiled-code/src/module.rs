//! Modules: what a lowered module says of itself, which are registered, and what they say about stacks.
pub(crate) mod loaded;
pub mod record;
pub mod registry;
