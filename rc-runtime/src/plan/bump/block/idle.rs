//! Blocks that stay empty give their memory back to the system.

use super::BlockSpace;
use crate::memory::range::{self, BLOCK_BYTES, block_start};

/// Units of work of each: two system calls, which took 2 to 23 µs. (At the flip itself 64 of them took 1.5 ms.)
const GIVEN_BACK_UNITS: i64 = 256;

impl BlockSpace {
    /// Gives some memory back that no epoch has needed for a while; what that cost. The free list is a stack: what is idle lies at
    /// its bottom.
    pub(super) fn give_idle_back(&mut self, budget: i64) -> i64 {
        let most = usize::try_from(budget / GIVEN_BACK_UNITS).unwrap_or(0).max(1);
        let count = self.idle.min(self.gives).min(most);
        for block in self.free.drain(..count) {
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::block_source::IDLE_LOOKS;

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn idle_blocks_are_given_back_a_few_in_a_slice() {
        let mut space = BlockSpace::default();
        for _ in 0..100 {
            space.take_block(16, 2).expect("room");
        }
        let (mut before, mut most) = (0, 0);
        for _ in 0..300 * IDLE_LOOKS {
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
            space.take_block(16, 2).expect("room");
        }
        for epoch in 3..3 + 3 * IDLE_LOOKS {
            space.flip();
            space.sweep_pending(i64::MAX);
            for _ in 0..4 {
                space.take_block(16, epoch).expect("room");
            }
        }
        assert_eq!(space.given_back.len(), 6, "ten blocks are owned, four are in use");
        assert_eq!(space.owned.len(), 10);
        for _ in 0..6 {
            space.take_block(16, 99).expect("room");
        }
        assert_eq!((space.owned.len(), space.given_back.len()), (10, 0));
    }
}
