//! Room for a cell that the current hole does not take.
//!
//! | cell | goes to |
//! |---|---|
//! | up to 128 bytes with padding for its alignment | the next hole, of 128 bytes or more: it always fits |
//! | the same, while holes are filled | a fragment, else the next hole that takes it; shorter ones become fragments |
//! | up to 16 KiB | the current hole if it fits, else a fragment |
//!
//! The collector has its turn for every 32 KiB that were handed out, not for every block that was opened: a block may have one
//! short hole, and a slice of work for each was all that the program had time for. While a mark runs, or a collection in slices, a fourth of
//! that is enough: garbage grows until it has ended. Such a collection is given longer holes in parts of that length.

use super::BumpSpace;
use super::block::Hole;
use super::block::hole::{SMALLEST_CELL, SMALLEST_HOLE};
use crate::heap::Heap;
use crate::heap::clock::PART_OF_BLOCK;
use crate::mark_phase::MarkPhase;
use crate::memory::range::{self, BLOCK_BYTES};
use crate::object::HEADER_BYTES;
use crate::out_of_memory::OutOfMemory;
use crate::type_registry::TypeInfo;

/// A heap of the deferred plan fills holes while its blocks have more than a fourth, and this part of an epoch, above what lives in them.
const EXCESS_OF_EPOCH: u64 = 8;
/// Live bytes for a byte of an epoch that has grown with them.
const LIVE_BYTES_PER_EPOCH_BYTE: u64 = 8;
/// An epoch does not grow beyond that: the flip arms all blocks that were allocated in, 2,048 of them in 50 µs. `[BOUND]`
const GROWN_EPOCH_MAX: u64 = 64 << 20;

impl Heap {
    /// Bumps the cursor in the current hole.
    #[inline(always)]
    pub(crate) fn carve(&mut self, cell: u64, align: u64) -> Option<u64> {
        let end = self.bump.hole.end;
        let context = self.context_mut();
        let start = aligned_start(context.cursor, align);
        if start + cell > end {
            return None;
        }
        zero_padding(context.cursor, start);
        context.cursor = start + cell;
        Some(start)
    }

    /// Room elsewhere. A safepoint, before there is a cell.
    pub(crate) fn find_room(&mut self, info: &TypeInfo, cell: u64) -> Result<u64, OutOfMemory> {
        self.give_the_collector_its_turn();
        let mut collected = false;
        loop {
            if let Some(start) = self.room_at_hand(cell, info.align) {
                return Ok(start);
            }
            // Once: the blocks that it recycles may all have holes too small for the cell, and the next would recycle them again.
            if std::mem::replace(&mut collected, true) {
                return Err(self.refusal(BLOCK_BYTES, info));
            }
            self.with_driver(|driver, heap| driver.collect(heap));
        }
    }

    /// Room in another hole, a fragment or a new block; no safepoint.
    pub(crate) fn room_at_hand(&mut self, cell: u64, align: u64) -> Option<u64> {
        let bytes = cell + align.saturating_sub(8);
        match bytes > SMALLEST_HOLE {
            true => self.room_in_fragments(bytes, cell, align),
            false => self.room_for_small(bytes, cell, align),
        }
    }

    fn give_the_collector_its_turn(&mut self) {
        let external = std::mem::take(&mut self.services.external.is_due);
        if external || self.clock.slice_is_due() {
            self.with_driver(|driver, heap| driver.on_block_taken(heap));
            let whole = if self.mark_phase() == MarkPhase::Off { BLOCK_BYTES } else { PART_OF_BLOCK };
            self.clock.note_slice(self.clock.part_bytes.unwrap_or(whole));
        }
    }

    fn room_for_small(&mut self, bytes: u64, cell: u64, align: u64) -> Option<u64> {
        loop {
            if self.bump.blocks.fills_holes
                && let Some(fragment) = self.bump.fragments.take_for_cursor(bytes)
            {
                self.retire_hole_but_for_a_fragment();
                self.enter_hole(fragment);
                return self.carve(cell, align);
            }
            self.retire_hole_but_for_a_fragment();
            let BumpSpace { blocks, fragments, .. } = &mut self.bump;
            if let Some(hole) = blocks.next_hole(bytes, |short| fragments.set_aside(short)) {
                let hole = match self.clock.part_bytes {
                    Some(part) => self.bump.blocks.cut(hole, part),
                    None => hole,
                };
                self.enter_hole(hole);
                return self.carve(cell, align);
            }
            let block = self.open_block(bytes)?;
            self.bump.blocks.walk(block);
        }
    }

    fn room_in_fragments(&mut self, bytes: u64, cell: u64, align: u64) -> Option<u64> {
        loop {
            if let Some(start) = self.cut_fragment(bytes, cell, align) {
                return Some(start);
            }
            let block = self.open_block(bytes)?;
            let BumpSpace { blocks, fragments, .. } = &mut self.bump;
            blocks.scatter(block, |hole| fragments.set_aside(hole));
        }
    }

    /// Opens a block: one with objects where holes are filled or the heap may not grow.
    fn open_block(&mut self, bytes: u64) -> Option<u32> {
        let epoch = self.clock.epoch;
        self.bump.blocks.is_beyond_limit &= !self.allows(0);
        let filled = match self.bump.blocks.fills_holes {
            true => self.bump.blocks.take_block_with_hole(bytes, epoch),
            false => None,
        };
        if filled.is_some() {
            return filled;
        }
        let taken = if self.makes_room(BLOCK_BYTES) { self.bump.blocks.take_block(bytes, epoch) } else { None };
        self.note_growth();
        taken.or_else(|| {
            // Until this epoch has ended.
            self.bump.blocks.fills_holes = true;
            self.bump.blocks.take_block_with_hole(bytes, epoch)
        })
    }

    /// Cuts a cell off a fragment.
    #[inline(always)]
    fn cut_fragment(&mut self, bytes: u64, cell: u64, align: u64) -> Option<u64> {
        let fragment = self.bump.fragments.with(bytes)?;
        let start = aligned_start(fragment.start, align);
        fragment.start = start + cell;
        self.clock.given_bytes += cell;
        self.count_birth(cell);
        Some(start)
    }

    /// The rest of the hole is not lost where holes are filled.
    fn retire_hole_but_for_a_fragment(&mut self) {
        let rest = Hole { start: self.context_mut().cursor, end: self.bump.hole.end };
        self.retire_hole();
        if self.bump.blocks.fills_holes && rest.bytes() >= SMALLEST_CELL {
            self.bump.fragments.set_aside(rest);
            self.clock.given_bytes = self.clock.given_bytes.saturating_sub(rest.bytes());
        }
    }

    fn enter_hole(&mut self, hole: Hole) {
        self.bump.hole = hole;
        self.bump.hole_start = hole.start;
        self.clock.given_bytes += hole.bytes();
        let limit = if self.every_allocation_calls() { 0 } else { self.limit_at_next_sample(hole.start, hole.end) };
        let context = self.context_mut();
        (context.cursor, context.limit) = (hole.start, limit);
    }

    /// When the passes of an epoch are done, which promoted so many objects: whether holes are filled from now on, until the next are
    /// done, and whether young objects leave much room when they die.
    pub fn judge_fragmentation(&mut self, promoted: u64) {
        let older = self.bump.blocks.used_bytes().saturating_sub(self.clock.given_bytes);
        let cell = self.statistics.live_bytes / self.statistics.live_objects.max(1);
        self.bump.blocks.fills_holes = older > self.explained_bytes();
        self.bump.young_leave_room = promoted.saturating_mul(cell) < self.epoch_bytes() / 4;
    }

    /// Bytes of an epoch: as the options say, or a part of the live heap. What an epoch costs beside its survivors grows with the
    /// heap: writes at random to more objects log more of them, and each is out of the cache. Where memory is limited it is not
    /// spent so.
    pub fn epoch_bytes(&self) -> u64 {
        let least = self.options.epoch_bytes;
        match self.options.epoch_grows && self.options.heap_limit.is_none() {
            true => (self.statistics.live_bytes / LIVE_BYTES_PER_EPOCH_BYTE).min(GROWN_EPOCH_MAX).max(least),
            false => least,
        }
    }

    /// Bytes handed out that make a flip due. A heap that fills holes, and is larger than it is to be with an epoch's young objects,
    /// makes do with half as many of them, if most die: where they died there is room again.
    pub fn flip_at(&self) -> u64 {
        let epoch = self.epoch_bytes();
        let hurries = self.bump.blocks.fills_holes && self.bump.young_leave_room && self.is_larger_than_explained();
        if hurries { epoch / 2 } else { epoch }
    }

    /// Whether the blocks are more than mature objects and an epoch's young ones explain.
    pub fn is_larger_than_explained(&self) -> bool {
        let epoch = self.epoch_bytes();
        let most = self.explained_bytes().saturating_add(epoch - epoch / EXCESS_OF_EPOCH);
        self.bump.blocks.used_bytes() > most
    }

    /// Bytes of blocks that the mature objects in them explain.
    fn explained_bytes(&self) -> u64 {
        let live = self.statistics.live_bytes.saturating_sub(self.large.mature_bytes);
        live + live / 4 + self.options.epoch_bytes / EXCESS_OF_EPOCH
    }
}

#[inline(always)]
fn aligned_start(cursor: u64, align: u64) -> u64 {
    ((cursor + HEADER_BYTES + align - 1) & !(align - 1)) - HEADER_BYTES
}

#[inline(always)]
fn zero_padding(from: u64, to: u64) {
    for word in (from..to).step_by(8) {
        debug_assert!(range::in_heap(word));
        // SAFETY: padding inside the current hole.
        unsafe { *(word as *mut u64) = 0 };
    }
}
