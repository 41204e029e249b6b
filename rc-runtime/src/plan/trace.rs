//! The trace plan's part of a heap: nothing is counted, and a collection marks from the roots and frees all else.
//!
//! It is for strategies of LLVM's document that have no write barrier, and a third opinion beside the two plans that
//! count: the same program prints the same under it. Code may write by plain stores. Objects are allocated as under the
//! deferred plan, by bumping a cursor through holes of blocks. A collection does not look at dead objects: it builds
//! the live bits of all blocks anew, a cell for each object that the mark reaches, and the holes are what lies between
//! (Immix, Blackburn & McKinley 2008, §2, with exact cells instead of lines). Only dead objects that are special, that
//! have a finalizer, or that are large are listed, because something else than memory hangs on them.
//!
//! | room | question |
//! |---|---|
//! | `lists` | which objects are held, have a finalizer, or are special? |
//! | `slices` | what does a collection do to blocks and bits if the program runs between its steps? |
//! | `barrier` | what is shown to its mark? |
//! | `slices/judging` | what becomes of the dead before they are swept? |
//!
//! When a collection is due and how it marks decides `tally-collector`. A collection stops the program, or goes in slices where all
//! code has the barrier.

mod barrier;
mod lists;
mod slices;

use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::plan::Change;

/// The trace plan's part of a heap.
#[derive(Debug, Default)]
pub struct Trace {
    /// Objects that the runtime holds while it calls the program; an object once for each hold.
    pub(in crate::plan) held: List<ObjectRef>,
    /// Objects whose finalizer is registered and has not run. An object may be listed twice, and one whose registration
    /// was taken back stays until the next collection.
    pub(in crate::plan) finalizable: List<ObjectRef>,
    /// Objects that were special when they were listed, once each: their bits in the table `BUFFERED` are set.
    pub(in crate::plan) special: List<ObjectRef>,
    /// A collection in slices.
    pub(in crate::plan) slices: slices::Slices,
    /// References that were shown to marks in slices because their object was written to.
    pub(in crate::plan) shown: u64,
    /// A heap of the deferred plan traces: survivors are mature, as under the trace plan.
    pub(in crate::plan) ages: bool,
    /// How far the change is by which it began to, or after which it counts.
    pub(in crate::plan) change: Change,
}

impl Trace {
    /// Objects that a collection looks at beside the living.
    pub fn listed(&self) -> usize {
        self.special.len() + self.finalizable.len() + self.held.len()
    }

    /// Objects that the running mark in slices had not come to when weak references yielded them: they survive, though some were dead.
    pub fn upgraded(&self) -> u64 {
        self.slices.upgraded
    }

    /// References that were shown to marks in slices because their object was written to.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// The stamp of objects that were allocated since the snapshot of a running collection; 0, which no young object has, if
    /// there is none.
    #[inline(always)]
    pub fn new_stamp(&self) -> u32 {
        self.slices.new_stamp
    }
}
