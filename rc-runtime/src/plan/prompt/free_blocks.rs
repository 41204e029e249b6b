//! The prompt plan's empty blocks: used again before the heap grows, and otherwise given back.
//!
//! [`CellSpace`](super::CellSpace) puts a block here when its last cell has come back, and takes one when a class has no cell left. The
//! last that came is the first that goes, because it is in the cache; so idle blocks lie at the bottom. How much of
//! it was idle all the time is the fewest blocks that there ever were between two looks, which costs a comparison for
//! each block taken, and no time stamps.
//!
//! ```text
//!  put ──► free │ … │ … │ … │ ──► take          grow ──► several at once: one is taken, the others are free
//!                └ idle: memory goes back to the system ──► given_back ──► take, when nothing is free
//! ```

use super::cells::entry;
use crate::memory::block_source::{GIVEN_BACK_AT_ONCE, IDLE_LOOKS};
use crate::memory::block_state::state;
use crate::memory::list::List;
use crate::memory::range::{self, BLOCK_BYTES, UNLOGGED, block_start};

/// A heap grows by this part of what it has …
const GROWTH: usize = 16;
/// … and by no more blocks than these.
const GROWN_AT_ONCE: usize = 32;
/// Blocks taken between two looks at idle memory.
const LOOK_EVERY: u32 = 256;

/// Blocks without objects, kept for the next use.
#[derive(Debug, Default)]
pub(super) struct FreeBlocks {
    free: List<u32>,
    given_back: List<u32>,
    /// Fewest free blocks in the last `looks` looks: as many were idle all the time.
    idle: usize,
    looks: u32,
    /// Blocks taken since the last look.
    taken: u32,
}

impl FreeBlocks {
    /// A block that holds nothing; a new one is entered in `owned`. `None` when the range is used up.
    pub(super) fn take(&mut self, owned: &mut List<u32>) -> Option<u32> {
        self.taken += 1;
        if self.taken >= LOOK_EVERY {
            self.look_for_idle();
        }
        let block = match self.free.pop().or_else(|| self.given_back.pop()) {
            Some(block) => block,
            None => self.grow(owned)?,
        };
        self.idle = self.idle.min(self.free.len());
        Some(block)
    }

    /// A block in which nothing lies any more.
    pub(super) fn put(&mut self, block: u32) {
        entry(block).state.set(state::FREE);
        self.free.push(block);
    }

    /// Number of blocks that hold nothing.
    pub(super) fn count(&self) -> usize {
        self.free.len() + self.given_back.len()
    }

    /// A fresh block; a heap that grows takes several at once. The others are free.
    #[cold]
    fn grow(&mut self, owned: &mut List<u32>) -> Option<u32> {
        let wanted = (owned.len() / GROWTH).clamp(1, GROWN_AT_ONCE) as u32;
        let taken = crate::memory::block_source::take(wanted).map(|first| (first, wanted));
        let (first, count) = match taken {
            Some(taken) => taken,
            None => (crate::memory::block_source::take(1)?, 1),
        };
        let (start, end) = (block_start(first), block_start(first + count));
        if count > 1 {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { range::provide_pages(start, end) };
        }
        // Every write of a host goes through the slow path, which counts.
        // SAFETY: [OWNED] a block of this heap.
        unsafe { UNLOGGED.set_range(start, end) };
        owned.extend(first..first + count);
        (first + 1..first + count).rev().for_each(|block| self.put(block));
        Some(first)
    }

    fn look_for_idle(&mut self) {
        (self.taken, self.looks) = (0, self.looks + 1);
        if self.looks < IDLE_LOOKS {
            return;
        }
        self.give_back_up_to(GIVEN_BACK_AT_ONCE);
        if self.idle == 0 {
            (self.idle, self.looks) = (self.free.len(), 0);
        }
    }

    /// Gives memory back to the system that was free all the time since the last look, or since this was last called.
    pub(super) fn give_idle_back(&mut self) {
        self.give_back_up_to(usize::MAX);
        (self.idle, self.looks) = (self.free.len(), 0);
    }

    fn give_back_up_to(&mut self, count: usize) {
        let count = self.idle.min(count);
        for block in self.free.drain(..count) {
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { range::release_pages(block_start(block), block_start(block) + BLOCK_BYTES) };
            self.given_back.push(block);
        }
        self.idle -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks that a test owned go back when it ends.
    struct Owned(List<u32>);

    impl Drop for Owned {
        fn drop(&mut self) {
            for &block in &self.0 {
                // SAFETY: [OWNED] the block is this heap's, and holds nothing.
                unsafe { crate::memory::block_state::clear_tables(block) };
                // SAFETY: [OWNED] the block is this heap's, and holds nothing.
                unsafe { crate::memory::block_source::give_back(block, 1) };
            }
        }
    }

    fn take(spare: &mut FreeBlocks, owned: &mut Owned, count: usize) -> List<u32> {
        (0..count).map(|_| spare.take(&mut owned.0).expect("room")).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_heap_that_grows_has_blocks_ahead_and_they_count_as_free() {
        range::reserve().expect("address space");
        let (mut spare, mut owned) = (FreeBlocks::default(), Owned(List::new()));
        take(&mut spare, &mut owned, 64);
        let ahead = owned.0.len() - 64;
        assert!(ahead > 0 && ahead <= 64 / GROWTH, "{ahead} blocks");
        assert_eq!(spare.count(), ahead);
        assert!(owned.0[64..].iter().all(|&block| entry(block).state.get() == state::FREE));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn idle_blocks_go_back_to_the_system_and_are_taken_again() {
        range::reserve().expect("address space");
        let (mut spare, mut owned) = (FreeBlocks::default(), Owned(List::new()));
        for block in take(&mut spare, &mut owned, 10) {
            spare.put(block);
        }
        spare.give_idle_back();
        spare.give_idle_back();
        assert_eq!((spare.free.len(), spare.given_back.len()), (0, 10));
        take(&mut spare, &mut owned, 10);
        assert_eq!((owned.0.len(), spare.given_back.len()), (10, 0));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn blocks_in_use_between_two_looks_are_not_idle() {
        range::reserve().expect("address space");
        let (mut spare, mut owned) = (FreeBlocks::default(), Owned(List::new()));
        for block in take(&mut spare, &mut owned, 10) {
            spare.put(block);
        }
        spare.give_idle_back();
        for block in take(&mut spare, &mut owned, 7) {
            spare.put(block);
        }
        spare.give_idle_back();
        assert_eq!((spare.free.len(), spare.given_back.len()), (7, 3));
    }
}
