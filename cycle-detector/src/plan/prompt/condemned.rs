//! The condemned: objects that a mark in slices has proved dead end in slices. `[RECLAIM]` `[WEAK]` `[BOUND]`
//!
//! ```text
//! Weak ──► (Hold ──► Show ──► Finalize) ──► Keys ──► Slots ──► Release ──► Free
//! ```
//!
//! | stage | does |
//! |---|---|
//! | `Weak` | weak references to the condemned are cleared; no upgrade yields one of them meanwhile (`MarkPhase::condemns`) |
//! | `Hold`, `Show` | those of them that have finalizers are held, then marked and queued (`sliced_mark/finalizable.rs`) |
//! | `Finalize` | what finalizers are for is marked as what the program touches is |
//! | `Keys` | ephemerons that are alive lose keys that are not, and what they hold; ends with the last look at the touched objects |
//! | `Slots` | weak slots in the condemned are forgotten |
//! | `Release` | survivors lose what the condemned held |
//! | `Free` | their memory goes back. Not before: a cell that was used again would be taken for a survivor |
//!
//! Until `Keys` has ended counts are exact, and touched objects are marked: the mark may be given up at any point. An ephemeron that
//! dies by itself releases a condemned value in the ordinary way, and that and what it reaches is marked then.

use super::proof::{Proof, is_suspected, suspected_at};
use super::sliced_mark::{SlicedMark, Stage};
use crate::record_walk::{Looked, Sought};
use crate::release_to_marked::release_to_marked;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::heap_walk::{BLOCK_UNITS, Place};
use tally_heap::memory::range::MARK;
use tally_heap::object::prompt_flag;
use tally_heap::plan::prompt::{Bin, CellSpace};
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

impl SlicedMark {
    /// All were judged: unmarked objects are dead.
    pub(super) fn decide(&mut self, heap: &mut Heap) -> i64 {
        if !self.finds_more(heap) {
            self.unproved_bytes = self.marker.take_counted_bytes();
            heap.set_mark_phase(MarkPhase::Holds);
            self.enter(Stage::Weak);
        }
        1
    }

    pub(super) fn clear_weak_to_condemned(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
        match self.records.next(heap, Sought::Targets, is_suspected) {
            Looked::Past(records) => records,
            Looked::AtAll => {
                self.enter(Stage::Hold);
                1
            }
            Looked::At(object) => {
                let before = units;
                heap.services.specials.finalizers_follow = !self.proof.finalizable.is_empty();
                if !heap.begin_reclaim_some(object, &mut units) {
                    self.records.stay();
                }
                heap.services.specials.finalizers_follow = false;
                1 + (before - units)
            }
        }
    }

    /// The objects of finalizers have been marked, too; the rest goes.
    pub(super) fn end_finalize(&mut self, heap: &mut Heap) -> i64 {
        if !self.finds_more(heap) {
            heap.set_mark_phase(MarkPhase::Holds);
            self.enter(Stage::Keys);
        }
        1
    }

    /// The next ephemeron that was held back is emptied. Once all are, nothing leads to the condemned.
    pub(super) fn empty_held_back(&mut self, heap: &mut Heap) -> i64 {
        if let Some(ephemeron) = self.marker.next_held_back(heap) {
            return heap.empty_ephemeron(ephemeron);
        }
        if !self.marker.has_held_back() && !self.finds_more(heap) {
            heap.set_mark_phase(MarkPhase::Forgets);
            heap.prompt.touched.dying_large.clear();
            self.enter(Stage::Slots);
        }
        1
    }

    pub(super) fn forget_slots_of_condemned(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
        match self.records.next(heap, Sought::Special, is_suspected) {
            Looked::Past(records) => records,
            Looked::AtAll => {
                heap.set_mark_phase(MarkPhase::Frees);
                self.enter(Stage::Release);
                1
            }
            Looked::At(object) => {
                let before = units;
                if !heap.let_go_weakly(object, &mut units) {
                    self.records.stay();
                }
                1 + (before - units)
            }
        }
    }

    /// Whether there is more to follow before unmarked objects are known to be dead. References of dying objects have been followed: each
    /// counts as touched.
    fn finds_more(&mut self, heap: &Heap) -> bool {
        let touched = &heap.prompt.touched;
        self.marker.waiting() != 0 || !touched.objects.is_empty() || !touched.dying_large.is_empty()
    }

    /// The dead at the next place, or in the next chunk of a large one, release the living.
    pub(super) fn release(&mut self, heap: &mut Heap) -> i64 {
        if let Some(spent) = release_chunk(heap) {
            return spent;
        }
        match self.next_suspected(heap) {
            Some(place) => release_at(heap, place),
            None => {
                self.enter(Stage::Free);
                1
            }
        }
    }

    /// The memory of the dead at the next place goes back; `None` after the last.
    pub(super) fn free(&mut self, heap: &mut Heap) -> Option<i64> {
        let place = self.next_suspected(heap)?;
        Proof::clear(place);
        let (mut bin, mut freed) = (Bin::default(), 0);
        // SAFETY: a place of this heap, whose thread this is.
        for object in unsafe { CellSpace::cells_at(place) } {
            if !MARK.get(object.granule()) && object.meta() != 0 && object.has(prompt_flag::DEAD) {
                heap.free_into(&mut bin, object, object.meta(), false);
                freed += 1;
            }
        }
        bin.empty();
        self.freed += freed;
        Some(BLOCK_UNITS + 2 * freed as i64 + heap.large.leaving.take_units())
    }
}

/// A chunk of the dead large object whose references are being released.
fn release_chunk(heap: &mut Heap) -> Option<i64> {
    let (object, chunk) = heap.prompt.touched.condemned_large?;
    let info = object.type_info();
    let next = (chunk + 1 < info.chunk_count(info.length(object))).then_some((object, chunk + 1));
    heap.prompt.touched.condemned_large = next;
    Some(2 + release_to_survivors(heap, object, Part::Chunk(chunk)))
}

fn release_at(heap: &mut Heap, place: Place) -> i64 {
    let mut spent = BLOCK_UNITS;
    heap.note_cycles(suspected_at(place), |object| !MARK.get(object.granule()) && !object.has(prompt_flag::DYING));
    for object in suspected_at(place) {
        object.add_flags(prompt_flag::DEAD);
        if object.has(prompt_flag::LARGE) {
            heap.prompt.touched.condemned_large = Some((object, 0));
        } else {
            spent += 2 + release_to_survivors(heap, object, Part::Whole);
        }
    }
    spent
}

fn release_to_survivors(heap: &mut Heap, object: ObjectRef, part: Part) -> i64 {
    release_to_marked(object, part, |target| heap.decrement_exact(target))
}
