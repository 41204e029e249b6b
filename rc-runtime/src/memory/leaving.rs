//! Memory of large objects that have died: it goes back to the system in steps.
//!
//! The system takes some 50 µs for each MiB of written pages, so the run of a dead array of 1 GiB would stop the program
//! for 50 ms. A run of more than `STEP_BLOCKS` waits here instead, and slices give back a step of its end at a time. What
//! a step gives back is free for the next large object at once. `[BOUND]`
//!
//! The waiting memory is bounded: the allocation of a large object gives back a step of it, and all that exceeds half of
//! the other blocks in use, or `LEAVING_FREELY`. An explicit collection gives everything back, and so does a heap
//! whose limit is reached.

mod in_turn;

use crate::memory::block_source;
use crate::memory::list::List;
use crate::memory::range::UNLOGGED;
use crate::turn::LastTurn;

/// Blocks that go back in one step: 1 MiB.
pub(crate) const STEP_BLOCKS: u32 = 32;
/// Units of work for each block: a MiB costs as much as 256 references that are not in the cache.
pub const BLOCK_UNITS: i64 = 8;
/// Units of work for each run that goes back at once: two system calls, which take 5 µs and more.
const RUN_UNITS: i64 = 128;
/// As many blocks may wait in any heap: 32 MiB.
pub(crate) const LEAVING_FREELY: u64 = 1024;

/// The blocks of a large object that has died. Of its tables only the unlogged bits may still be set.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The first block.
    pub first: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// So many of them, from the first, may have unlogged bits.
    pub armed: u32,
}

impl Run {
    /// Gives the last blocks back, `count` at most.
    fn give_end_back(&mut self, count: u32) -> u32 {
        let count = count.min(self.blocks);
        self.blocks -= count;
        let start = self.first + self.blocks;
        if self.armed > self.blocks {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { UNLOGGED.zero_blocks(start, self.armed - self.blocks) };
            self.armed = self.blocks;
        }
        // SAFETY: [OWNED] the block is this heap's, and holds nothing.
        unsafe { block_source::give_back(start, count) };
        count
    }
}

/// The memory of dead large objects that is on its way back to the system.
#[derive(Debug, Default)]
pub struct Leaving {
    runs: List<Run>,
    blocks: u64,
    /// Units of work that runs have cost which went back at once, since [`take_units`](Self::take_units).
    units: i64,
    /// Prompt plan.
    last_turn: LastTurn,
}

impl Leaving {
    /// Takes a run over: it waits, or goes back at once if it is short, or if there is no memory to note it. `[MEMORY]`
    pub fn add(&mut self, mut run: Run) {
        if run.blocks > STEP_BLOCKS && self.runs.try_push(run) {
            self.blocks += u64::from(run.blocks);
        } else {
            self.units += RUN_UNITS + i64::from(run.give_end_back(run.blocks)) * BLOCK_UNITS;
        }
    }

    /// Takes over a run that no object has needed for a while: it waits, however short it is.
    pub(crate) fn add_idle(&mut self, run: Run) {
        if self.runs.try_push(run) {
            self.blocks += u64::from(run.blocks);
        } else {
            self.add(run);
        }
    }

    /// Units of work that runs have cost which went back at once, since this was last called.
    pub fn take_units(&mut self) -> i64 {
        std::mem::take(&mut self.units)
    }

    /// Number of blocks that wait.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Gives one step back; the units of work that this cost, 0 when nothing waits.
    pub(crate) fn give_step_back(&mut self) -> i64 {
        let Some(run) = self.runs.last_mut() else { return 0 };
        let count = run.give_end_back(STEP_BLOCKS);
        let of_run = if run.blocks == 0 { RUN_UNITS } else { 0 };
        if run.blocks == 0 {
            self.runs.pop();
        }
        self.blocks -= u64::from(count);
        i64::from(count) * BLOCK_UNITS + of_run
    }

    /// Gives steps back for about `units` of work; the units left.
    pub fn give_back(&mut self, mut units: i64) -> i64 {
        while units > 0 && self.blocks != 0 {
            units -= self.give_step_back();
        }
        units
    }

    /// Gives blocks back until at most `blocks` wait.
    pub(crate) fn shrink_to(&mut self, blocks: u64) {
        while self.blocks > blocks {
            self.give_step_back();
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        while let Some(mut run) = self.runs.pop() {
            run.give_end_back(run.blocks);
        }
    }
}
