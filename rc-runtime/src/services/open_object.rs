//! Open objects: those that are written to without a barrier, such as the stack of an interpreter while it runs.
//!
//! The program opens an object and closes it. While it is open a global handle holds it, and its references are written by plain
//! stores where the plan allows that:
//!
//! | plan | open | a write to an open object |
//! |---|---|---|
//! | deferred | logged at once, and again at each flip, all of it | a store: what is logged needs no log `[LOG]` |
//! | prompt | held | counted as ever: an object that only it holds would be at zero at the next safepoint `[EXACT]` |
//! | trace | held; all of it is shown to a mark in slices, when it is opened and at the snapshot | a store |
//!
//! To the passes of the deferred plan the program has written to it first thing after each flip, so no pass knows of open objects.
//! A flip costs what the barrier would have cost once, some nanoseconds for each of its references. One that is
//! closed is an object like others: the next flip arms its barrier.

mod write;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// The open objects of a heap, each with its global handle.
#[derive(Debug, Default)]
pub(crate) struct OpenObjects {
    open: List<(ObjectRef, u64)>,
    /// Entries of the running log that are theirs, written at its flip.
    entries: u64,
}
