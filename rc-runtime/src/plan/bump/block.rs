//! A heap's blocks of 32 KiB: holes to allocate into, and the sweep that finds them again.
//!
//! Allocation bumps a cursor through one *hole* at a time: a run of free bytes in the current block, at least
//! `SMALLEST_HOLE` long. A block's live bits (one per 8 bytes, set at promotion, cleared at death) say where the holes
//! are; young cells have no live bits, so a block in which everything died young is a free block without anybody having
//! looked at an object. This follows Immix (Blackburn & McKinley 2008, §2) with exact cells instead of lines.
//!
//! ```text
//! state        in list        next
//! FREE         free           taken → TOUCHED
//! RECYCLABLE   recyclable     taken → TOUCHED; the lists are by the longest hole
//! TOUCHED      touched        allocated into in this epoch; flip moves the list to `pending`, the sweep after it
//!                             classifies → FREE / RECYCLABLE / FULL
//! FULL         –              an object in it dies → FREED_INTO
//! FREED_INTO   freed_into     swept like a pending block; so is a RECYCLABLE block, which may be empty then. Its old
//!                             entry in the recyclable list stays and is passed over
//! ```
//!
//! A heap whose objects explain its blocks takes empty blocks first: what is allocated in sequence then lies side by side. Once
//! the blocks are too many for that (`BlockSpace::fills_holes`) it takes those with holes first, uses holes of any length, and grows
//! when there is none. Blocks that stay empty for a while give their memory back to the system (`idle`).

mod by_class;
pub mod fragments;
pub(crate) mod hole;
mod idle;
mod recyclable;

pub(crate) use hole::{Hole, SMALLEST_HOLE};

use crate::memory::block_source::{GIVEN_BACK_AT_ONCE, IDLE_LOOKS};
use crate::memory::block_state::{clear_tables, state};
use crate::memory::list::{List, Queue};
use crate::memory::range::{self, BLOCK_BYTES, LIVE, UNLOGGED, block_info};
use hole::{SMALLEST_CELL, longest};
use recyclable::Recyclable;

/// Blocks in which objects are dying right now, as likely as not.
const SWEPT_LATER: usize = 8;

/// The blocks of one heap.
#[derive(Debug, Default)]
pub struct BlockSpace {
    /// Every block this heap owns for small objects.
    pub owned: List<u32>,
    free: List<u32>,
    /// Empty, and their memory is with the system.
    given_back: List<u32>,
    /// As many idle blocks may be given back after the last flip.
    gives: usize,
    /// The fewest free blocks there were in the last `flips` flips: as many were idle all the time.
    idle: usize,
    flips: u32,
    recyclable: Recyclable,
    /// Blocks with holes are taken before empty ones.
    pub(crate) fills_holes: bool,
    pub(in crate::plan) touched: List<u32>,
    pending: List<u32>,
    /// The oldest first.
    freed_into: Queue<u32>,
    /// With objects that were logged one by one since the last flip.
    pub logged: List<u32>,
    current: Option<u32>,
    /// Where in the current block the search for the next hole goes on, in words.
    search: u32,
    /// The heap is beyond its limit: blocks that the collector has taken since are no room for the program.
    pub(crate) is_beyond_limit: bool,
    /// Never reuse memory: dead objects stay recognisable (zeal).
    pub(crate) quarantine: bool,
    /// Number of the heap, entered into each block.
    pub owner: u32,
}

impl BlockSpace {
    /// The next hole of the current block that has `bytes`; its unlogged bits are cleared. Where holes are filled, `passed` gets those
    /// that were passed over.
    pub(crate) fn next_hole(&mut self, bytes: u64, passed: impl FnMut(Hole)) -> Option<Hole> {
        let block = self.current?;
        let found = match self.fills_holes {
            true => hole::find(block, self.search, bytes, passed),
            false => hole::find(block, self.search, SMALLEST_HOLE, |_| {}),
        };
        let Some((hole, next)) = found else {
            self.current = None;
            return None;
        };
        self.search = next;
        hole.clear_unlogged();
        Some(hole)
    }

    /// The first `bytes` of a hole that was just found; the rest is found next.
    pub(crate) fn cut(&mut self, hole: Hole, bytes: u64) -> Hole {
        if hole.bytes() <= bytes {
            return hole;
        }
        let end = hole.start + bytes;
        self.search = (end % BLOCK_BYTES / 8) as u32;
        Hole { end, ..hole }
    }

    /// Takes an empty block, else one with a hole of `bytes` for which opening it pays, else a new one. `None` when the range is used
    /// up.
    pub(crate) fn take_block(&mut self, bytes: u64, epoch: u32) -> Option<u32> {
        let roomy = |recyclable: &mut Recyclable| match bytes > SMALLEST_HOLE {
            true => recyclable.take_tight(bytes),
            false => recyclable.take_roomy(),
        };
        let reusable = self.take_free().or_else(|| roomy(&mut self.recyclable));
        self.touch(reusable, epoch)
    }

    /// Takes a block with objects, and a hole of `bytes`: the heap does not grow. `None` when there is none.
    pub(crate) fn take_block_with_hole(&mut self, bytes: u64, epoch: u32) -> Option<u32> {
        let block = match bytes > SMALLEST_HOLE {
            true => self.recyclable.take_tight(bytes).or_else(|| self.recyclable.take_doubtful(bytes)),
            false => self.recyclable.take_for_small(bytes),
        };
        block.and_then(|block| self.touch(Some(block), epoch))
    }

    /// The holes of a block that was taken are to be found one by one.
    pub fn walk(&mut self, block: u32) {
        self.current = Some(block);
        self.search = 0;
    }

    /// Passes all of them to `found`.
    pub(crate) fn scatter(&self, block: u32, found: impl FnMut(Hole)) {
        let none = hole::find(block, 0, BLOCK_BYTES + 1, found);
        debug_assert!(none.is_none());
    }

    fn take_free(&mut self) -> Option<u32> {
        let block = self.free.pop()?;
        self.idle = self.idle.min(self.free.len());
        Some(block)
    }

    fn touch(&mut self, reusable: Option<u32>, epoch: u32) -> Option<u32> {
        let block = match reusable.or_else(|| self.given_back.pop()) {
            Some(block) => block,
            None => {
                let block = crate::memory::block_source::take(1)?;
                self.owned.push(block);
                block
            }
        };
        // SAFETY: [OWNED] this heap owns the block.
        let info = unsafe { &*block_info(block) };
        info.state.set(state::TOUCHED);
        info.age.set(epoch);
        // SAFETY: [OWNED] the block was taken for this heap.
        unsafe { range::set_owner(block, self.owner) };
        self.touched.push(block);
        Some(block)
    }

    /// At a flip: what was allocated into is to be swept, and its unlogged bits are armed, as are those of blocks with
    /// logged objects: everything in them that survives is mature and clean from now on, or pending. `[LOG]`
    /// `[PENDING]` Block by block, not object by object: a flip then costs 256 bytes of bits for each, however long the
    /// log is. Holes are armed with the rest, and cleared when they are opened.
    pub fn flip(&mut self) {
        debug_assert!(self.pending.is_empty());
        self.begin_looks();
        std::mem::swap(&mut self.touched, &mut self.pending);
        for &block in &self.logged {
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { (*block_info(block)).logged.set(0) };
        }
        arm(&self.logged);
        self.logged.clear();
        arm(&self.pending);
    }

    /// The block that was opened last has taken the heap beyond its limit, for the collector's sake: until the heap is below again, no hole
    /// in it is offered. What it holds dies with the next collection, and it is empty then.
    pub(crate) fn hold_newest_back(&mut self) {
        self.leave_current();
        self.is_beyond_limit = true;
        if let Some(&block) = self.touched.last() {
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { &*block_info(block) }.is_beyond_limit.set(true);
        }
    }

    /// No block is current.
    pub(crate) fn leave_current(&mut self) {
        self.current = None;
    }

    /// How many blocks were opened since the last sweep of all.
    pub(crate) fn opened(&self) -> usize {
        self.touched.len()
    }

    /// Sets the unlogged bits of blocks opened since then, from the one with that number on.
    pub(crate) fn arm_opened(&self, from: usize) {
        arm(&self.touched[from..]);
    }

    /// The epoch of a mark in slices begins: what was opened before is not allocated into any more.
    pub(crate) fn begin_slices(&mut self) {
        self.begin_looks();
        self.touched.clear();
    }

    /// Clears the live bits of a block, if it may not be opened before its sweep: a mark in slices of that epoch builds them anew. Else
    /// they are kept: all objects in it have some, but for those that were allocated in that epoch.
    pub(crate) fn forget_or_keep(&self, block: u32, epoch: u32) {
        // SAFETY: [OWNED] this heap owns the block.
        let info = unsafe { &*block_info(block) };
        match info.state.get() {
            state::FREE | state::RECYCLABLE => info.kept.set(epoch),
            state::TOUCHED if info.age.get() == epoch => info.kept.set(epoch),
            // SAFETY: [OWNED] a block of this heap.
            _ => unsafe { LIVE.block_words(block) }.fill(0),
        }
    }

    /// Whether the live bits of a block were kept in that epoch.
    pub(crate) fn is_kept(&self, block: u32, epoch: u32) -> bool {
        // SAFETY: [OWNED] this heap owns the block.
        unsafe { (*block_info(block)).kept.get() == epoch }
    }

    /// Sweeps a block, if it was not opened in that epoch, and is not known to be empty.
    pub(crate) fn sweep_unless_opened_in(&mut self, block: u32, epoch: u32) {
        // SAFETY: [OWNED] this heap owns the block.
        let info = unsafe { &*block_info(block) };
        let is_open = info.state.get() == state::TOUCHED && info.age.get() == epoch;
        if info.state.get() != state::FREE && !is_open {
            self.sweep(block);
        }
    }

    /// Gives some idle blocks back. Returns what that cost; `None` when that was all.
    pub(crate) fn give_some_back(&mut self) -> Option<i64> {
        (self.gives > 0).then(|| self.give_idle_back(1).max(1))
    }

    /// An epoch or a collection begins: no block is current, and idle ones may be given back.
    fn begin_looks(&mut self) {
        self.flips += 1;
        self.gives = if self.flips < IDLE_LOOKS { 0 } else { GIVEN_BACK_AT_ONCE };
        self.current = None;
    }

    /// A hole of a block that was flipped stays open for allocation.
    pub(crate) fn keep_open(&mut self, rest: Hole) {
        rest.clear_unlogged();
        self.touched.push(range::block_of(rest.start));
    }

    /// Sweeps up to `budget` blocks that the last epoch allocated into, after it has given idle ones back; the budget left, or
    /// `None` when all are swept.
    pub fn sweep_pending(&mut self, mut budget: i64) -> Option<i64> {
        while self.gives > 0 {
            budget -= self.give_idle_back(budget);
            if budget <= 0 {
                return Some(budget);
            }
        }
        while let Some(block) = self.pending.pop() {
            self.sweep(block);
            budget -= 8;
            if budget <= 0 && !self.pending.is_empty() {
                return Some(budget);
            }
        }
        None
    }

    /// Trace plan: sweeps all blocks after a mark has set their live bits anew, and gives idle ones back.
    pub(crate) fn sweep_all(&mut self) {
        self.begin_looks();
        self.touched.clear();
        for place in 0..self.owned.len() {
            let block = self.owned[place];
            // SAFETY: [OWNED] this heap owns the block.
            if unsafe { (*block_info(block)).state.get() } != state::FREE {
                self.sweep(block);
            }
        }
        while self.gives > 0 {
            self.give_idle_back(i64::MAX);
        }
    }

    /// Notes that an object in `block` died; the block is swept again if no other pass would visit it.
    #[inline(always)]
    pub(crate) fn note_death(&mut self, block: u32) {
        // SAFETY: [OWNED] this heap owns the block.
        let info = unsafe { &*block_info(block) };
        if info.state.get() == state::FULL || info.state.get() == state::RECYCLABLE {
            info.state.set(state::FREED_INTO);
            self.freed_into.push_back(block);
        }
    }

    /// Whether blocks with deaths wait for their sweep.
    pub fn has_freed_into(&self) -> bool {
        !self.freed_into.is_empty()
    }

    /// Sweeps the block with deaths that has waited longest.
    pub fn sweep_freed_into(&mut self) {
        if let Some(block) = self.freed_into.pop_front() {
            self.sweep(block);
        }
    }

    /// Whether the next block taken for allocation is one more, and a sweep may change that: blocks wait whose objects
    /// have been dying for a while.
    pub fn grows_for_want_of_sweeps(&self) -> bool {
        self.grows() && self.freed_into.len() > SWEPT_LATER
    }

    /// Whether no block with room is left.
    fn grows(&self) -> bool {
        if self.fills_holes {
            !self.recyclable.has_some()
        } else {
            self.free.is_empty() && !self.recyclable.has_roomy()
        }
    }

    fn sweep(&mut self, block: u32) {
        // SAFETY: [OWNED] this heap owns the block.
        let live = unsafe { LIVE.block_words(block) };
        // SAFETY: [OWNED] this heap owns the block.
        let info = unsafe { &*block_info(block) };
        let longest = if self.quarantine { 0 } else { longest(live) };
        let state = match longest {
            BLOCK_BYTES => {
                info.is_beyond_limit.set(false);
                self.free.push(block);
                state::FREE
            }
            SMALLEST_CELL.. if !self.is_beyond_limit || !info.is_beyond_limit.get() => {
                self.recyclable.enter(block, longest);
                state::RECYCLABLE
            }
            _ => state::FULL,
        };
        info.state.set(state);
    }

    /// Bytes in blocks that are not empty.
    pub fn used_bytes(&self) -> u64 {
        (self.owned.len() - self.free.len() - self.given_back.len()) as u64 * BLOCK_BYTES
    }
}

/// Sets the unlogged bits of whole blocks. Their lines are fetched ahead: bits that have not been tested for a while are not in the cache.
fn arm(blocks: &[u32]) {
    const AHEAD: usize = 8;
    for (place, &block) in blocks.iter().enumerate() {
        if let Some(&soon) = blocks.get(place + AHEAD) {
            UNLOGGED.prefetch_block(soon);
        }
        // SAFETY: [OWNED] the heap owns the block, and no other reference to its bits exists.
        unsafe { UNLOGGED.block_words(block) }.fill(!0);
    }
}

impl Drop for BlockSpace {
    fn drop(&mut self) {
        for &block in &self.owned {
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { clear_tables(block) };
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { crate::memory::block_source::give_back(block, 1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::bit_table::Granule;
    use crate::memory::range::block_start;

    /// Opens a block for small objects.
    fn open(space: &mut BlockSpace, epoch: u32) {
        let block = space.take_block(16, epoch).expect("room");
        space.walk(block);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn holes_lie_between_live_cells() {
        let mut space = BlockSpace::default();
        open(&mut space, 2);
        let block = space.current.expect("just opened");
        let base = block_start(block);
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.set_range(base + 1024, base + 1056) };
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.set_range(base + 1056 + SMALLEST_HOLE - 8, base + 4096) };
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.set_range(base + BLOCK_BYTES - 8, base + BLOCK_BYTES) };
        assert_eq!(space.next_hole(16, |_| {}), Some(Hole { start: base, end: base + 1024 }));
        assert_eq!(
            space.next_hole(16, |_| {}),
            Some(Hole { start: base + 4096, end: base + BLOCK_BYTES - 8 }),
            "the hole after 1056 is 8 bytes too short"
        );
        assert_eq!(space.next_hole(16, |_| {}), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn the_smallest_cell_at_the_end_of_a_hole_gets_a_clear_bit_and_its_neighbours_keep_theirs() {
        for shift in [0, 8] {
            let mut space = BlockSpace::default();
            open(&mut space, 2);
            let base = block_start(space.current.expect("just opened"));
            let (start, end) = (base + 1024 + shift, base + 2048 + shift);
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.set_range(base, start) };
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.set_range(end, base + BLOCK_BYTES) };
            // SAFETY: [OWNED] a block of this heap.
            unsafe { UNLOGGED.set_range(base, base + BLOCK_BYTES) };
            assert_eq!(space.next_hole(16, |_| {}), Some(Hole { start, end }));
            // SAFETY: addresses in the block.
            let get = |address| UNLOGGED.get(unsafe { Granule::at(address) });
            assert!(!get(start + 8) && !get(end - 8));
            assert!(get(start - 8) && get(end + 8));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_block_in_which_everything_died_young_is_free_again() {
        let mut space = BlockSpace::default();
        open(&mut space, 2);
        let block = space.current.expect("just opened");
        space.flip();
        assert_eq!(space.sweep_pending(1000), None);
        assert_eq!(space.free[..], [block]);
        open(&mut space, 3);
        assert_eq!(space.current, Some(block));
        assert_eq!(space.owned.len(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_recyclable_block_that_empties_is_free_and_its_old_entry_is_passed_over() {
        let mut space = BlockSpace::default();
        for _ in 0..2 {
            open(&mut space, 2);
        }
        let blocks = space.owned.clone();
        for &block in &blocks {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.set_range(block_start(block), block_start(block) + 64) };
        }
        space.flip();
        space.sweep_pending(i64::MAX);
        assert_eq!(space.recyclable.entries().len(), 2);
        for _ in 0..3 {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.clear_range(block_start(blocks[0]), block_start(blocks[0]) + 64) };
            space.note_death(blocks[0]);
            space.sweep_freed_into();
        }
        assert_eq!(space.free[..], [blocks[0]]);
        assert_eq!(space.recyclable.entries().len(), 2, "one entry a block, however often it is swept");
        assert_eq!(space.used_bytes(), BLOCK_BYTES);
        for expected in [blocks[0], blocks[1]] {
            open(&mut space, 3);
            assert_eq!(space.current, Some(expected));
        }
        open(&mut space, 3);
        assert_eq!(space.owned.len(), 3, "the stale entry leads to no block twice");
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_full_block_is_listed_after_a_death() {
        let mut space = BlockSpace::default();
        open(&mut space, 2);
        let block = space.current.expect("just opened");
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.set_range(block_start(block), block_start(block) + BLOCK_BYTES) };
        space.flip();
        space.sweep_pending(1000);
        assert!(space.free.is_empty() && space.recyclable.entries().is_empty());
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.clear_range(block_start(block), block_start(block) + 16384) };
        space.note_death(block);
        space.note_death(block);
        assert!(space.has_freed_into());
        space.sweep_freed_into();
        assert_eq!(space.recyclable.entries(), [block]);
    }
}
