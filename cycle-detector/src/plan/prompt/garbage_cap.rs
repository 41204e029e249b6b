//! How much garbage there may be under the prompt plan before a mark is due whatever the evidence says, and how fast a
//! mark in slices must be. `[BOUND]`
//!
//! Evidence says when a mark would pay. Some garbage leaves none: large arrays that hold themselves, and cycles that
//! only roots have released while batches are passed over. So there is a cap, in times of the live heap after the
//! last mark, or of 3 MiB (an epoch, if that is less) if that is more:
//!
//! ```text
//! alive after the last mark │ the cap: a mark begins │ one in slices has ended │ GARBAGE_MAX
//!                              8, or 6 in slices;
//!                              1, and an epoch, after one that paid, and 2, 4 … after the next in vain
//! ```
//!
//! Marks teach how much of the heap's growth is garbage. Where it is most of it, a mark for each doubling frees as much as it
//! visits, and there is never more garbage than that: a document tree of which subtrees with parent pointers were dropped took
//! less than half of the memory, and as much time. Where it is next to nothing, marks become rare.
//!
//! The first marks come early, at 6 and 45 MiB: a program with 2 MiB alive that drops rings larger than any trial had 66 MiB of
//! them before its first mark. A program that only builds something pays for these in vain, and then for one at each ninefold size.
//!
//! A mark that stops the world ends at once. One in slices ends before the program has allocated the next part: each
//! byte allocated pays for a share of its work. While it is behind it does not wait until the program had its turn, so
//! stops come more often and are no longer. Only if that does not suffice, because one allocation is as large as all that
//! may be allocated, is the pause goal given up for the rest of the mark.
//!
//! The cap grows with the live heap, so that marks in vain come at sizes of a geometric series. Objects allocated
//! while a mark in slices runs are unknown to it: they count as garbage, up to three quarters of all. With more, a
//! program that only allocates and frees would start a mark for ever.
//!
//! **Why growth counts, and not what suspects can explain.** A suspect has no worth that is sound and smaller than all
//! growth. A list that grows at its head makes a candidate of each old head that a root held, and a trial of it is cut off
//! somewhere in the list. A trial of a dead ring of a hundred thousand is cut off in the same way, having seen the same. Only
//! a trial that goes to the end tells them apart, and that is as much work as the mark. Nor is a batch that was passed over
//! worth its own bytes: one small ring in it may hold up any structure, which then passes its own trials as alive. What the
//! last mark taught is no bound either: the program may change. So a program that builds one large list pays for
//! one mark in vain at each ninefold size.
//!
//! Cost: a comparison of blocks in use for each round; the exact number of bytes is counted, block by block, only when
//! those exceed the cap, and after a sixteenth of it was allocated.

use crate::evidence::{GARBAGE_MAX, GROWTH_MAX};
use crate::sample::PAYS;
use tally_heap::Heap;

/// Garbage at which a mark begins that stops the world, in times of the live heap after the last; and one in slices. A program that
/// builds one large list pays for them in vain: a mark takes as long as it took to allocate what it visits.
const CAP: u64 = GROWTH_MAX;
const CAP_IN_SLICES: u64 = GARBAGE_MAX - PACED - 1;
/// The bytes that may be allocated while a mark in slices runs.
const PACED: u64 = 3;
/// Part of the cap that is allocated between two exact looks.
const LOOKS: u64 = 16;
/// Units of work that a mark may cost: so many for so many bytes of objects, of the smallest with references in all of their words.
const WORK: (u64, u64) = (5, 8);
/// Parts of the work by which a mark may be behind before the pause goal is given up.
const BEHIND: u64 = 8;

/// Growth that is worth a mark, however little is alive, in bytes: a mark of so much takes a millisecond or two.
const LEAST: u64 = 3 << 20;
/// Growth that is asked for if the first mark was in vain, in times of what was alive.
const AFTER_FIRST: u64 = CAP_IN_SLICES;

const _: () = assert!(CAP < GARBAGE_MAX);

/// A mark was in vain that freed less than this part of the growth since the one before; one that freed half paid.
const IN_VAIN: u64 = PAYS;

/// The quantities of the cap.
#[derive(Debug)]
pub(super) struct GarbageCap {
    /// Garbage at which a mark begins, in times of the live heap, as far as the last marks tell.
    patience: u64,
    /// A mark has paid.
    has_paid: bool,
    /// Bytes of objects when the running mark began.
    live_at_start: u64,
    /// Bytes of objects that were alive after the last mark.
    live: u64,
    /// Bytes that only finalizers needed then: a mark that comes before they have run frees none of them.
    awaited: u64,
    /// Bytes of objects, and bytes allocated in all, when they were counted last.
    counted: Option<(u64, u64)>,
    /// Of the mark in slices that runs.
    pace: Pace,
}

impl Default for GarbageCap {
    fn default() -> Self {
        let (has_paid, live_at_start, live, awaited, counted) = Default::default();
        GarbageCap { patience: 1, has_paid, live_at_start, live, awaited, counted, pace: Pace::default() }
    }
}

/// The work that a mark in slices owes.
#[derive(Debug, Default)]
struct Pace {
    /// Bytes allocated when it began.
    begun_at: u64,
    /// Units that it may take.
    work: u64,
    /// Bytes that may be allocated meanwhile.
    room: u64,
    /// Units done.
    done: u64,
}

/// Whether a mark in slices keeps pace with allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    /// It does.
    None,
    /// Its next slice does not wait for the program.
    Slice,
    /// Neither does the one after that.
    Much,
}

impl GarbageCap {
    /// Whether there may be so much garbage that a mark must begin.
    pub(super) fn is_exceeded(&mut self, heap: &Heap) -> bool {
        let times = if heap.marks_in_slices() { CAP_IN_SLICES } else { CAP };
        let cap = self.bytes(heap, times).min(self.learned(heap));
        if heap.kept_bytes() <= cap {
            return false;
        }
        let allocated = heap.counted_allocated_bytes();
        if let Some((live, before)) = self.counted {
            let since = allocated.saturating_sub(before);
            if live.saturating_add(since) <= cap || since < cap / LOOKS {
                return false;
            }
        }
        let live = heap.counted_live_bytes();
        self.counted = Some((live, allocated));
        live > cap
    }

    /// The cap as far as the last marks tell.
    fn learned(&self, heap: &Heap) -> u64 {
        self.bytes(heap, self.patience).saturating_add(self.awaited + least(heap))
    }

    fn bytes(&self, heap: &Heap, times: u64) -> u64 {
        self.live.saturating_add(self.live.max(least(heap)).saturating_mul(times))
    }

    /// A mark begins.
    pub(super) fn note_start(&mut self, heap: &Heap) {
        self.live_at_start = heap.counted_live_bytes();
    }

    /// A mark in slices begins.
    pub(super) fn begin_pace(&mut self, heap: &Heap) {
        self.note_start(heap);
        let (live, unit) = (self.live_at_start, self.live.max(heap.options().epoch_bytes));
        // Where marks pay, one that takes its time takes memory.
        let room = unit.saturating_mul(PACED.min(1 + self.patience));
        let work = live / WORK.1 * WORK.0 + 1;
        self.pace = Pace { begun_at: heap.counted_allocated_bytes(), work, room: room.max(1), done: 0 };
    }

    /// It has done so much.
    pub(super) fn note_work(&mut self, units: u64) {
        self.pace.done += units;
    }

    /// Whether it should do more now.
    pub(super) fn haste(&self, heap: &Heap) -> Haste {
        let Pace { begun_at, work, room, done } = self.pace;
        let allocated = heap.counted_allocated_bytes().saturating_sub(begun_at);
        let owed = (u128::from(work) * u128::from(allocated) / u128::from(room)) as u64;
        if allocated >= room || owed > done.saturating_add(work / BEHIND) {
            Haste::Much
        } else if owed > done {
            Haste::Slice
        } else {
            Haste::None
        }
    }

    /// A mark has ended, and found so many bytes that only finalizers still need, which will be dead when they have run; of one in
    /// slices nothing is known about objects allocated since it began.
    pub(super) fn note_mark(&mut self, heap: &Heap, in_slices: bool, awaited: u64) {
        let live = heap.counted_live_bytes().saturating_sub(heap.dead_entry_bytes()).saturating_sub(awaited);
        let unknown = match in_slices {
            true => heap.counted_allocated_bytes().saturating_sub(self.pace.begun_at).min(live / 4 * 3),
            false => 0,
        };
        let growth = self.live_at_start.saturating_sub(self.live);
        (self.live, self.awaited, self.counted) = (live - unknown, awaited, None);
        self.learn(growth, self.live_at_start.saturating_sub(self.live));
    }

    /// The last mark has freed so many bytes of so much growth, or will have when finalizers have run.
    fn learn(&mut self, growth: u64, freed: u64) {
        if growth < self.live / IN_VAIN {
            // The program asked for it.
        } else if freed * 2 >= growth {
            (self.patience, self.has_paid) = (1, true);
        } else if !self.has_paid && self.patience == 1 {
            self.patience = AFTER_FIRST;
        } else if freed * IN_VAIN < growth {
            self.patience = if self.has_paid { (2 * self.patience).min(CAP) } else { CAP };
        }
    }
}

/// [`LEAST`], or an epoch.
pub(super) fn least(heap: &Heap) -> u64 {
    heap.options().epoch_bytes.min(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use tally_heap::HeapOptions;
    use tally_heap::plan::Plan;

    const MIB: u64 = 1 << 20;

    /// The sizes at which a program that only builds something has its marks: a geometric series.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn first_marks_come_early_and_are_rare_in_vain() {
        // SAFETY: [HELD] nothing is allocated.
        let mut mutator = unsafe { Mutator::new(HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() }) };
        let heap = mutator.as_mut().expect("address space").heap();
        let mut cap = GarbageCap::default();
        let sizes = [(); 5].map(|()| {
            let size = cap.learned(heap);
            let growth = size - cap.live;
            cap.live = size;
            cap.learn(growth, 0);
            size / MIB
        });
        assert_eq!(sizes, [6, 45, 408, 3675, 33078]);
    }

    #[test]
    fn marks_that_pay_come_with_each_doubling_and_marks_in_vain_become_rare() {
        let mut cap = GarbageCap { live: 8 * MIB, ..GarbageCap::default() };
        let mut patience = |growth, freed| {
            cap.learn(growth * MIB, freed * MIB);
            cap.patience
        };
        assert_eq!(
            [AFTER_FIRST, 8, 8],
            [(80, 0), (80, 9), (80, 39)].map(|(growth, freed)| patience(growth, freed)),
            "in vain, and neither"
        );
        assert_eq!([1, 1, 1], [40, 80, 41].map(|freed| patience(80, freed)), "half of it");
        assert_eq!([2, 4, 8, 8], [9, 0, 9, 9].map(|freed| patience(80, freed)), "less than an eighth");
        assert_eq!([1, 1, 1], [patience(80, 80), patience(0, 0), patience(0, 1)], "the program asked for the others");
    }
}
