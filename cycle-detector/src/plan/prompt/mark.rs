//! The backup mark under the prompt plan: what trials cannot decide. The mutator is stopped meanwhile; with a pause
//! goal the mark goes in slices (`sliced_mark`).
//!
//! Roots are what `root_snapshot` lists (everything counted that lives across a safepoint is in a slot of compiled frames), globals, and
//! pending objects, and what dying objects still hold. What they do not reach is dead, whatever its count: stuck
//! counts and cycles through large arrays included. Marked survivors lose the references that the dead held.
//!
//! If any of the dead has a finalizer that has not run, those finalizers come first: their objects and what they reach stay
//! until then, and the next mark judges them again.
//!
//! It runs at explicit collections, and by evidence: suspects against growth since the last mark (`evidence`); not while
//! very many candidates that came at once wait for their trials.

mod stop_the_world;

use super::marker::Marker;
use crate::evidence::{Evidence, PROMPT};
use crate::plan::prompt::garbage_cap::GarbageCap;
use crate::plan::prompt::proof::{is_suspected, objects_at, suspected_at};
use crate::plan::prompt::unproved::Unproved;
use tally_heap::memory::heap_walk::HeapWalk;
use tally_heap::memory::list::List;
use tally_heap::memory::range::{BUFFERED, MARK};
use tally_heap::object::prompt_flag;
use tally_heap::plan::prompt::CellSpace;
use tally_heap::type_registry::has_finalizers;
use tally_heap::{Heap, ObjectRef};

/// Bytes that one object is taken for.
pub(super) const BYTES_PER_OBJECT: u64 = 32;

/// What one mark leaves to the next.
#[derive(Debug)]
pub struct CountedMarks {
    /// The evidence for the next.
    pub(super) evidence: Evidence,
    /// How much there may be whatever the evidence says.
    pub(super) cap: GarbageCap,
    /// What marks in slices could not prove.
    pub(super) unproved: Unproved,
    /// Waits for a mark.
    pub(super) marker: Marker,
}

impl Default for CountedMarks {
    fn default() -> Self {
        CountedMarks {
            evidence: Evidence::new(&PROMPT),
            cap: GarbageCap::default(),
            unproved: Unproved::default(),
            marker: Marker::reserved(),
        }
    }
}

fn unmarked_with_finalizer(heap: &Heap) -> List<ObjectRef> {
    let (mut walk, mut found) = (HeapWalk::default(), List::new());
    if !has_finalizers() {
        return found;
    }
    while let Some(place) = walk.next(&heap.prompt.cells.owned, &heap.large) {
        suspected_at(place).filter(|object| object.needs_finalizer()).for_each(|object| found.push(object));
    }
    found
}

/// Frees unmarked objects. A reference to an unmarked object is not followed: that one may have been freed before.
fn sweep(heap: &mut Heap) -> u64 {
    if heap.notes_cycles() {
        let mut walk = HeapWalk::default();
        while let Some(place) = walk.next(&heap.prompt.cells.owned, &heap.large) {
            heap.note_cycles(objects_at(place), is_suspected);
        }
    }
    let (mut walk, mut freed) = (HeapWalk::default(), 0);
    while let Some(place) = walk.next(&heap.prompt.cells.owned, &heap.large) {
        // SAFETY: a place of this heap, whose thread this is.
        unsafe { CellSpace::cells_at(place) }.for_each(|cell| freed += sweep_cell(heap, cell));
    }
    freed
}

#[inline(always)]
fn sweep_cell(heap: &mut Heap, object: ObjectRef) -> u64 {
    let is_marked = MARK.get(object.granule());
    // Candidates are settled: most of the living need no look at their headers.
    if is_marked && !object.is_settled() || object.meta() == 0 || object.has(prompt_flag::DEAD | prompt_flag::DYING) {
        return 0;
    }
    if is_marked {
        // Given up: from now on it may be a candidate again.
        if object.has(prompt_flag::CANDIDATE) && !BUFFERED.get(object.granule()) {
            object.remove_flags(prompt_flag::CANDIDATE);
            object.unsettle();
        }
        return 0;
    }
    Heap::for_each_counted_reference(object, |target| {
        if MARK.get(target.granule()) {
            heap.decrement_exact(target);
        }
    });
    heap.free_counted(object);
    1
}
