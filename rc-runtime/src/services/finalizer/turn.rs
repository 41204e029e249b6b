//! How many finalizers run before the program goes on: a million that became due together are no reason to stop it.
//!
//! With a pause goal the finalizers of a set run some at each safepoint: for as long as a slice of the collector's own
//! work may take (`HeapOptions::slice_ns`), and not again before the program has had as much time, unless half of all objects wait.
//! The clock is looked at every [`CALLS_PER_LOOK`] calls. Where slices are given in units a call counts as [`UNITS_PER_CALL`]. At least one runs.
//! Without a pause goal, in an explicit collection, when memory has run out and at the end of the program all run.

mod begin;

use std::time::Instant;

/// Finalizers between two looks at the clock.
pub(crate) const CALLS_PER_LOOK: u32 = 16;
/// Units of work that a call is taken for.
pub(crate) const UNITS_PER_CALL: u32 = 16;

/// The finalizers that one safepoint runs.
#[derive(Debug)]
pub(crate) struct Turn {
    calls_left: u64,
    start: Option<Instant>,
}

impl Turn {
    /// All of them.
    pub(crate) const ALL: Turn = Turn { calls_left: u64::MAX, start: None };

    /// Whether it has no end.
    pub(crate) fn is_all(&self) -> bool {
        self.start.is_none() && self.calls_left > u64::from(u32::MAX)
    }
}
