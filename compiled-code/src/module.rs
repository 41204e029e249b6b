//! Modules: the record of a lowered module, the registered modules, and their data about stacks.
mod call_sites;
mod compact_frames;
pub mod driver;
pub mod foreign_frames;
pub(crate) mod loaded;
mod loaded_file;
pub(crate) mod name_text;
pub(crate) mod names;
pub mod record;
pub mod registry;
pub(crate) mod root_table;
