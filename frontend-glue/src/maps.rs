//! `tally maps`: the roots at every call of an object or executable, with their places in the source.
pub(crate) mod line_table;
pub mod placed_object;
pub mod root_listing;
