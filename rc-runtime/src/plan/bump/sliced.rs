//! A mark in slices, between which the program runs, as the heap and the write barrier see it. `[ROOT]` `[WEAK]`
//!
//! Of a heap of the deferred plan that marks instead of counting. The mark finds what was reachable at its beginning (a snapshot at
//! the beginning: Yuasa 1990), and what has been allocated since lives on:
//!
//! ```text
//!   at the beginning   roots are taken; the barriers of all objects are armed, as a flip arms those of some
//!   first write        the object's references are shown to the mark before one is overwritten; its barrier is disarmed
//!   weak slots         yield an object that is shown to the mark
//!   allocation         in holes that are opened meanwhile: all that lies there is marked, and its cell survives
//!   at the end         barriers are disarmed; all that is not marked is dead
//! ```
//!
//! No object has a bit before or after: all are young, and the compiled barrier finds none. Nothing is logged, because the mark stack
//! takes the references at once. If it has no room the mark is given up. `[MEMORY]`

use crate::heap::Heap;
use crate::mark_phase::MarkPhase;
use crate::memory::range::{MARK, NEXT_LIVE};
use crate::object::{HEADER_BYTES, ObjectRef, Slot, flag};
use crate::plan::bump::collection::Survivors;
use crate::visit::Part;

/// The state of a mark in slices.
#[derive(Debug, Default)]
pub(crate) struct Sliced {
    /// Small objects that were allocated since its beginning.
    born: Survivors,
    /// There was no room on the stack for an object that was shown.
    lost: bool,
}

impl Heap {
    /// Begins such a mark. The collection has begun, and the driver has its roots.
    pub fn begin_sliced_mark(&mut self) {
        self.bump.sliced = Some(Sliced::default());
        self.bump.blocks.arm_all(true);
        self.large.arm_all(true);
        self.services.finalizers.unshown = self.services.finalizers.queue.len();
        self.set_mark_phase(MarkPhase::Discovers);
    }

    /// The program stands still until the collection has ended.
    pub fn end_sliced_mark(&mut self) {
        self.retire_allocation();
        self.bump.blocks.arm_all(false);
        self.large.arm_all(false);
        self.services.finalizers.unshown = 0;
        self.set_mark_phase(MarkPhase::Off);
    }

    /// The mark is given up. Nothing has died of it.
    pub fn abandon_sliced_mark(&mut self) {
        self.end_sliced_mark();
        self.bump.sliced = None;
        self.bump.blocks.forget_next_live();
        self.mark_stack.clear();
        self.clear_marks();
    }

    /// Whether a mark in slices runs, or ends.
    #[inline(always)]
    pub fn mark_is_sliced(&self) -> bool {
        self.bump.sliced.is_some()
    }

    /// Whether it has lost an object: it must be given up.
    pub fn sliced_mark_has_lost(&self) -> bool {
        self.bump.sliced.as_ref().is_some_and(|sliced| sliced.lost)
    }

    /// Shows an object to the mark: it was reachable at the mark's beginning, or is from now on.
    #[inline]
    pub(crate) fn show_to_sliced_mark(&mut self, object: ObjectRef) {
        if !MARK.get(object.granule()) {
            MARK.set(object.granule());
            self.push_to_sliced_mark(object);
        }
    }

    /// The mark is to visit a marked object, perhaps once more.
    pub(crate) fn push_to_sliced_mark(&mut self, object: ObjectRef) {
        let most = self.options.list_entries_max.unwrap_or(usize::MAX);
        if !self.mark_stack.try_push(object, most)
            && let Some(sliced) = &mut self.bump.sliced
        {
            sliced.lost = true;
        }
    }

    /// The target of a weak slot, while such a mark runs: unmarked objects are alive until it has ended.
    pub(crate) fn upgrade_shown(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        if self.awaits_finalizer(object) || self.mark_phase().condemns() && !MARK.get(object.granule()) {
            return None;
        }
        if self.mark_phase().is_shown_references() {
            self.show_to_sliced_mark(object);
        }
        Some(object)
    }

    /// An ephemeron that the mark has come to, and may hold back, has another key: the mark looks again.
    pub(crate) fn push_ephemeron_again(&mut self, ephemeron: ObjectRef) {
        if self.mark_phase().is_shown_references() && MARK.get(ephemeron.granule()) {
            self.push_to_sliced_mark(ephemeron);
        }
    }

    /// The barrier's slow path while such a mark runs: shows what the slot's part of the object refers to. The next write to that
    /// is a plain store.
    pub(crate) fn show_overwritten(&mut self, object: ObjectRef, slot: Slot) {
        let info = object.type_info();
        if !object.has(flag::LARGE) {
            info.for_each_reference(object, Part::Whole, |target| self.show_to_sliced_mark(target));
            return crate::barrier::clear_unlogged(object, info.cell_bytes_of(object));
        }
        self.show_overwritten_chunk(object, info.chunk_of(slot.address() - object.address()));
    }

    /// The same for one chunk of a large object, which may have been shown before.
    pub(crate) fn show_overwritten_chunk(&mut self, object: ObjectRef, chunk: u64) {
        if self.mark_phase().is_shown_references() && object.type_info().has_references {
            object
                .type_info()
                .for_each_reference(object, Part::Chunk(chunk), |target| self.show_to_sliced_mark(target));
            self.large.disarm_chunk(object, chunk);
        }
    }

    /// A small object is allocated while a mark in slices runs, in a cell from `start` on: it survives.
    #[inline(always)]
    pub(crate) fn bear_marked(&mut self, start: u64, bytes: u64) {
        if self.mark_is_sliced() {
            self.note_born(start, bytes);
        }
    }

    #[inline(never)]
    fn note_born(&mut self, start: u64, bytes: u64) {
        let Some(sliced) = &mut self.bump.sliced else { return };
        // SAFETY: [OWNED] a cell of this heap.
        let object = unsafe { ObjectRef::from_address(start + HEADER_BYTES) };
        MARK.set(object.granule());
        // An ephemeron with another key was visited already.
        if !Heap::has_survived(object) {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { NEXT_LIVE.set_cell(start, start + bytes) };
            sliced.born.objects += 1;
            sliced.born.bytes += bytes;
        }
    }

    /// At the end of a collection: adds what was allocated while its mark ran. Returns the bytes.
    pub(in crate::plan::bump) fn add_born(&mut self, survivors: &mut Survivors) -> u64 {
        let born = self.bump.sliced.take().unwrap_or_default().born;
        survivors.objects += born.objects;
        survivors.bytes += born.bytes;
        born.bytes
    }
}
