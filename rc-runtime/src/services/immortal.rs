//! Immortal objects: they and what they reach never die, until the host takes it back.
//!
//! An immortal object has one count that no reference accounts for, so that counting never frees it and every trial
//! sees it held from outside; marks begin at it as at a root. It costs a word in a list. It is no candidate, and trials
//! stop at it: a structure that was frozen when it was complete costs the detectors nothing.
//!
//! Under the deferred plan the count of a mature object is there at once, and shown to a mark that is looking: what is
//! frozen may be garbage that no epoch has found yet, and a mark that sees the flip before the freeze would condemn it.
//! Young objects wait for the next flip; until then the caller's own reference keeps them. To be mortal again all wait
//! for the next flip. Under the prompt plan both take effect at once.

mod make;

use crate::memory::list::List;
use crate::object::ObjectRef;

/// The immortal objects of one heap.
#[derive(Debug, Default)]
pub struct Immortals {
    /// Each has a count.
    pub(crate) counted: List<ObjectRef>,
    /// Deferred plan: young, to be counted at the next flip.
    pub(crate) new: List<ObjectRef>,
    /// Deferred plan: to be released with the roots of the last flip.
    pub(crate) released: List<ObjectRef>,
}

impl Immortals {
    /// Each has a count that no reference accounts for.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.counted.iter().chain(&self.released).copied()
    }
}
