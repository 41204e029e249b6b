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
//! Marks of heaps of medium size that are cheaper than counts (`price`) go in slices, between which the program runs (`slices`).
//!
//! A mark that is given up has cost its bound, and the flip comes in the same stop. `[BOUND]` An explicit collection has no
//! bound. What the heap does to change its rules is [`tally_heap::plan::deferred::marking`].

mod bound;
mod collect;
mod length;
mod price;
mod slices;

use slices::SlicedMark;

/// When the next collection is due, and what marks cost.
#[derive(Debug)]
pub(crate) struct Marking {
    /// Units of the last mark, and bytes of the objects that it has left.
    units: u64,
    left: u64,
    /// What a unit of a mark has cost lately, and how many a living object has.
    ns_per_unit: f64,
    units_per_object: f64,
    /// Flips until the heap may mark again, and after the next mark that is given up.
    wait: u32,
    patience: u32,
    /// Marks go in slices: they are longer than the bound, and still cheaper than counts.
    in_slices: bool,
    /// The mark that runs.
    sliced: Option<SlicedMark>,
    /// What counts have cost lately.
    counted: price::Counted,
    /// What an object that survived its first flip has cost lately while the heap counted, in nanoseconds.
    ns_per_promoted: f64,
    /// Marks in slices, one after the other, that cost more than counts would have.
    dear: u32,
}
