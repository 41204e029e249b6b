//! One folder for each plan: the driver that the heap calls, and the passes that it runs.
mod bump;
pub mod deferred;
pub mod prompt;
pub mod trace;
