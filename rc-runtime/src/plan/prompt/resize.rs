//! Storage that gets another length: in its cell or its blocks, or by another object that takes its elements over. `[EXACT]`
//!
//! An element that changes its holder has as many references as before. So if the owner's field is all that holds the old storage,
//! no element is counted: the old storage is emptied, fixed part, length and all, and dies without looking at a word. While a mark
//! runs in slices each is counted: the mark is told of references by their counts.

use crate::heap::Heap;
use crate::mark_phase::MarkPhase;
use crate::object::{HEADER_BYTES, ObjectRef, Slot, prompt_flag};
use crate::plan::prompt::CellSpace;
use crate::type_registry::{Reading, TypeInfo};
use crate::visit::Part;
use std::ops::Range;

/// Storage that needs less than this part of its room is replaced by smaller storage.
const LEAST_PART: u64 = 2;

impl Heap {
    /// Whether the object may have a cell of `cell` bytes where it lies.
    pub(crate) fn has_room_in_cell(&self, info: &TypeInfo, object: ObjectRef, cell: u64) -> bool {
        let room = match object.has(prompt_flag::LARGE) {
            true => self.large.room_of(object, info) + HEADER_BYTES,
            false => CellSpace::cell_of(object),
        };
        cell <= room && cell > room / LEAST_PART
    }

    /// Releases what elements hold that the object is about to lose.
    pub(crate) fn release_elements_counted(&mut self, info: &TypeInfo, object: ObjectRef, bytes: Range<u64>) {
        if let Reading::Traced(_) = info.reading {
            let mut dropped = std::mem::take(&mut self.prompt.scratch);
            info.for_each_reference_near(object, bytes, &mut |target| dropped.push(target));
            dropped.drain(..).for_each(|target| self.decrement_exact(target));
            self.prompt.scratch = dropped;
            return;
        }
        self.release_slots(info, object, bytes);
    }

    /// `new` holds what the first `kept` bytes of `old` do, or else elements of it in other places, and nothing of it is counted.
    pub(crate) fn hand_over_counted(&mut self, info: &TypeInfo, old: ObjectRef, new: ObjectRef, kept: Option<u64>) {
        let is_alone = self.may_hand_over(old);
        // One that a rehash left out has to be found, as the old storage dies.
        let is_whole = || kept.is_some() || references_of(info, new) == references_of(info, old);
        if !is_alone || !is_whole() {
            info.for_each_reference(new, Part::Whole, ObjectRef::increment_exact);
            return;
        }
        let end = info.reference_bytes(old).end;
        if let Some(kept) = kept.filter(|&kept| kept < end) {
            self.release_elements_counted(info, old, kept..end);
        }
        // SAFETY: [HEADER] the fixed part of an object, of which the length is a part: it has no elements any more.
        unsafe { std::ptr::write_bytes(old.address() as *mut u8, 0, info.size as usize) };
    }

    /// Whether one field is all that holds an object, and no mark is told of references by their counts.
    pub(crate) fn may_hand_over(&mut self, old: ObjectRef) -> bool {
        self.apply_postponed();
        self.count_new_handles();
        old.exact_count() == 1 && self.zeal.is_none() && self.mark_phase() == MarkPhase::Off
    }

    /// Stores the word of an object whose count is the field's already, and releases the object that it refers to.
    pub(crate) fn put_in_place_counted(&mut self, slot: Slot, word: u64, old: ObjectRef) {
        slot.store(word);
        self.decrement_exact(old);
    }
}

/// How many references an object holds.
fn references_of(info: &TypeInfo, object: ObjectRef) -> u64 {
    let mut references = 0;
    info.for_each_reference(object, Part::Whole, |_| references += 1);
    references
}
