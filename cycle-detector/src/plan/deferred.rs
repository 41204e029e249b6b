//! The deferred plan: epochs, from the flip to the last decrement, and the mark beside them.
pub mod backoff;
pub(crate) mod company;
pub(crate) mod discovery;
pub mod epoch;
pub mod flip;
pub mod mark;
pub mod reconcile;
pub mod release;
pub(crate) mod step;
pub mod trial;
pub mod trigger;
pub mod verify;
