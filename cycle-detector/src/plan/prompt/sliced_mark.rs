//! The mark in slices: what a heap with a pause goal has instead of the mark that stops the world, and what `tally_step` does.
//!
//! ```text
//! Clear ──► Discover ──► Suspect ──► HeldBack ──► Sum ──► Judge ──► Weak ──► (Hold ──► Show ──► Finalize) ──► Keys ──► Slots ──► Release ──► Free
//! bits      from roots   └────────────── proof ───────────────┘     └─────────────────────────── the condemned ────────────────────────────┘
//!           and batch
//!           at its begin
//! ```
//!
//! **The mark only finds; counts prove.** No barrier tells the mark what the program moves while it discovers, and it
//! need not know: what it has missed is found alive by the proof (`proof.rs`), at the cost of marking it then. So
//! `Discover` is as good as any other way to find out where garbage may be, and can be given up at any point. From the
//! end of `Judge` on unmarked objects are known to be dead and unreachable:
//! `condemned.rs` frees them.
//!
//! Rounds and batches go on beside `Clear` and `Discover`, and beside the last three stages, since nothing that they look
//! at leads to the dead. They wait for the proof, from `Suspect` to `Keys`: what they free would touch what it
//! held.
//!
//! A backlog of young objects is judged a batch at a time before discovery begins, sixty-four times at most; then all at once.
//!
//! An object that waits for its finalizer, or that a dying large object holds, is shown in steps as well: it has a
//! count for that, so the proof finds it alive in any case.
//!
//! Not sliced: the roots, twice; the young objects of one batch. `[BOUND]`

mod advance;
mod finalizable;

use super::marker::Marker;
use super::proof::Proof;
use crate::record_walk::RecordWalk;
use crate::slice::OBJECTS_PER_STEP;
use tally_heap::Heap;
use tally_heap::memory::heap_walk::{HeapWalk, Place};

/// Batches that a backlog of young objects may take before a mark, 32 MiB of fresh cells.
const BATCHES_BEFORE_MAX: u32 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stage {
    #[default]
    Off,
    Clear,
    Discover,
    Suspect,
    HeldBack,
    Sum,
    Judge,
    Weak,
    /// Of the dead, those with finalizers are held.
    Hold,
    /// And marked.
    Show,
    Finalize,
    Keys,
    Slots,
    Release,
    Free,
}

/// The mark in slices: its stage and cursors.
#[derive(Debug, Default)]
pub struct SlicedMark {
    stage: Stage,
    pub(super) marker: Marker,
    pub(super) proof: Proof,
    walk: HeapWalk,
    /// Dead objects with finalizers that the stage has been through.
    queued: usize,
    /// So many of those that wait for their finalizers, from the first, discovery has not come to. One that leaves the queue
    /// before that is none of its business: what has not been found is proved by its count.
    waiting_left: usize,
    pub(super) records: RecordWalk,
    /// A round was after the last slice.
    pub(super) is_next: bool,
    /// Batches of a backlog that were judged before discovery.
    batches_before: u32,
    pub(super) freed: u64,
    /// Bytes of objects that discovery had not come to, and the proof found alive.
    pub(super) unproved_bytes: u64,
    /// Bytes that were alive for finalizers that waited when it began, or held by dying objects.
    waiting_bytes: u64,
    /// Marks of the last one are still there.
    left_marks: bool,
    /// Members of dead cycles have been queued for their finalizers: it takes another mark to free them.
    pub(crate) has_queued: bool,
    /// The last one has met a stuck count that it could not judge.
    pub(crate) has_stuck: bool,
}

impl SlicedMark {
    /// Whether one is in progress.
    pub fn is_running(&self) -> bool {
        self.stage != Stage::Off
    }

    /// Whether objects are being proved dead: no other pass may judge meanwhile.
    pub(super) fn proves(&self) -> bool {
        let judges = matches!(self.stage, Stage::Suspect | Stage::HeldBack | Stage::Sum | Stage::Judge);
        judges || self.finds_what_goes()
    }

    fn is_final(&self) -> bool {
        self.finds_what_goes() || matches!(self.stage, Stage::Slots | Stage::Release | Stage::Free)
    }

    /// The dead are known, and still whole.
    fn finds_what_goes(&self) -> bool {
        matches!(self.stage, Stage::Weak | Stage::Hold | Stage::Show | Stage::Finalize | Stage::Keys)
    }

    pub(super) fn enter(&mut self, stage: Stage) {
        (self.stage, self.walk, self.queued) = (stage, HeapWalk::default(), 0);
        self.records = RecordWalk::default();
        self.marker.look_at_held_back_again();
    }

    /// The next place of a pass over all blocks and the large objects; `None` when all were visited.
    pub(super) fn next_place(&mut self, heap: &Heap) -> Option<Place> {
        self.walk.next(&heap.prompt.cells.owned, &heap.large)
    }

    /// The same over blocks with unmarked objects.
    pub(super) fn next_suspected(&mut self, heap: &Heap) -> Option<Place> {
        self.walk.next(&self.proof.blocks, &heap.large)
    }

    /// Follows what has been marked, or touched meanwhile; `None` when there is nothing.
    fn follow(&mut self, heap: &mut Heap, units: i64) -> Option<i64> {
        let touched = std::mem::take(&mut heap.prompt.touched.objects);
        let spent = touched.len() as i64;
        // Some have died since.
        touched.into_iter().filter(|&object| heap.is_still_there(object)).for_each(|it| self.marker.visit_later(it));
        match self.marker.waiting() {
            0 if spent == 0 => self.show_held(heap),
            0 => Some(spent),
            _ => Some(spent + self.marker.advance(heap, units)),
        }
    }

    /// Shows some objects that wait for their finalizers, or that dying objects hold; `None` when all were shown.
    fn show_held(&mut self, heap: &mut Heap) -> Option<i64> {
        if self.waiting_left == 0 {
            return heap.visit_dying_large(|object| self.marker.show(object));
        }
        self.marker.go_on_counting();
        let queue = &heap.services.finalizers.queue;
        let end = self.waiting_left.min(queue.len());
        let from = end.saturating_sub(OBJECTS_PER_STEP);
        queue[from..end].iter().for_each(|&object| self.marker.show(object));
        self.waiting_left = from;
        Some(1 + (end - from) as i64)
    }

    /// What hangs on unreached keys counts as found in an unmarked object. Now, while that is marked and
    /// what is summed is not: later an ephemeron might be both.
    fn sum_held_back(&mut self, heap: &Heap) -> i64 {
        match self.marker.next_held_back(heap) {
            Some(ephemeron) => return self.proof.sum_held_back(ephemeron),
            None if self.marker.has_held_back() => {}
            None => self.enter(Stage::Sum),
        }
        1
    }
}
