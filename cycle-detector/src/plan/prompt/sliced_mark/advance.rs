//! Slices of the mark: one match on its stage.

use super::super::proof::Proof;
use super::{BATCHES_BEFORE_MAX, Stage};
use crate::collection_log::Kind;
use crate::plan::prompt::{PromptDriver, garbage_cap};
use crate::progress::Progress;
use crate::slice::{CHUNK_UNITS, Slice};
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::heap_walk::HeapWalk;
use tally_heap::plan::prompt::CellSpace;

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
            heap.set_mark_phase(MarkPhase::Runs);
        }
    }

    /// A slice of the running mark: up to `units`, or as long as the heap's slices are, and at least a chunk.
    pub(in crate::plan::prompt) fn sliced_mark_slice(&mut self, heap: &mut Heap) {
        heap.statistics.slices += 1;
        self.sliced_mark.marker.note_that_the_program_ran();
        self.stops.slice_units = 0;
        let mut slice = Slice::of_heap(heap.options(), i64::MAX);
        while !slice.ends() && self.sliced_mark.is_running() {
            let chunk = slice.chunk();
            self.advance_sliced_mark(heap, chunk);
            slice.spend(chunk);
        }
        self.stops.note_slice(heap);
    }

    /// Works for about `ns` nanoseconds, at least a chunk; true when the mark has come to its end.
    pub(crate) fn sliced_mark_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        self.sliced_mark.marker.note_that_the_program_ran();
        let mut slice = Slice::of_time(i64::MAX, ns);
        while !slice.ends() {
            self.stops.slice_units = 0;
            self.advance_sliced_mark(heap, heap.options().slice_units.map_or(slice.chunk(), i64::from));
            self.stops.note_slice(heap);
            if !self.sliced_mark.is_running() {
                return true;
            }
            slice.spend(slice.chunk());
        }
        false
    }

    /// Does the rest of the mark, however long it takes.
    pub(in crate::plan::prompt) fn finish_sliced_mark(&mut self, heap: &mut Heap) {
        self.sliced_mark.marker.note_that_the_program_ran();
        while self.sliced_mark.is_running() {
            self.advance_sliced_mark(heap, i64::MAX);
        }
    }

    /// A mark that stops the world comes, and will judge everything: objects not yet known to be dead are left to it.
    pub(in crate::plan::prompt) fn replace_sliced_mark(&mut self, heap: &mut Heap) {
        if self.sliced_mark.is_final() {
            self.finish_sliced_mark(heap);
        }
        if self.sliced_mark.is_running() {
            self.give_up_sliced_mark(heap);
        }
        if std::mem::take(&mut self.sliced_mark.left_marks) {
            heap.clear_marks();
        }
    }

    /// The evidence for the mark counts for another.
    pub(in crate::plan::prompt::sliced_mark) fn give_up_sliced_mark(&mut self, heap: &mut Heap) {
        self.abandon_proof(heap);
        // It was not for want of garbage: another may begin at any time.
        heap.suspects += self.counted_marks.evidence.note_abort(0);
        self.end_watch(heap);
    }

    /// Does about `units` of work.
    pub(in crate::plan::prompt::sliced_mark) fn advance_sliced_mark(&mut self, heap: &mut Heap, units: i64) {
        let start = Instant::now();
        if std::mem::take(&mut heap.prompt.touched.begin_anew) && self.sliced_mark.proves() {
            self.abandon_proof(heap);
            self.sliced_mark.enter(Stage::Clear);
        }
        let mut spent = 0;
        while spent < units && self.sliced_mark.is_running() {
            if heap.prompt.touched.starved && self.sliced_mark.proves() {
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

    pub(in crate::plan::prompt::sliced_mark) fn step_of_sliced_mark(&mut self, heap: &mut Heap, units: i64) -> i64 {
        let mark = &mut self.sliced_mark;
        if let Some(spent) = mark.follow(heap, units) {
            return spent;
        }
        match mark.stage {
            Stage::Off => 0,
            Stage::Clear => match mark.next_place(heap) {
                Some(place) => {
                    // SAFETY: a place of this heap.
                    unsafe { place.clear_marks() };
                    4
                }
                None => self.begin_discovery_in_slices(heap),
            },
            Stage::Discover => {
                heap.set_mark_phase(MarkPhase::Proves);
                heap.prompt.touched.dying_large.clear();
                mark.enter(Stage::Suspect);
                1
            }
            Stage::Suspect => match mark.next_place(heap) {
                Some(place) => mark.proof.suspect(place, &mut mark.marker),
                None => {
                    mark.enter(Stage::HeldBack);
                    1
                }
            },
            Stage::HeldBack => mark.sum_held_back(heap),
            Stage::Sum => match mark.proof.sum_chunk(heap) {
                Some(spent) => spent,
                None => match mark.next_suspected(heap) {
                    Some(place) => mark.proof.sum(heap, place),
                    None => self.begin_judging(heap),
                },
            },
            Stage::Judge => match mark.next_suspected(heap) {
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
    pub(in crate::plan::prompt::sliced_mark) fn begin_discovery_in_slices(&mut self, heap: &mut Heap) -> i64 {
        let may_judge = self.progress != Progress::Mark && heap.services.finalizers.depth() == 0;
        if may_judge && heap.prompt.cells.nursery.is_due() && self.sliced_mark.batches_before < BATCHES_BEFORE_MAX {
            self.sliced_mark.batches_before += 1;
            let before = heap.statistics.trial_edges;
            self.prompt_round(heap, false);
            // It has looked at the roots, too.
            return CHUNK_UNITS + (heap.statistics.trial_edges - before) as i64;
        }
        let queued = heap.services.finalizers.queue.len();
        self.judge_all_young(heap);
        let mark = &mut self.sliced_mark;
        mark.has_queued |= heap.services.finalizers.queue.len() != queued;
        self.counted_marks.evidence.note_start(std::mem::take(&mut heap.suspects));
        heap.services.specials.mark_begins();
        heap.prompt.passed_over.discovery_begins();
        heap.prompt.cells.born_marked = true;
        // SAFETY: lists of this heap.
        heap.free_lists().into_iter().for_each(|first| unsafe { CellSpace::mark_list(first) });
        mark.enter(Stage::Discover);
        mark.waiting_left = heap.services.finalizers.queue.len();
        heap.list_dying_large();
        let spent = self.show_roots_to_sliced_mark(heap);
        self.held.note(heap);
        spent
    }

    pub(in crate::plan::prompt::sliced_mark) fn show_roots_to_sliced_mark(&mut self, heap: &mut Heap) -> i64 {
        let mut marker = std::mem::take(&mut self.sliced_mark.marker);
        self.mark_roots(heap, &mut marker);
        self.sliced_mark.marker = marker;
        self.stops.report.roots as i64 + 1
    }

    /// The objects that roots hold are alive.
    pub(in crate::plan::prompt::sliced_mark) fn begin_judging(&mut self, heap: &mut Heap) -> i64 {
        let mark = &mut self.sliced_mark;
        mark.waiting_bytes = mark.marker.take_counted_bytes();
        mark.marker.count_bytes();
        mark.enter(Stage::Judge);
        let spent = self.show_roots_to_sliced_mark(heap);
        self.held.note(heap);
        spent
    }

    pub(in crate::plan::prompt::sliced_mark) fn end_sliced_mark(&mut self, heap: &mut Heap) -> i64 {
        let mark = &mut self.sliced_mark;
        let freed = mark.freed;
        let floats = std::mem::take(&mut mark.proof.gave_up_on) != 0;
        if floats {
            heap.prompt.passed_over.note();
        }
        heap.prompt.passed_over.mark_has_ended();
        mark.has_stuck = mark.proof.has_stuck;
        mark.proof = Proof::default();
        heap.statistics.cyclic_garbage_objects += freed;
        let awaited = mark.waiting_bytes + mark.marker.counted_bytes();
        self.learn_from_mark(heap, freed, awaited, true);
        let (bytes, live) = (self.sliced_mark.unproved_bytes, heap.counted_live_bytes());
        self.counted_marks.unproved.note_mark_in_slices(bytes, live, garbage_cap::least(heap));
        self.open_round(heap, Kind::Mark);
        self.stops.report.freed_by_mark = freed;
        self.close_round(heap);
        self.end_watch(heap);
        1
    }

    /// Nothing is proved; a suspected object is a candidate again when a reference to it goes.
    pub(in crate::plan::prompt::sliced_mark) fn abandon_proof(&mut self, heap: &mut Heap) {
        let mark = &mut self.sliced_mark;
        let mut walk = HeapWalk::default();
        while let Some(place) = walk.next(&mark.proof.blocks, &heap.large) {
            Proof::clear(place);
        }
        mark.proof = Proof::default();
        mark.marker.reset();
        // They are dead all the same, and nothing leads to them.
        heap.queue_found_by_mark();
        heap.set_mark_phase(MarkPhase::Runs);
        heap.prompt.touched.dying_large.clear();
        heap.prompt.passed_over.note();
        heap.prompt.touched.objects.clear();
    }

    pub(in crate::plan::prompt::sliced_mark) fn end_watch(&mut self, heap: &mut Heap) {
        let mut marker = std::mem::take(&mut self.sliced_mark.marker);
        marker.reset();
        self.counted_marks.marker = marker;
        heap.prompt.touched = Default::default();
        heap.set_mark_phase(MarkPhase::Off);
        heap.prompt.cells.born_marked = false;
        self.sliced_mark.enter(Stage::Off);
    }
}
