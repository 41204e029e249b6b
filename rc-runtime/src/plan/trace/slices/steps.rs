//! The steps of a collection in slices, in their order: what each does to blocks, bits and counters.

use super::{Slices, Stage};
use crate::heap::{Heap, LAST_EPOCH};
use crate::mark_phase::MarkPhase;
use crate::memory::heap_walk::{HeapWalk, Place, next_live};
use crate::memory::range::{LIVE, MARK, UNLOGGED, block_start};
use crate::object::{HEADER_BYTES, ObjectRef, flag};
use crate::plan::bump::collection::Survivors;

/// Bytes of a large object whose unlogged bits are set in one step.
const ARMED_AT_ONCE: u64 = 1 << 20;
/// Units of a block whose bits are set, cleared or looked at.
const BITS_UNITS: i64 = 4;
/// Units of a block that is swept: its bits and those of the mark are read and written, a kibibyte of cold memory.
const SWEEP_UNITS: i64 = 16;
/// Bytes of the heap whose bits are set for a unit.
const BYTES_PER_UNIT: u64 = 8192;

impl Heap {
    /// Whether the object was allocated since the snapshot of a running collection.
    #[inline(always)]
    pub fn is_new(&self, object: ObjectRef) -> bool {
        object.stamp() == self.trace.slices.new_stamp && !object.is_mature()
    }

    /// Whether a mark in slices runs, to which the barrier shows what is overwritten.
    #[inline(always)]
    pub(crate) fn shows_overwritten(&self) -> bool {
        matches!(self.trace.slices.stage, Stage::Marks | Stage::Judges)
    }

    /// Frames that a mark would have visited are gone: it finds not all.
    pub fn lose_what_was_shown(&mut self) {
        self.trace.slices.lost = true;
    }

    /// Whether a collection in slices can begin: its epoch has a stamp that no object has.
    pub fn has_a_stamp_for_slices(&self) -> bool {
        self.clock.epoch < LAST_EPOCH
    }

    /// Whether an object was shown to the mark and could not be noted: what the mark finds is not all.
    pub fn has_lost_what_was_shown(&self) -> bool {
        self.trace.slices.lost
    }

    /// Begins to set unlogged bits.
    pub fn begin_arming(&mut self) {
        debug_assert!(self.trace.slices.stage == Stage::Off && self.trace.slices.new_stamp == 0);
        // What is opened from here on is on the list of opened blocks.
        self.retire_allocation();
        self.bump.blocks.leave_current();
        self.leave_youth();
        self.trace.slices = Slices {
            stage: Stage::Arms,
            opened: self.bump.blocks.opened(),
            large: self.large.young.len(),
            freed_before: self.statistics.freed_objects(),
            ..Slices::default()
        };
    }

    /// Sets some. Returns what that cost; `None` when all are set.
    pub fn arm_some(&mut self) -> Option<i64> {
        if let Some((object, from)) = self.trace.slices.part.take() {
            let end = object.type_info().reference_bytes(object).end;
            let to = end.min(from + ARMED_AT_ONCE);
            // SAFETY: [OWNED] blocks of this heap.
            unsafe { UNLOGGED.set_range(object.address() + from, object.address() + to) };
            self.trace.slices.part = (to < end).then_some((object, to));
            return Some(1 + (to.saturating_sub(from) / BYTES_PER_UNIT) as i64);
        }
        let place = self.trace.slices.walk.next(&self.bump.blocks.owned, &self.large)?;
        let spent = self.take_over(place);
        match place {
            // SAFETY: [OWNED] a block of this heap.
            Place::Block(block) => unsafe { UNLOGGED.block_words(block) }.fill(!0),
            // Zeal keeps the dead, and has overwritten their lengths.
            Place::Large(object) if object.type_info().has_references && !object.has(flag::DEAD) => {
                self.trace.slices.part = Some((object, 0));
            }
            Place::Large(_) | Place::Vacant => {}
        }
        Some(BITS_UNITS + spent)
    }

    /// The program stands still: what its roots reach now survives, and all that it allocates from now on.
    pub fn take_snapshot(&mut self) {
        let (opened, large) = (self.trace.slices.opened, self.trace.slices.large);
        self.end_taking_over();
        self.bump.blocks.arm_opened(opened);
        self.large.arm_young(large);
        self.retire_allocation();
        self.advance_stamp();
        self.begin_mark();
        self.bump.blocks.begin_slices();
        self.keep_hole_open();
        self.clock.begin_epoch();
        let slices = &mut self.trace.slices;
        (slices.stage, slices.new_stamp) = (Stage::Marks, self.clock.epoch);
        (slices.blocks, slices.at) = (self.bump.blocks.owned.len(), 0);
        slices.allocated = (self.statistics.allocated_objects, self.statistics.allocated_bytes);
        self.note_what_yields();
        self.set_mark_phase(MarkPhase::Discovers);
        self.show_open_objects();
    }

    /// Clears the live bits of a block, or keeps them. Returns what that cost; `None` when all were looked at.
    pub fn forget_some(&mut self) -> Option<i64> {
        let slices = &mut self.trace.slices;
        let block = *self.bump.blocks.owned[..slices.blocks].get(slices.at)?;
        slices.at += 1;
        self.bump.blocks.forget_or_keep(block, slices.new_stamp);
        Some(BITS_UNITS)
    }

    /// What the mark has not reached, and is not new, is dead, and has been judged.
    pub fn end_marking(&mut self) {
        self.quarantine_unmarked();
        self.set_mark_phase(MarkPhase::Off);
        let slices = &mut self.trace.slices;
        slices.stage = Stage::Sweeps;
        (slices.at, slices.walk) = (0, HeapWalk::default());
        self.note_what_yields();
    }

    /// Sweeps a large object or a block. Returns what that cost; `None` when all are swept.
    pub fn sweep_some(&mut self, survivors: &mut Survivors) -> Option<i64> {
        if let Some(found) = self.trace.slices.walk.next_large(&self.large) {
            if let Some(object) = found {
                let before = survivors.bytes;
                self.sweep_one_large(object, survivors);
                self.trace.slices.large_bytes += survivors.bytes - before;
                self.make_large_young(object);
                MARK.clear(object.granule());
            }
            return Some(SWEEP_UNITS + self.large.leaving.take_units());
        }
        let (at, epoch) = (self.trace.slices.at, self.trace.slices.new_stamp);
        let Some(&block) = self.bump.blocks.owned.get(at) else { return self.bump.blocks.give_some_back() };
        self.trace.slices.at += 1;
        let mut spent = SWEEP_UNITS;
        if at < self.trace.slices.blocks {
            if self.bump.blocks.is_kept(block, epoch) {
                spent += self.clear_dead_cells(block, survivors);
            }
            self.bump.blocks.sweep_unless_opened_in(block, epoch);
            spent += self.make_block_young(block);
        }
        // SAFETY: [OWNED] a block of this heap.
        unsafe { MARK.block_words(block) }.fill(0);
        Some(spent)
    }

    /// Clears the live bits of the unmarked objects of a block, which all have some; the others survive. One that is new has some if the
    /// mark has counted it. Returns what that cost.
    fn clear_dead_cells(&self, block: u32, survivors: &mut Survivors) -> i64 {
        // SAFETY: [OWNED] a block of this heap.
        unsafe { MARK.prefetch_behind(block) };
        let (mut at, end, mut spent) = (block_start(block), block_start(block + 1), 0);
        while let Some(object) = next_live(at, end) {
            let (cell, bytes) = (object.address() - HEADER_BYTES, object.type_info().cell_bytes_of(object));
            at = cell + bytes;
            spent += 1;
            if MARK.get(object.granule()) {
                let is_counted = object.stamp() == self.trace.slices.new_stamp;
                survivors.objects += u64::from(!is_counted);
                survivors.bytes += if is_counted { 0 } else { bytes };
            } else {
                // SAFETY: [OWNED] a block of this heap.
                unsafe { LIVE.clear_cell(cell, at) };
            }
        }
        spent
    }

    /// Ends the collection. Returns how many objects died.
    pub fn end_slices(&mut self, survivors: Survivors) -> u64 {
        let slices = &self.trace.slices;
        let (before, allocated, large_bytes) = (slices.freed_before, slices.allocated, slices.large_bytes);
        self.count_survivors(survivors, large_bytes, allocated);
        self.judge_fragmentation(survivors.young);
        self.trace.slices = Slices::default();
        self.end_making_young();
        self.freed_since(before)
    }

    /// Gives the collection up: another follows in the same stop. So many `survivors` were found.
    pub fn abandon_slices(&mut self, survivors: Survivors) {
        let begun = std::mem::take(&mut self.trace.slices);
        if begun.new_stamp == 0 {
            return;
        }
        debug_assert!(begun.stage == Stage::Marks, "what is half judged or swept cannot be left");
        self.statistics.promoted_objects += survivors.young;
        self.statistics.marks_aborted += 1;
        self.mark_stack.clear();
        self.set_mark_phase(MarkPhase::Off);
        self.clear_marks();
    }
}
