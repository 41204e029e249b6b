//! Parked work: structures that were being taken apart when the program was called, by this drain or an outer one, are in the heap
//! meanwhile, not in the frames of the runtime.
//!
//! A call may be left by `longjmp`, and what it has interrupted goes on then. And cycles are judged inside it: a mark
//! must follow what dying objects still hold, and pass over the entries of the pending list that a drain is done with. `[RECLAIM]`

mod resume;

use super::{DyingLarge, for_each_held_by_waiting};
use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::plan::prompt::Prompt;
use std::ops::Range;

/// The work that a call of the program has interrupted.
#[derive(Debug)]
pub(in crate::plan::prompt) struct Parked {
    next: Option<ObjectRef>,
    /// Its references begin there in the list of all.
    release_stack: usize,
    waiting: u64,
    height: usize,
    large: List<DyingLarge>,
    /// Entries of the pending list that the drain had done with.
    gap: Range<usize>,
    /// Calls further out.
    depth: usize,
}

impl Prompt {
    /// References that dying objects still hold and have not been decremented, those of structures included that calls of
    /// the program have interrupted: for marks and recounts.
    pub fn for_each_dying_reference(&self, mut visit: impl FnMut(ObjectRef)) {
        self.cascades.iter().for_each(|cascade| cascade.for_each_held(&mut visit));
        self.parked_references.iter().copied().for_each(&mut visit);
        for parked in &self.parked {
            parked.next.into_iter().for_each(&mut visit);
            for_each_held_by_waiting(parked.waiting, &parked.large, &mut visit);
        }
    }

    /// Large objects that are being taken apart, and the state of each.
    pub(in crate::plan::prompt) fn dying_large(&self) -> impl Iterator<Item = &DyingLarge> {
        let parked = self.parked.iter().flat_map(|parked| &parked.large);
        self.cascades.iter().flat_map(|cascade| &cascade.large).chain(parked)
    }

    /// Whether anything is being taken apart.
    pub fn takes_apart(&self) -> bool {
        !self.cascades.is_empty() || !self.parked.is_empty()
    }

    /// Whether a drain that a call of the program has interrupted is done with this entry of the pending list.
    pub(in crate::plan::prompt) fn has_drained(&self, at: usize) -> bool {
        self.parked.iter().any(|parked| parked.gap.contains(&at))
    }
}
