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
//! | `judging` | what becomes of the dead before they are swept? |
//!
//! When a collection is due and how it marks decides `tally-collector`. A collection stops the program, or goes in slices where all
//! code has the barrier.

mod barrier;
mod judging;
mod lists;
mod slices;

use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::{ObjectRef, Slot};

/// The trace plan's part of a heap.
#[derive(Debug, Default)]
pub struct Trace {
    /// Objects that the runtime holds while it calls the program; an object once for each hold.
    pub(crate) held: List<ObjectRef>,
    /// Objects whose finalizer is registered and has not run. An object may be listed twice, and one whose registration
    /// was taken back stays until the next collection.
    pub(crate) finalizable: List<ObjectRef>,
    /// Objects that were special when they were listed, once each: their bits in the table `BUFFERED` are set.
    pub(crate) special: List<ObjectRef>,
    /// A collection in slices.
    pub(crate) slices: slices::Slices,
}

impl Trace {
    /// Objects that a collection looks at beside the living.
    pub fn listed(&self) -> usize {
        self.special.len() + self.finalizable.len() + self.held.len()
    }
}

impl Heap {
    /// Copies `count` words; the ranges may overlap.
    ///
    /// # Safety
    /// `target` names `count` words of `object`, `source` as many readable words that such fields may hold.
    pub(crate) unsafe fn copy_shown(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        self.show_words(object, target, count);
        // SAFETY: by the caller's promise.
        unsafe { std::ptr::copy(source as *const u64, target.address() as *mut u64, count as usize) };
    }

    /// Writes `word` to `count` words of `object` from `target` on.
    pub(crate) fn fill_shown(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        self.show_words(object, target, count);
        for index in 0..count {
            object.slot(target.address() - object.address() + index * 8).store(word);
        }
    }
}
