//! The proof: which of the objects that a mark has not reached are dead? In slices, the program running in between. `[EXACT]`
//!
//! A mark that takes a while misses what the program moves meanwhile, and a barrier that tells it would cost each
//! write. But counts are exact. So unmarked objects are only suspected, and judged as a trial judges its members:
//! an object with more references than were found in unmarked objects is alive, and so is what it reaches. Only
//! this takes three passes with the program running between any two objects of them:
//!
//! | pass | does |
//! |---|---|
//! | suspect | unmarked objects are unsettled: from now on each that loses a reference is noted as touched (`tally_heap::plan::prompt::touched`) |
//! | sum | each reference from an unmarked object to another is counted, in the target's trial byte |
//! | roots | all at once: what roots hold is alive |
//! | judge | alive: the count differs from the references found, or the object is pending or stuck. The living are followed |
//!
//! > Let *C* be the objects unmarked in the end, and *t* the moment at which the roots were looked at. No root held a
//! > member of *C* then. Had an object outside of *C* held member *o*, that reference would still have been there when
//! > *o* was judged, or *o* would be marked: references that go touch *o*, and touched objects are marked. So would be
//! > those that were found in *o*'s sum, all of them from members: from others, which were marked since, *o* would have
//! > been reached. So *o* would have had one reference more than its sum says, and would be marked. Nothing led into
//! > *C* at *t*, and nothing has since: a weak slot that yields a member touches it.
//!
//! This is the Σ-test and the Δ-test of Bacon & Rajan 2001 ("Concurrent Cycle Collection in Reference Counted Systems",
//! §4), with one sum for each object and the roots apart. Counts alone could not be compared in slices: what a root
//! releases is not noted, and a program that goes through a list, node by node, would be away from each when
//! that is looked at.
//!
//! A suspected object is no candidate any more, and unsettled. One that is found alive after all is noted again, or
//! the object it hangs on (`[CANDIDATE]`): what roots hold, what loses a reference, what a weak slot yields, and what has
//! more references than the sum says. Without the last two a ring was lost that a root had released before the roots
//! were looked at, but that had got a reference from within since its sum was taken; and one that the program had by a
//! weak slot for a moment.
//!
//! A reference in an ephemeron whose key is unmarked counts as found in an unmarked object: it is released if the key
//! dies. A count that is stuck proves nothing; the mark that stops the world judges that.

use super::marker::Marker;
use rustc_hash::FxHashMap;
use tally_heap::memory::heap_walk::{BLOCK_UNITS, Place};
use tally_heap::memory::list::List;
use tally_heap::memory::range::{BLOCK_BYTES, BUFFERED, MARK, block_start, trial_cell};
use tally_heap::object::prompt_flag;
use tally_heap::plan::prompt::CellSpace;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// A sum that does not fit a byte stands in the table.
const IN_TABLE: u8 = 255;

/// The proof that unmarked objects are dead, and its cursors.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// Blocks with unmarked objects.
    pub(super) blocks: List<u32>,
    large_sums: FxHashMap<ObjectRef, u32>,
    /// The large object whose references are being counted, and the next of its chunks.
    large: Option<(ObjectRef, u64)>,
    /// Unmarked when they were judged, and with a finalizer that has not run.
    pub(super) finalizable: List<ObjectRef>,
    /// A stuck count has no reference that a mark has come to.
    pub(super) has_stuck: bool,
    /// An object that only a mark could judge was alive: it is a candidate again at its next decrement, whatever happened before.
    pub(super) gave_up_on: u64,
}

/// The objects at a place of the heap.
pub(super) fn objects_at(place: Place) -> impl Iterator<Item = ObjectRef> {
    // SAFETY: a place of this heap, whose thread this is.
    unsafe { CellSpace::objects_at(place) }
}

/// Those of them that are suspected. The headers of the marked are not looked at.
#[inline(always)]
pub(super) fn suspected_at(place: Place) -> impl Iterator<Item = ObjectRef> {
    // SAFETY: a place of this heap, whose thread this is.
    unsafe { CellSpace::cells_at(place) }
        .filter(|cell| !MARK.get(cell.granule()) && cell.meta() != 0 && is_suspected(*cell))
}

/// Not marked, and not being taken apart.
#[inline(always)]
pub(super) fn is_suspected(object: ObjectRef) -> bool {
    !MARK.get(object.granule()) && !object.has(prompt_flag::DEAD | prompt_flag::DYING)
}

impl Proof {
    /// The first pass: every unmarked object is suspected from now on.
    pub(super) fn suspect(&mut self, place: Place, marker: &mut Marker) -> i64 {
        let (mut spent, mut any) = (BLOCK_UNITS, false);
        // SAFETY: a place of this heap, whose thread this is.
        for object in unsafe { CellSpace::cells_at(place) } {
            // Candidates are settled: most of the living need no look at their headers.
            if MARK.get(object.granule()) && !object.is_settled() {
                spent += 1;
                continue;
            }
            if object.meta() == 0 {
                continue;
            }
            spent += 1;
            let is_candidate = object.has(prompt_flag::CANDIDATE);
            if is_suspected(object) {
                if object.has(prompt_flag::PENDING) {
                    marker.show(object);
                    continue;
                }
                any = true;
                if is_candidate {
                    BUFFERED.clear(object.granule());
                    object.remove_flags(prompt_flag::CANDIDATE);
                }
                object.unsettle();
                set_cell(object, 0);
            } else if is_candidate && !BUFFERED.get(object.granule()) {
                // Given up until this mark: from now on it may be a candidate again.
                object.remove_flags(prompt_flag::CANDIDATE);
                object.unsettle();
                self.gave_up_on += 1;
            }
        }
        if let (true, Place::Block(block)) = (any, place) {
            self.blocks.push(block);
        }
        spent
    }

    /// The second: references that unmarked objects hold.
    pub(super) fn sum(&mut self, heap: &Heap, place: Place) -> i64 {
        let mut spent = BLOCK_UNITS;
        for object in suspected_at(place) {
            spent += 1;
            if object.has(prompt_flag::LARGE) {
                self.large = Some((object, 0));
                continue;
            }
            Heap::for_each_counted_reference(object, |target| {
                spent += 1;
                self.add(target);
            });
        }
        debug_assert!(heap.mark_phase().watches());
        spent
    }

    /// A chunk of the large object that is being summed; `None` when there is none.
    pub(super) fn sum_chunk(&mut self, heap: &Heap) -> Option<i64> {
        let (object, chunk) = self.large.take()?;
        let mut spent = 2;
        if heap.is_still_there(object) && is_suspected(object) {
            let info = object.type_info();
            info.for_each_reference(object, Part::Chunk(chunk), |target| {
                spent += 1;
                self.add(target);
            });
            if chunk + 1 < info.chunk_count(info.length(object)) {
                self.large = Some((object, chunk + 1));
            }
        }
        Some(spent)
    }

    /// The references of an ephemeron whose key is unmarked.
    pub(super) fn sum_held_back(&mut self, ephemeron: ObjectRef) -> i64 {
        let mut spent = 2;
        Heap::for_each_counted_reference(ephemeron, |target| {
            spent += 1;
            self.add(target);
        });
        spent
    }

    #[inline(always)]
    fn add(&mut self, target: ObjectRef) {
        if MARK.get(target.granule()) {
            return;
        }
        match cell(target) {
            IN_TABLE => _ = self.large_sums.get_mut(&target).map(|sum| *sum += 1),
            sum => {
                set_cell(target, sum + 1);
                if sum + 1 == IN_TABLE {
                    self.enter_large_sum(target);
                }
            }
        }
    }

    /// An object that finds no room in the table has a sum of 0, and is found alive.
    #[cold]
    fn enter_large_sum(&mut self, target: ObjectRef) {
        match self.large_sums.try_reserve(1) {
            Ok(()) => _ = self.large_sums.insert(target, IN_TABLE.into()),
            Err(_) => self.gave_up_on += 1,
        }
    }

    /// The third: an object that is alive by its own references is shown to the marker, and noted, since what holds
    /// it may be a root that has released it by now, or only what it reaches itself.
    pub(super) fn judge(&mut self, heap: &mut Heap, place: Place, marker: &mut Marker) -> i64 {
        let mut spent = BLOCK_UNITS;
        for object in suspected_at(place) {
            spent += 1;
            self.has_stuck |= object.is_stuck();
            if object.has(prompt_flag::PENDING) || object.is_stuck() {
                marker.show(object);
            } else if object.exact_count() != self.found(object) {
                // It counts as touched, and so comes to the marker.
                heap.note_candidate(object);
            } else if object.needs_finalizer() {
                self.finalizable.push(object);
            }
        }
        spent
    }

    fn found(&self, object: ObjectRef) -> u32 {
        match cell(object) {
            IN_TABLE => self.large_sums.get(&object).copied().unwrap_or(0),
            sum => sum.into(),
        }
    }

    /// The bytes at this place are as others expect them again.
    pub(super) fn clear(place: Place) {
        match place {
            Place::Vacant => {}
            Place::Large(object) => set_cell(object, 0),
            Place::Block(block) => {
                // SAFETY: [OWNED] the bytes behind a block of this heap.
                unsafe { std::ptr::write_bytes(trial_cell(block_start(block)), 0, BLOCK_BYTES as usize / 16) }
            }
        }
    }
}

#[inline(always)]
fn cell(object: ObjectRef) -> u8 {
    // SAFETY: [MAPPED] the table is mapped wherever objects lie.
    unsafe { *trial_cell(object.address()) }
}

#[inline(always)]
fn set_cell(object: ObjectRef, sum: u8) {
    // SAFETY: [MAPPED] the table is mapped wherever objects lie.
    unsafe { *trial_cell(object.address()) = sum }
}
