//! Modules: the record of a lowered module, the registered modules, and their data about stacks.
pub(crate) mod loaded;
pub mod record;
pub mod registry;
