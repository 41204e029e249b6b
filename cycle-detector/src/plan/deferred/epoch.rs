//! The epoch: one loop, one match. Everything after a flip happens here, a slice at a time; a slice stops when its units or its time
//! are used up.
//!
//! ```text
//!  flip ──► Count ──────────► Sweep ─────────► Release ─────────────► Try ──────────► Idle
//!           increments:       blocks that      decrements: the dead   candidates:     wait for the
//!           promote, count    were allocated   the log named, last    local trial     next flip
//!           the log's words   into             roots, old values      deletion
//!  beside it, whenever there is any: deaths (children of zero counts), the backup mark, memory of large objects that leaves
//! ```
//!
//! `[ORDER]` Count ends before Release begins: all increments of a flip come before its decrements, and nothing is freed
//! in between that the increments could still reach.
//!
//! A slice is bounded by units of work (about one reference each) and by the clock, looked at every `CHUNK_UNITS`
//! units. `[BOUND]`

mod run;

use crate::slice::SLICE_UNITS;

/// The units by which a slice may exceed its budget: one step. The longest are a trial, and one object's references.
pub const STEP_UNITS_MAX: u64 = SLICE_UNITS as u64;

/// Where the passes of the last flip are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Done; waiting for the next flip.
    #[default]
    Idle,
    /// Increments and promotion.
    Count,
    /// Giving back large objects that died young, sweeping the blocks that were allocated into.
    Sweep,
    /// Decrements.
    Release,
    /// Trial deletion.
    Try,
}

/// The part of `units` that the first of two may use.
fn share(units: i64, of_two: bool) -> i64 {
    if of_two { (units - units / 3).max(1) } else { units }
}
