//! A small heap marks instead of counting: when it collects, when it begins to count, and to mark again.
//!
//! ```text
//!   marking, a collection is due:  a mark within the bound
//!        all that lives was marked                      the heap marks on
//!        the bound came first, or the stack is deep     it counts from here on: a flip, and the ordinary epoch, in slices
//!   counting, a flip is due, no pass is running, and all that lives could be marked in half of the bound:
//!        a collection, within the bound                 as above
//! ```
//!
//! A mark that is given up has cost its bound, and the flip comes in the same stop. `[BOUND]` An explicit collection has no
//! bound. What the heap does to change its rules is [`tally_heap::plan::deferred::marking`].

mod bound;
mod collect;

use crate::plan::bump::growth::Growth;

/// Flips before a heap that has begun to count may mark again, at first.
pub(in crate::plan::deferred) const PATIENCE: u32 = 2;

/// When the next collection is due, and what marks cost.
#[derive(Debug)]
pub(crate) struct Marking {
    growth: Growth,
    /// What a unit of a mark has cost lately, and how many a living object has.
    ns_per_unit: f64,
    units_per_object: f64,
    /// Flips until the heap may mark again, and after the next mark that is given up.
    wait: u32,
    patience: u32,
}
