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
//! end of `Judge` on what is unmarked is known to be dead, and nobody can come to it:
//! what becomes of it is told in `condemned.rs`.
//!
//! Rounds and batches go on beside `Clear` and `Discover`, and beside the last three stages, since nothing that they look
//! at leads to the dead. They wait for the proof, from `Suspect` to `Keys`: what they free would touch what it
//! held.
//!
//! A pile of young objects is judged a batch at a time before discovery begins, sixty-four times at most; then all at once.
//!
//! What waits for its finalizer, and what large objects hold that are being taken apart, is shown in steps as well: it has a
//! count for that, so the proof finds it alive in any case.
//!
//! Not sliced: the roots, twice; the young objects of one batch. `[BOUND]`

mod finalizable;

use super::marker::Marker;
use super::proof::{Place, Proof};
use crate::plan::deferred::epoch::CHUNK_UNITS;
use crate::plan::prompt::PromptDriver;
use crate::progress::Progress;
use crate::record_walk::RecordWalk;
use finalizable::HELD_AT_ONCE;
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::memory::range::MARK;
use tally_heap::plan::prompt::CellSpace;

/// Batches that a pile of young objects may take before a mark, 32 MiB of fresh cells.
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

/// See the file's first lines.
#[derive(Debug, Default)]
pub struct SlicedMark {
    stage: Stage,
    pub(super) marker: Marker,
    pub(super) proof: Proof,
    block_at: usize,
    large_at: usize,
    /// Dead objects with finalizers that the stage has been through.
    queued: usize,
    /// So many of those that wait for their finalizers, from the first, discovery has not come to. One that leaves the queue
    /// before that is none of its business: what has not been found is proved by its count.
    waiting_left: usize,
    pub(super) records: RecordWalk,
    /// A round was after the last slice.
    pub(super) is_next: bool,
    /// Batches of a pile that were judged before discovery.
    batches_before: u32,
    pub(super) freed: u64,
    suspects: u64,
    lost: u64,
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

    /// Whether objects are being proved dead: nobody else may judge meanwhile.
    pub(super) fn proves(&self) -> bool {
        let judges = matches!(self.stage, Stage::Suspect | Stage::HeldBack | Stage::Sum | Stage::Judge);
        judges || self.finds_what_goes()
    }

    fn is_final(&self) -> bool {
        self.finds_what_goes() || matches!(self.stage, Stage::Slots | Stage::Release | Stage::Free)
    }

    /// What is dead is known, and still whole.
    fn finds_what_goes(&self) -> bool {
        matches!(self.stage, Stage::Weak | Stage::Hold | Stage::Show | Stage::Finalize | Stage::Keys)
    }

    pub(super) fn enter(&mut self, stage: Stage) {
        (self.stage, self.block_at, self.large_at, self.queued) = (stage, 0, 0, 0);
        self.records = RecordWalk::default();
        self.marker.look_at_held_back_again();
    }

    /// The next place of a pass over `blocks` and the large objects; `None` when all were visited.
    pub(super) fn next_place(&mut self, heap: &Heap, blocks: Blocks) -> Option<Place> {
        let blocks = match blocks {
            Blocks::All => &heap.prompt.cells.owned,
            Blocks::Suspected => &self.proof.blocks,
        };
        if let Some(&block) = blocks.get(self.block_at) {
            self.block_at += 1;
            return Some(Place::Block(block));
        }
        while self.large_at < heap.large.places() {
            self.large_at += 1;
            if let Some(object) = heap.large.at(self.large_at - 1) {
                return Some(Place::Large(object));
            }
        }
        None
    }
}

#[derive(Clone, Copy)]
pub(super) enum Blocks {
    All,
    Suspected,
}

impl PromptDriver {
    /// Begins a mark in slices, unless one is running.
    pub(crate) fn start_sliced_mark(&mut self, heap: &mut Heap) {
        if !self.sliced_mark.is_running() {
            heap.statistics.marks += 1;
            let mark = &mut self.sliced_mark;
            mark.waiting_left = 0;
            mark.enter(Stage::Clear);
            (mark.freed, mark.has_queued, mark.has_stuck, mark.left_marks) = (0, false, false, true);
            mark.batches_before = 0;
            self.counted_marks.cap.begin_pace(heap);
            mark.marker = std::mem::take(&mut self.counted_marks.marker);
            heap.prompt.watch.mark_runs = true;
        }
    }

    /// A slice of the running mark: up to `units`, or as long as the heap's slices are, and at least a chunk.
    pub(super) fn sliced_mark_slice(&mut self, heap: &mut Heap) {
        heap.statistics.slices += 1;
        self.sliced_mark.marker.note_that_the_program_ran();
        self.stops.slice_units = 0;
        if let Some(units) = heap.options.slice_units {
            self.advance_sliced_mark(heap, units.into());
        } else {
            let start = Instant::now();
            while self.sliced_mark.is_running() {
                self.advance_sliced_mark(heap, CHUNK_UNITS);
                if start.elapsed().as_nanos() as u64 >= heap.options.slice_ns {
                    break;
                }
            }
        }
        self.stops.note_slice(heap);
    }

    /// Works for about `ns` nanoseconds, at least a chunk; true when the mark has come to its end.
    pub(crate) fn sliced_mark_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        self.sliced_mark.marker.note_that_the_program_ran();
        let start = Instant::now();
        loop {
            let units = heap.options.slice_units.map_or(CHUNK_UNITS, i64::from);
            self.stops.slice_units = 0;
            self.advance_sliced_mark(heap, units);
            self.stops.note_slice(heap);
            if !self.sliced_mark.is_running() {
                return true;
            }
            if start.elapsed().as_nanos() as u64 >= ns {
                return false;
            }
        }
    }

    /// Does the rest of the mark, however long it takes.
    pub(super) fn finish_sliced_mark(&mut self, heap: &mut Heap) {
        self.sliced_mark.marker.note_that_the_program_ran();
        while self.sliced_mark.is_running() {
            self.advance_sliced_mark(heap, i64::MAX);
        }
    }

    /// A mark that stops the world comes, and will judge everything: what is not yet known to be dead is left to that.
    pub(super) fn replace_sliced_mark(&mut self, heap: &mut Heap) {
        if self.sliced_mark.is_final() {
            self.finish_sliced_mark(heap);
        }
        if self.sliced_mark.is_running() {
            self.give_up_sliced_mark(heap);
        }
        if std::mem::take(&mut self.sliced_mark.left_marks) {
            super::mark::clear_marks(heap);
        }
    }

    /// What spoke for the mark will speak for another.
    fn give_up_sliced_mark(&mut self, heap: &mut Heap) {
        self.abandon_proof(heap);
        heap.suspects += self.sliced_mark.suspects;
        self.counted_marks.lost += self.sliced_mark.lost;
        self.end_watch(heap);
    }

    /// Does about `units` of work.
    fn advance_sliced_mark(&mut self, heap: &mut Heap, units: i64) {
        let start = Instant::now();
        if std::mem::take(&mut heap.prompt.watch.begin_anew) && self.sliced_mark.proves() {
            self.abandon_proof(heap);
            self.sliced_mark.enter(Stage::Clear);
        }
        let mut spent = 0;
        while spent < units && self.sliced_mark.is_running() {
            if heap.prompt.watch.starved && self.sliced_mark.proves() {
                self.give_up_sliced_mark(heap);
                break;
            }
            spent += self.step_of_sliced_mark(heap, units - spent);
        }
        self.stops.slice_units += spent as u64;
        self.counted_marks.cap.note_work(spent as u64);
        heap.statistics.mark_units += spent as u64;
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
    }

    fn step_of_sliced_mark(&mut self, heap: &mut Heap, units: i64) -> i64 {
        let mark = &mut self.sliced_mark;
        if let Some(spent) = mark.follow(heap, units) {
            return spent;
        }
        match mark.stage {
            Stage::Off => 0,
            Stage::Clear => match mark.next_place(heap, Blocks::All) {
                Some(place) => clear_at(place),
                None => self.begin_discovery_in_slices(heap),
            },
            Stage::Discover => {
                heap.set_watch(true);
                mark.enter(Stage::Suspect);
                1
            }
            Stage::Suspect => match mark.next_place(heap, Blocks::All) {
                Some(place) => mark.proof.suspect(place, &mut mark.marker),
                None => {
                    mark.enter(Stage::HeldBack);
                    1
                }
            },
            Stage::HeldBack => mark.sum_held_back(heap),
            Stage::Sum => match mark.proof.sum_chunk(heap) {
                Some(spent) => spent,
                None => match mark.next_place(heap, Blocks::Suspected) {
                    Some(place) => mark.proof.sum(heap, place),
                    None => self.begin_judging(heap),
                },
            },
            Stage::Judge => match mark.next_place(heap, Blocks::Suspected) {
                Some(place) => mark.proof.judge(heap, place, &mut mark.marker),
                None => mark.decide(heap),
            },
            Stage::Weak => mark.clear_weak_to_condemned(heap, units),
            Stage::Hold => mark.hold_finalizable(heap),
            Stage::Show => mark.show_finalizable(heap),
            Stage::Finalize => mark.end_finalize(heap),
            Stage::Keys => mark.empty_held_back(heap),
            Stage::Slots => mark.forget_slots_of_condemned(heap, units),
            Stage::Release => mark.release(heap),
            Stage::Free => match mark.free(heap) {
                Some(spent) => spent,
                None => self.end_sliced_mark(heap),
            },
        }
    }

    /// Young objects are judged together, so that all that are left are grown up; then the roots.
    fn begin_discovery_in_slices(&mut self, heap: &mut Heap) -> i64 {
        let may_judge = self.progress != Progress::Mark && heap.finalizers.depth() == 0;
        if may_judge && heap.prompt.cells.youth.is_due() && self.sliced_mark.batches_before < BATCHES_BEFORE_MAX {
            self.sliced_mark.batches_before += 1;
            let before = heap.statistics.trial_edges;
            self.prompt_round(heap, false);
            // It has looked at the roots, too.
            return CHUNK_UNITS + (heap.statistics.trial_edges - before) as i64;
        }
        let queued = heap.finalizers.queue.len();
        self.judge_all_young(heap);
        let mark = &mut self.sliced_mark;
        mark.has_queued |= heap.finalizers.queue.len() != queued;
        mark.suspects = std::mem::take(&mut heap.suspects);
        mark.lost = std::mem::take(&mut self.counted_marks.lost);
        heap.specials.mark_begins();
        heap.prompt.passed_over.discovery_begins();
        heap.prompt.cells.born_marked = true;
        heap.free_lists().into_iter().for_each(CellSpace::mark_list);
        mark.enter(Stage::Discover);
        mark.waiting_left = heap.finalizers.queue.len();
        heap.list_dying_large();
        let spent = self.show_roots_to_sliced_mark(heap);
        self.held.note(heap);
        spent
    }

    fn show_roots_to_sliced_mark(&mut self, heap: &mut Heap) -> i64 {
        let mut marker = std::mem::take(&mut self.sliced_mark.marker);
        self.mark_roots(heap, &mut marker);
        self.sliced_mark.marker = marker;
        self.stops.report.roots as i64 + 1
    }

    /// What roots hold is alive.
    fn begin_judging(&mut self, heap: &mut Heap) -> i64 {
        self.sliced_mark.enter(Stage::Judge);
        let spent = self.show_roots_to_sliced_mark(heap);
        self.held.note(heap);
        spent
    }

    fn end_sliced_mark(&mut self, heap: &mut Heap) -> i64 {
        let mark = &mut self.sliced_mark;
        let (freed, lost, suspects) = (mark.freed, mark.lost, mark.suspects);
        let floats = std::mem::take(&mut mark.proof.gave_up_on) != 0;
        if floats {
            heap.prompt.passed_over.note();
        }
        heap.prompt.passed_over.mark_has_ended();
        mark.has_stuck = mark.proof.has_stuck;
        mark.proof = Proof::default();
        heap.statistics.cyclic_garbage_objects += freed;
        let awaited = self.sliced_mark.marker.counted_bytes();
        self.learn_from_mark(heap, (freed, awaited), freed.saturating_sub(lost), suspects);
        self.counted_marks.cap.note_mark(heap, true, awaited);
        self.open_round(heap);
        self.stops.report.freed_by_mark = freed;
        self.close_round(heap);
        self.end_watch(heap);
        1
    }

    /// Nothing is proved; who has been suspected is a candidate again when a reference to it goes.
    fn abandon_proof(&mut self, heap: &mut Heap) {
        let mark = &mut self.sliced_mark;
        mark.proof.blocks.iter().for_each(|&block| Proof::clear(Place::Block(block)));
        (0..heap.large.places()).filter_map(|place| heap.large.at(place)).for_each(|it| Proof::clear(Place::Large(it)));
        mark.proof = Proof::default();
        mark.marker.reset();
        // They are dead all the same, and nothing leads to them.
        heap.queue_found_by_mark();
        heap.set_watch(false);
        heap.set_mark_condemns(false);
        heap.prompt.passed_over.note();
        heap.prompt.watch.touched.clear();
    }

    fn end_watch(&mut self, heap: &mut Heap) {
        let mut marker = std::mem::take(&mut self.sliced_mark.marker);
        marker.reset();
        self.counted_marks.marker = marker;
        heap.prompt.watch = Default::default();
        heap.set_mark_condemns(false);
        heap.prompt.cells.born_marked = false;
        self.sliced_mark.enter(Stage::Off);
    }
}

impl SlicedMark {
    /// Follows what has been marked, or touched meanwhile; `None` when there is nothing.
    fn follow(&mut self, heap: &mut Heap, units: i64) -> Option<i64> {
        let touched = std::mem::take(&mut heap.prompt.watch.touched);
        let spent = touched.len() as i64;
        // Some have died since.
        touched.into_iter().filter(|&object| heap.is_still_there(object)).for_each(|it| self.marker.visit_later(it));
        match self.marker.waiting() {
            0 if spent == 0 => self.show_held(heap),
            0 => Some(spent),
            _ => Some(spent + self.marker.advance(heap, units)),
        }
    }

    /// Shows some of what waits for its finalizer, or is held by what is being taken apart; `None` when all was.
    fn show_held(&mut self, heap: &mut Heap) -> Option<i64> {
        if self.waiting_left == 0 {
            return heap.visit_dying_large(|object| self.marker.show(object));
        }
        let queue = &heap.finalizers.queue;
        let end = self.waiting_left.min(queue.len());
        let from = end.saturating_sub(HELD_AT_ONCE);
        queue[from..end].iter().for_each(|&object| self.marker.show(object));
        self.waiting_left = from;
        Some(1 + (end - from) as i64)
    }

    /// What hangs on keys that nobody has reached counts as found in something unmarked. Now, while that is marked and
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

fn clear_at(place: Place) -> i64 {
    match place {
        // SAFETY: this heap's block.
        Place::Block(block) => unsafe { MARK.block_words(block) }.fill(0),
        Place::Large(object) => MARK.clear(object.address()),
    }
    4
}
