//! Parked work: structures that were being taken apart when the program was called, by this drain or an outer one, are in the heap
//! meanwhile, not in the frames of the runtime.
//!
//! A call may be left by `longjmp`, and what it has interrupted goes on then. And cycles are judged inside it: a mark
//! must follow what dying objects still hold, and pass over the entries of the pending list that a drain is done with. `[RECLAIM]`

use super::{Cascade, DyingLarge, for_each_held_by_waiting};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::plan::prompt::Prompt;
use std::ops::Range;

/// The work that a call of the program has interrupted.
#[derive(Debug)]
pub(in crate::plan::prompt) struct Parked {
    next: Option<ObjectRef>,
    /// Its references begin there in the list of all.
    estate: usize,
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

impl Heap {
    /// While the program runs the heap has the dying structures: the call may be left by `longjmp`.
    #[inline(never)]
    pub(super) fn park(&mut self, cascade: &mut Cascade, gap: &Range<usize>) {
        self.touch_next_of(cascade);
        let estate = self.prompt.parked_references.len();
        self.prompt.parked_references.extend(cascade.estate.iter());
        cascade.estate.clear();
        let (next, waiting, height) = (cascade.next.take(), cascade.waiting, cascade.height);
        (cascade.waiting, cascade.height) = (0, 0);
        let (large, depth) = (std::mem::take(&mut cascade.large), self.finalizers.depth() as usize);
        self.prompt.parked.push(Parked { next, estate, waiting, height, large, gap: gap.clone(), depth });
    }

    /// The call has returned.
    #[inline(never)]
    pub(super) fn take_out(&mut self, cascade: &mut Cascade) {
        if let Some(parked) = self.prompt.parked.pop() {
            (cascade.next, cascade.waiting, cascade.height) = (parked.next, parked.waiting, parked.height);
            cascade.large = parked.large;
            self.prompt.parked_references.drain(parked.estate..).for_each(|target| cascade.estate.push(target));
        }
    }

    /// The call at this depth was left: its dying structures go on with other cascades, and the pending list has no gap.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_over_parked(&mut self, depth: usize) {
        if let Some(gap) = self.prompt.parked.last().filter(|parked| parked.depth == depth).map(|last| last.gap.clone())
        {
            let mut cascade = Cascade::default();
            self.take_out(&mut cascade);
            if cascade.next.is_some() || cascade.estate.len() != 0 || cascade.waiting != 0 {
                self.prompt.cascades.push(cascade);
            }
            if !gap.is_empty() {
                self.close_gap(gap.start, gap.end);
            }
        }
    }
}
