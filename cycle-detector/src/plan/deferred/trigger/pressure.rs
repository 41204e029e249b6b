//! How near the bounds are of what accumulates while the program has its turn (`account`). `[BOUND]`
//!
//! | what accumulates | no pressure | full pressure |
//! |---|---|---|
//! | allocation, while the passes of the last flip are not done | three quarters of an epoch | an epoch, and a twelfth of the heap or its growth |
//! | blocks, while the dead wait or a mark runs; and what is expected to die of others | as many as before | the heap's growth |
//! | the heap, while a mark runs | one and a half of what the last one found alive | three times that (`evidence`) |
//!
//! *The heap's growth* is a sixteenth, or a quarter of an epoch if that is more. What lives needs its memory in any case, so
//! blocks are no pressure for it: a program that builds something has its turn meanwhile.

use crate::account::Pressure;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use tally_heap::Heap;

/// An epoch is extended by this part of the heap at most.
const MOST_OF_HEAP: u64 = 12;
/// The part of a heap, and of an epoch, by which it may grow.
const PART_OF_HEAP: u64 = 16;
const PART_OF_EPOCH: u64 = 4;

impl DeferredDriver {
    /// The most of them.
    pub(in crate::plan::deferred::trigger) fn pressure(&mut self, heap: &Heap) -> Pressure {
        let used = heap.used_bytes();
        let waits = self.mark.is_running() || self.has_deaths(heap);
        if !waits && self.phase == Phase::Idle || used < self.trigger.used_before {
            self.trigger.used_before = used;
        }
        let (before, epoch) = (self.trigger.used_before, heap.options().epoch_bytes);
        let room = (before / PART_OF_HEAP).max(epoch / PART_OF_EPOCH);
        let garbage = used - before;
        let garbage = if waits { garbage } else { self.part_that_dies(heap, garbage) };
        let late = match self.phase {
            Phase::Idle => Pressure::NONE,
            _ => {
                let (begins, most) = (heap.flip_at() / 4 * 3, room.max(used / MOST_OF_HEAP));
                Pressure::of(heap.clock.given_bytes.saturating_sub(begins), heap.flip_at() - begins + most)
            }
        };
        late.max(Pressure::of(garbage, room)).max(self.mark.pressure(heap))
    }

    /// The part of so many new bytes that is garbage, if they die as those of the last epoch did.
    fn part_that_dies(&self, heap: &Heap, bytes: u64) -> u64 {
        let report = &self.stops.last_report;
        let cell = heap.statistics.live_bytes / heap.statistics.live_objects.max(1);
        let died = report.given_bytes.saturating_sub(report.promoted.saturating_mul(cell));
        (u128::from(bytes) * u128::from(died) / u128::from(report.given_bytes.max(1))) as u64
    }
}
