//! A heap's blocks of 32 KiB: holes to allocate into, and the sweep that finds them again.
//!
//! Allocation bumps a cursor through one *hole* at a time: a run of free bytes in the current block, at least
//! [`SMALLEST_HOLE`] long. A block's live bits (one per 8 bytes, set at promotion, cleared at death) say where the holes
//! are; young cells have no live bits, so a block in which everything died young is a free block without anybody having
//! looked at an object. This follows Immix (Blackburn & McKinley 2008, §2) with exact cells instead of lines.
//!
//! ```text
//! state        in list        next
//! FREE         free           taken → TOUCHED
//! RECYCLABLE   recyclable     taken → TOUCHED
//! TOUCHED      touched        allocated into in this epoch; flip moves the list to `pending`, the sweep after it
//!                             classifies → FREE / RECYCLABLE / FULL
//! FULL         –              an object in it dies → FREED_INTO
//! FREED_INTO   freed_into     swept like a pending block; so is a RECYCLABLE block, which may be empty then. Its old
//!                             entry in the recyclable list stays and is passed over
//! ```
//!
//! Objects that fit no hole go to the *overflow* block, a free block of their own. Blocks that stay empty for a while give
//! their memory back to the system.

use crate::memory::block_state::{clear_tables, state};
use crate::memory::list::{List, Queue};
use crate::memory::range::{self, BLOCK_BYTES, LIVE, UNLOGGED, block_info, block_start};

/// Holes shorter than this are not used, and every cell up to this size fits into any hole.
pub const SMALLEST_HOLE: u64 = 128;
/// Flips over which an empty block must have been idle before its memory goes back to the system: giving back what the
/// next epoch takes again cost a program of short-lived trees as much time in the kernel as in itself.
const IDLE_FLIPS: u32 = 16;
/// Blocks given back after one flip, at most.
const GIVEN_BACK_PER_FLIP: usize = 64;
/// Units of work of each: two system calls, which took 2 to 23 µs. (At the flip itself 64 of them took 1.5 ms.)
const GIVEN_BACK_UNITS: i64 = 256;
/// Blocks in which objects are dying right now, as likely as not.
const SWEPT_LATER: usize = 8;
const WORDS_PER_BLOCK: u32 = (BLOCK_BYTES / 8) as u32;

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
    recyclable: List<u32>,
    touched: List<u32>,
    pending: List<u32>,
    /// The oldest first.
    freed_into: Queue<u32>,
    /// With objects that were logged one by one since the last flip.
    pub logged: List<u32>,
    current: Option<u32>,
    /// Where in the current block the search for the next hole goes on, in words.
    search: u32,
    /// Never reuse memory: dead objects stay recognisable (zeal).
    pub quarantine: bool,
    /// Number of the heap, entered into each block.
    pub owner: u32,
}

/// A run of free bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl BlockSpace {
    /// The next hole of the current block; its unlogged bits are cleared, since what is allocated there is young.
    pub fn next_hole(&mut self) -> Option<Hole> {
        let block = self.current?;
        // SAFETY: this heap owns the block.
        let live = unsafe { LIVE.block_words(block) };
        while self.search < WORDS_PER_BLOCK {
            let start = next_bit(live, self.search, false);
            let end = next_bit(live, start, true);
            self.search = end;
            if (end - start) as u64 * 8 >= SMALLEST_HOLE {
                let base = block_start(block);
                let hole = Hole { start: base + start as u64 * 8, end: base + end as u64 * 8 };
                clear_unlogged(hole);
                return Some(hole);
            }
        }
        self.current = None;
        None
    }

    /// Opens a block for allocation: a free or recyclable one, or a new one. `None` when the range is used up.
    pub fn open_block(&mut self, epoch: u32) -> Option<()> {
        let reusable = self.take_free().or_else(|| self.take_recyclable());
        let block = self.touch(reusable, epoch)?;
        self.current = Some(block);
        self.search = 0;
        Some(())
    }

    /// Opens a block that has objects and holes: the heap grows by nothing. `None` when there is none.
    pub fn open_recyclable_block(&mut self, epoch: u32) -> Option<()> {
        let block = self.take_recyclable()?;
        self.current = self.touch(Some(block), epoch);
        self.search = 0;
        self.current.map(drop)
    }

    /// Opens a wholly free block for objects that fit no hole.
    pub fn open_overflow_block(&mut self, epoch: u32) -> Option<Hole> {
        let free = self.take_free();
        let block = self.touch(free, epoch)?;
        let hole = Hole { start: block_start(block), end: block_start(block) + BLOCK_BYTES };
        clear_unlogged(hole);
        Some(hole)
    }

    fn take_free(&mut self) -> Option<u32> {
        let block = self.free.pop()?;
        self.idle = self.idle.min(self.free.len());
        Some(block)
    }

    fn take_recyclable(&mut self) -> Option<u32> {
        loop {
            let block = self.recyclable.pop()?;
            // SAFETY: this heap owns the block.
            let info = unsafe { &*block_info(block) };
            info.listed.set(false);
            if info.state.get() == state::RECYCLABLE {
                return Some(block);
            }
        }
    }

    /// Gives some memory back that no epoch has needed for a while; what that cost. The free list is a stack: what is idle lies at
    /// its bottom.
    fn give_idle_back(&mut self, budget: i64) -> i64 {
        let most = usize::try_from(budget / GIVEN_BACK_UNITS).unwrap_or(0).max(1);
        let count = self.idle.min(self.gives).min(most);
        for block in self.free.drain(..count) {
            // SAFETY: the block is this heap's, and holds nothing.
            unsafe { range::release_pages(block_start(block), block_start(block) + BLOCK_BYTES) };
            self.given_back.push(block);
        }
        self.idle -= count;
        self.gives = if count == 0 { 0 } else { self.gives - count };
        if self.idle == 0 {
            (self.idle, self.flips, self.gives) = (self.free.len(), 0, 0);
        }
        count as i64 * GIVEN_BACK_UNITS
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
        // SAFETY: this heap owns the block.
        let info = unsafe { &*block_info(block) };
        info.state.set(state::TOUCHED);
        info.age.set(epoch);
        // SAFETY: the block was taken for this heap.
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
        self.flips += 1;
        self.gives = if self.flips < IDLE_FLIPS { 0 } else { GIVEN_BACK_PER_FLIP };
        self.current = None;
        std::mem::swap(&mut self.touched, &mut self.pending);
        for &block in &self.logged {
            // SAFETY: this heap owns the block.
            unsafe { (*block_info(block)).logged.set(0) };
        }
        arm(&self.logged);
        self.logged.clear();
        arm(&self.pending);
    }

    /// A hole of a block that was flipped stays open for allocation.
    pub fn keep_open(&mut self, rest: Hole) {
        clear_unlogged(rest);
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

    /// Notes that an object in `block` died; the block is swept again if no other pass would visit it.
    #[inline(always)]
    pub(crate) fn note_death(&mut self, block: u32) {
        // SAFETY: this heap owns the block.
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
    pub fn grows(&self) -> bool {
        self.free.is_empty() && self.recyclable.is_empty()
    }

    fn sweep(&mut self, block: u32) {
        // SAFETY: this heap owns the block.
        let live = unsafe { LIVE.block_words(block) };
        // SAFETY: as above.
        let info = unsafe { &*block_info(block) };
        let used: u32 = live.iter().map(|word| word.count_ones()).sum();
        let state = match used {
            _ if self.quarantine => state::FULL,
            0 => {
                self.free.push(block);
                state::FREE
            }
            used if used < WORDS_PER_BLOCK / 8 * 7 => {
                if !info.listed.get() {
                    info.listed.set(true);
                    self.recyclable.push(block);
                }
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
        // SAFETY: the heap owns the block, and no other reference to its bits exists.
        unsafe { UNLOGGED.block_words(block) }.fill(!0);
    }
}

impl Drop for BlockSpace {
    fn drop(&mut self) {
        for &block in &self.owned {
            // SAFETY: the block is this heap's, and holds nothing.
            unsafe { clear_tables(block) };
            // SAFETY: the block is this heap's, and holds nothing.
            unsafe { crate::memory::block_source::give_back(block, 1) };
        }
    }
}

/// Clears the unlogged bits of the slots that a hole can hold, from `start + 8` to `end - 8`. The neighbours' slots, at most
/// `start - 8` and at least `end + 8`, lie in other granules.
fn clear_unlogged(hole: Hole) {
    // SAFETY: a block of this heap.
    unsafe { UNLOGGED.clear_range(hole.start + 8, hole.end) };
}

fn next_bit(words: &[u64], from: u32, set: bool) -> u32 {
    let mut at = from;
    while at < WORDS_PER_BLOCK {
        let word = words[at as usize / 64];
        let rest = (if set { word } else { !word }) >> (at % 64);
        if rest != 0 {
            return at + rest.trailing_zeros();
        }
        at = (at | 63) + 1;
    }
    WORDS_PER_BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::bit_table::Granule;

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn holes_lie_between_live_cells() {
        let mut space = BlockSpace::default();
        space.open_block(2).expect("room");
        let block = space.current.expect("just opened");
        let base = block_start(block);
        // SAFETY: a block of this heap.
        unsafe { LIVE.set_range(base + 1024, base + 1056) };
        // SAFETY: a block of this heap.
        unsafe { LIVE.set_range(base + 1056 + SMALLEST_HOLE - 8, base + 4096) };
        // SAFETY: a block of this heap.
        unsafe { LIVE.set_range(base + BLOCK_BYTES - 8, base + BLOCK_BYTES) };
        assert_eq!(space.next_hole(), Some(Hole { start: base, end: base + 1024 }));
        assert_eq!(
            space.next_hole(),
            Some(Hole { start: base + 4096, end: base + BLOCK_BYTES - 8 }),
            "the hole after 1056 is 8 bytes too short"
        );
        assert_eq!(space.next_hole(), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn the_smallest_cell_at_the_end_of_a_hole_gets_a_clear_bit_and_its_neighbours_keep_theirs() {
        for shift in [0, 8] {
            let mut space = BlockSpace::default();
            space.open_block(2).expect("room");
            let base = block_start(space.current.expect("just opened"));
            let (start, end) = (base + 1024 + shift, base + 2048 + shift);
            // SAFETY: a block of this heap.
            unsafe { LIVE.set_range(base, start) };
            // SAFETY: a block of this heap.
            unsafe { LIVE.set_range(end, base + BLOCK_BYTES) };
            // SAFETY: a block of this heap.
            unsafe { UNLOGGED.set_range(base, base + BLOCK_BYTES) };
            assert_eq!(space.next_hole(), Some(Hole { start, end }));
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
        space.open_block(2).expect("room");
        let block = space.current.expect("just opened");
        space.flip();
        assert_eq!(space.sweep_pending(1000), None);
        assert_eq!(space.free[..], [block]);
        space.open_block(3).expect("room");
        assert_eq!(space.current, Some(block));
        assert_eq!(space.owned.len(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_recyclable_block_that_empties_is_free_and_its_old_entry_is_passed_over() {
        let mut space = BlockSpace::default();
        for _ in 0..2 {
            space.open_block(2).expect("room");
        }
        let blocks = space.owned.clone();
        for &block in &blocks {
            // SAFETY: a block of this heap.
            unsafe { LIVE.set_range(block_start(block), block_start(block) + 64) };
        }
        space.flip();
        space.sweep_pending(i64::MAX);
        assert_eq!(space.recyclable.len(), 2);
        for _ in 0..3 {
            // SAFETY: a block of this heap.
            unsafe { LIVE.clear_range(block_start(blocks[0]), block_start(blocks[0]) + 64) };
            space.note_death(blocks[0]);
            space.sweep_freed_into();
        }
        assert_eq!(space.free[..], [blocks[0]]);
        assert_eq!(space.recyclable.len(), 2, "one entry a block, however often it is swept");
        assert_eq!(space.used_bytes(), BLOCK_BYTES);
        for expected in [blocks[0], blocks[1]] {
            space.open_block(3).expect("room");
            assert_eq!(space.current, Some(expected));
        }
        space.open_block(3).expect("room");
        assert_eq!(space.owned.len(), 3, "the stale entry leads to no block twice");
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn idle_blocks_are_given_back_a_few_in_a_slice() {
        let mut space = BlockSpace::default();
        for _ in 0..100 {
            space.open_block(2).expect("room");
        }
        let (mut before, mut most) = (0, 0);
        for _ in 0..300 * IDLE_FLIPS {
            if space.sweep_pending(4 * GIVEN_BACK_UNITS).is_none() {
                space.flip();
            }
            most = most.max(space.given_back.len() - before);
            before = space.given_back.len();
        }
        assert_eq!((before, most), (100, 4));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn idle_blocks_give_their_memory_back_and_busy_ones_keep_it() {
        let mut space = BlockSpace::default();
        for _ in 0..10 {
            space.open_block(2).expect("room");
        }
        for epoch in 3..3 + 3 * IDLE_FLIPS {
            space.flip();
            space.sweep_pending(i64::MAX);
            for _ in 0..4 {
                space.open_block(epoch).expect("room");
            }
        }
        assert_eq!(space.given_back.len(), 6, "ten blocks are owned, four are in use");
        assert_eq!(space.owned.len(), 10);
        for _ in 0..6 {
            space.open_block(99).expect("room");
        }
        assert_eq!((space.owned.len(), space.given_back.len()), (10, 0));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_full_block_is_listed_after_a_death() {
        let mut space = BlockSpace::default();
        space.open_block(2).expect("room");
        let block = space.current.expect("just opened");
        // SAFETY: a block of this heap.
        unsafe { LIVE.set_range(block_start(block), block_start(block) + BLOCK_BYTES) };
        space.flip();
        space.sweep_pending(1000);
        assert!(space.free.is_empty() && space.recyclable.is_empty());
        // SAFETY: a block of this heap.
        unsafe { LIVE.clear_range(block_start(block), block_start(block) + 16384) };
        space.note_death(block);
        space.note_death(block);
        assert!(space.has_freed_into());
        space.sweep_freed_into();
        assert_eq!(space.recyclable[..], [block]);
    }
}
