//! The heap gives memory back: in its turn, for the length of a slice, or as much as a large object needs. `[BOUND]`

use super::Leaving;
use crate::heap::Heap;
use crate::memory::range::BLOCK_BYTES;
use crate::turn::LastTurn;
use std::time::{Duration, Instant};

impl Heap {
    /// Gives memory back for the length of a slice, if the program has had as much time for itself since the last such turn:
    /// at the end of a drain (prompt), or when a block is taken (trace). `[BOUND]`
    #[cold]
    pub fn give_back_in_turn(&mut self) {
        if let Some(units) = self.options.slice_units {
            _ = self.large.leaving.give_back(units.into());
            return;
        }
        if self.large.leaving.last_turn.program_had_its_own() {
            self.give_back_for(self.options.slice_ns);
        }
    }

    /// Gives memory back for about `ns` nanoseconds, one step at least.
    pub(crate) fn give_back_for(&mut self, ns: u64) {
        let slice = Duration::from_nanos(ns);
        self.stop_to_give_back(|leaving, start| while leaving.give_step_back() != 0 && start.elapsed() < slice {});
    }

    /// Before a large object of `blocks` blocks is taken: gives back what may not wait any longer.
    #[inline(always)]
    pub(crate) fn give_excess_back(&mut self, blocks: u32) {
        if self.large.leaving.blocks() != 0 {
            let excess = self.large.leaving_in_excess(blocks, self.kept_bytes() / BLOCK_BYTES);
            self.give_back_down_to(self.large.leaving.blocks() - excess);
        }
    }

    /// Whether the heap limit allows `bytes` of blocks more, once as much of what waits has gone back as that takes.
    pub(crate) fn makes_room(&mut self, bytes: u64) -> bool {
        if !self.allows(bytes) && self.large.leaving.blocks() != 0 {
            let excess = self.used_bytes().saturating_add(bytes) - self.options.heap_limit.unwrap_or(u64::MAX);
            let waiting = self.large.leaving.blocks();
            self.give_back_down_to(waiting.saturating_sub(excess.div_ceil(BLOCK_BYTES)));
        }
        self.allows(bytes)
    }

    /// Gives everything back that dead large objects have left. A collection that was asked for ends so.
    pub fn give_all_back(&mut self) {
        self.large.spares.give_back();
        self.give_back_down_to(0);
    }

    /// Gives memory back until at most `blocks` blocks wait.
    pub(crate) fn give_back_down_to(&mut self, blocks: u64) {
        self.stop_to_give_back(|leaving, _| leaving.shrink_to(blocks));
    }

    #[cold]
    pub(in crate::memory::leaving) fn stop_to_give_back(&mut self, work: impl FnOnce(&mut Leaving, Instant)) {
        if self.large.leaving.blocks == 0 {
            return;
        }
        let start = Instant::now();
        work(&mut self.large.leaving, start);
        let took = start.elapsed();
        self.large.leaving.last_turn = LastTurn::of(start, took);
        self.statistics.slices += 1;
        self.note_stop(start, took.as_nanos() as u64);
    }
}
