//! The deferred plan's part of a heap: blocks with holes, the log, counts that epochs reconcile.
pub mod block;
pub mod bulk;
pub mod count;
mod ephemeron;
mod finalizable;
mod immortal;
pub mod log;
pub mod mature;
mod retire;
mod safepoint;
mod upgrade;
pub(crate) mod young_special;
