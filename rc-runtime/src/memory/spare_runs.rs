//! Blocks of large objects that have died, kept by the heap for its next large objects.
//!
//! A program that makes and drops buffers of some tens of kilobytes takes such blocks again at once. To give them back costs
//! two system calls, and a page fault for each 4 KiB afterwards; to clear them costs a tenth of that. So runs of up to
//! 1 MiB stay here, 4 MiB in all; they count as unused, like empty blocks for small objects.
//!
//! What no large object has needed for sixteen flips leaves, some runs at each flip. A collection that the program asks for
//! gives all of them back, and so does a range that is used up.

use crate::memory::block_source::{self, IDLE_LOOKS};
use crate::memory::leaving::Run;
use crate::memory::list::List;
use crate::memory::range::{BLOCK_BYTES, UNLOGGED, block_start};

/// Blocks of the longest run that is kept: 1 MiB.
const LONGEST: usize = 32;
/// Blocks that are kept: 4 MiB, half an epoch.
const SPARE_BLOCKS_MAX: u64 = 128;
/// Runs that leave after one flip, at most.
const RUNS_PER_FLIP: usize = 8;

/// The spare runs of one heap.
#[derive(Debug)]
pub(crate) struct SpareRuns {
    /// First blocks, by the number of blocks.
    by_length: [List<u32>; LONGEST + 1],
    blocks: u64,
    /// The fewest blocks there were in the last `flips` flips.
    idle: u64,
    flips: u32,
    /// Blocks that are to leave.
    leaves: u64,
}

impl Default for SpareRuns {
    fn default() -> Self {
        SpareRuns { by_length: [const { List::new() }; LONGEST + 1], blocks: 0, idle: 0, flips: 0, leaves: 0 }
    }
}

impl SpareRuns {
    /// Keeps a dead object's run, or returns it.
    pub(crate) fn keep(&mut self, run: Run) -> Option<Run> {
        let length = run.blocks as usize;
        if length > LONGEST || self.blocks + u64::from(run.blocks) > SPARE_BLOCKS_MAX {
            return Some(run);
        }
        // Its next object's references are young.
        // SAFETY: [OWNED] the run is this heap's, and holds nothing.
        unsafe { UNLOGGED.zero_blocks(run.first, run.armed) };
        if self.enter(run.first, run.blocks) { None } else { Some(Run { armed: 0, ..run }) }
    }

    /// Takes a run of so many blocks, with zeroed memory: the end of a longer one if there is none of that length.
    pub(crate) fn take(&mut self, blocks: u32) -> Option<u32> {
        let length = (blocks as usize..=LONGEST).find(|&length| !self.by_length[length].is_empty())?;
        let first = self.pop(length)?;
        let rest = length as u32 - blocks;
        if rest != 0 && !self.enter(first, rest) {
            // SAFETY: [OWNED] the rest is this heap's, and holds nothing.
            unsafe { block_source::give_back(first, rest) };
        }
        self.idle = self.idle.min(self.blocks);
        let bytes = u64::from(blocks) * BLOCK_BYTES;
        // SAFETY: [OWNED] the blocks are this heap's, and hold nothing.
        unsafe { std::ptr::write_bytes(block_start(first + rest) as *mut u8, 0, bytes as usize) };
        Some(first + rest)
    }

    /// At a flip: runs that have been idle go to `leave`.
    pub(crate) fn flip(&mut self, mut leave: impl FnMut(Run)) {
        self.flips += 1;
        if self.flips == IDLE_LOOKS {
            self.leaves = self.idle;
            (self.idle, self.flips) = (self.blocks, 0);
        }
        if self.leaves != 0 {
            self.let_leave(&mut leave);
        }
    }

    fn let_leave(&mut self, leave: &mut impl FnMut(Run)) {
        for _ in 0..RUNS_PER_FLIP {
            self.leaves = self.leaves.min(self.blocks);
            let longest = (1..=LONGEST).rev().find(|&length| !self.by_length[length].is_empty());
            let Some(length) = longest.filter(|&length| length as u64 <= self.leaves) else {
                self.leaves = 0;
                return;
            };
            let Some(first) = self.pop(length) else { return };
            self.leaves -= length as u64;
            self.idle = self.idle.min(self.blocks);
            leave(Run { first, blocks: length as u32, armed: 0 });
        }
    }

    /// Gives everything back to the system.
    pub(crate) fn give_back(&mut self) {
        for length in 1..=LONGEST {
            while let Some(first) = self.pop(length) {
                // SAFETY: [OWNED] the run is this heap's, and holds nothing.
                unsafe { block_source::give_back(first, length as u32) };
            }
        }
        (self.idle, self.leaves) = (0, 0);
    }

    fn enter(&mut self, first: u32, blocks: u32) -> bool {
        let entered = self.by_length[blocks as usize].try_push(first);
        self.blocks += if entered { u64::from(blocks) } else { 0 };
        entered
    }

    fn pop(&mut self, length: usize) -> Option<u32> {
        let first = self.by_length[length].pop()?;
        self.blocks -= length as u64;
        Some(first)
    }
}

impl Drop for SpareRuns {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(blocks: u32) -> Run {
        Run { first: block_source::take(blocks).expect("room"), blocks, armed: 0 }
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_spare_run_is_taken_again_with_zeroed_memory() {
        let mut spares = SpareRuns::default();
        let first = run(3);
        let last_word = (block_start(first.first + 3) - 8) as *mut u64;
        // SAFETY: [OWNED] the run was just taken.
        unsafe { *last_word = 7 };
        assert!(spares.keep(first).is_none());
        assert_eq!(spares.take(2), Some(first.first + 1), "the end of it");
        // SAFETY: [OWNED] the run was just taken.
        assert_eq!(unsafe { *last_word }, 0);
        assert_eq!((spares.take(2), spares.take(1)), (None, Some(first.first)));
        assert_eq!(spares.blocks, 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn armed_barriers_of_a_spare_run_are_cleared() {
        let (mut spares, armed) = (SpareRuns::default(), Run { armed: 2, ..run(2) });
        let start = block_start(armed.first);
        // SAFETY: [OWNED] the run was just taken.
        unsafe { UNLOGGED.set_range(start + 16, start + 2 * BLOCK_BYTES) };
        assert!(spares.keep(armed).is_none());
        // SAFETY: [OWNED] blocks of this test.
        assert!((0..2).all(|block| unsafe { UNLOGGED.block_words(armed.first + block) }.iter().all(|&word| word == 0)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn spare_runs_are_few_and_short() {
        let mut spares = SpareRuns::default();
        let refused = |spares: &mut SpareRuns, blocks| match spares.keep(run(blocks)) {
            // SAFETY: [OWNED] the run was just taken.
            Some(run) => unsafe { block_source::give_back(run.first, run.blocks) },
            None => panic!("{blocks} blocks were kept"),
        };
        refused(&mut spares, 33);
        (0..4).for_each(|_| assert!(spares.keep(run(32)).is_none()));
        refused(&mut spares, 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn idle_runs_leave_some_at_a_flip_and_those_in_use_stay() {
        let mut spares = SpareRuns::default();
        (0..20).for_each(|_| assert!(spares.keep(run(1)).is_none()));
        let (mut gone, mut most) = (0, 0);
        for _ in 0..4 * IDLE_LOOKS {
            let used: Vec<u32> = (0..5).filter_map(|_| spares.take(1)).collect();
            for first in used {
                assert!(spares.keep(Run { first, blocks: 1, armed: 0 }).is_none());
            }
            let mut left = 0;
            spares.flip(|run| {
                // SAFETY: [OWNED] the run was just taken.
                unsafe { block_source::give_back(run.first, run.blocks) };
                left += 1;
            });
            (gone, most) = (gone + left, most.max(left));
        }
        assert_eq!((gone, most), (15, RUNS_PER_FLIP));
    }
}
