//! How near the bounds are of what accumulates while the program has its turn (`account`). `[BOUND]`
//!
//! | what accumulates | no pressure | full pressure |
//! |---|---|---|
//! | allocation, while the passes of the last flip are not done | three quarters of an epoch | an epoch, and a twelfth of the heap or its growth |
//! | blocks, while the dead wait or a mark runs; and what is expected to die of others | as many as before | the heap's growth |
//! | the heap, while a mark runs | one and a half of what the last one found alive | three times that (`evidence`) |
//!
//! *The heap's growth* is a sixteenth, or a quarter of an epoch if that is more. It is *wide* where the work of the last epoch leaves
//! the program its turns, and where the heap is no larger than its objects and an epoch explain: the epoch is then the one that has grown
//! with the heap, its first half is no pressure, and nor are the passes before the next flip is due. Elsewhere the program would have
//! hardly more of its worst 20 ms, and the heap would grow. What lives needs its memory in any case, so
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
        let before = self.trigger.used_before;
        let room = self.room(heap, before);
        let garbage = used - before;
        let garbage = if waits { garbage } else { self.part_that_dies(heap, garbage) };
        let late = match self.phase {
            Phase::Idle => Pressure::NONE,
            _ => room.pressure_of_lateness(heap.clock.given_bytes, heap.flip_at(), used),
        };
        late.max(room.pressure_of(garbage)).max(self.mark.pressure(heap))
    }

    /// The room of a heap that had so many bytes in use.
    fn room(&self, heap: &Heap, before: u64) -> Room {
        let is_wide = self.trigger.leaves_turns && !heap.is_larger_than_explained();
        let epoch = if is_wide { heap.epoch_bytes() } else { heap.options().epoch_bytes };
        Room { bytes: (before / PART_OF_HEAP).max(epoch / PART_OF_EPOCH), is_wide }
    }

    /// The part of so many new bytes that is garbage, if they die as those of the last epoch did.
    fn part_that_dies(&self, heap: &Heap, bytes: u64) -> u64 {
        let report = &self.tracer.stops.last_report;
        let cell = heap.statistics.live_bytes / heap.statistics.live_objects.max(1);
        let died = report.given_bytes.saturating_sub(report.promoted.saturating_mul(cell));
        (u128::from(bytes) * u128::from(died) / u128::from(report.given_bytes.max(1))) as u64
    }
}

/// The heap's growth.
#[derive(Debug, Clone, Copy)]
struct Room {
    bytes: u64,
    is_wide: bool,
}

impl Room {
    fn pressure_of(self, garbage: u64) -> Pressure {
        let free = if self.is_wide { self.bytes / 2 } else { 0 };
        Pressure::of(garbage.saturating_sub(free), self.bytes - free)
    }

    /// The passes are not done, and `given` bytes of an epoch were allocated which flips at `flip_at`.
    fn pressure_of_lateness(self, given: u64, flip_at: u64, used: u64) -> Pressure {
        let begins = if self.is_wide { flip_at } else { flip_at / 4 * 3 };
        Pressure::of(given.saturating_sub(begins), flip_at - begins + self.bytes.max(used / MOST_OF_HEAP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use crate::plan::deferred::DeferredDriver;
    use tally_heap::HeapOptions;

    const MIB: u64 = 1 << 20;

    /// In sixteenths of the room: half of a wide one is the program's, and an epoch of it.
    #[test]
    fn wide_room_begins_to_press_when_half_of_it_is_used() {
        for (is_wide, garbage, pressure) in
            [(false, 0, 0), (false, 4, 4), (false, 16, 16), (true, 8, 0), (true, 12, 8), (true, 16, 16), (true, 99, 16)]
        {
            let room = Room { bytes: 16, is_wide };
            assert_eq!(room.pressure_of(garbage), Pressure::of(pressure, 16), "{garbage} {is_wide}");
        }
        for (is_wide, given, pressure) in [(false, 48, 0), (false, 56, 4), (true, 64, 0), (true, 72, 8), (true, 80, 16)]
        {
            let room = Room { bytes: 16, is_wide };
            assert_eq!(room.pressure_of_lateness(given, 64, 0), Pressure::of(pressure, 16), "{given} {is_wide}");
        }
    }

    /// Where the collector needs more than its part of the time, room would be used up for nothing; where a heap is too large for its
    /// objects, what is allocated meanwhile stays with it.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn grown_epochs_have_a_wide_room_where_turns_suffice_and_the_heap_is_no_larger_than_its_objects() {
        let options = HeapOptions { epoch_grows: true, ..HeapOptions::default() };
        // SAFETY: [HELD] nothing is allocated.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let mut driver = DeferredDriver::default();
        let heap = mutator.heap();
        for (live, leaves_turns, room) in [(0, true, 2), (256, true, 8), (256, false, 2), (0, false, 2)] {
            heap.statistics.live_bytes = live * MIB;
            driver.trigger.leaves_turns = leaves_turns;
            let found = driver.room(heap, 0);
            assert_eq!((found.bytes, found.is_wide), (room * MIB, leaves_turns), "{live} {leaves_turns}");
            assert_eq!(driver.room(heap, 640 * MIB).bytes, 40 * MIB);
        }
    }
}
