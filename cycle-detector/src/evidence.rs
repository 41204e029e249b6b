//! Whether a backup mark would pay: evidence against growth.
//!
//! A mark visits the live heap, and may free nothing. *Suspects* (candidates that trials did not decide, references to
//! stuck counts that went away) say that there may be something; what one of them was worth is learned from each mark.
//! The more they promise, the less the heap must have grown before a mark is started.
//!
//! Both are bounded, and so is garbage:
//!
//! ```text
//! due, given any evidence at all:   growth    >  base × ½ … GROWTH_MAX  +  one epoch
//!                             or    turnover  >  (live + one epoch) × TURNOVER × 1 … 8
//! ```
//!
//! *Base* is what the last mark found alive, without what was born while it ran, or half of the live heap when there was
//! no evidence at all, at least an epoch; *turnover* the bytes allocated and logged since. The first bounds the memory:
//! garbage that no trial finds is less than [`GROWTH_MAX`] times the live heap and an epoch when a mark begins, and the
//! allocation until it ends comes on top: [`GARBAGE_MAX`] in all. The second bounds the time for which garbage stays that
//! came into being without growth, when one large structure is dropped. A mark that finds nothing costs little by both:
//! one for a heap several times as large as at the last, or one in a turnover of many heaps.

use tally_heap::Heap;

/// Growth since the last mark, in times of the live heap then, at which any evidence is enough.
pub const GROWTH_MAX: u64 = 8;
/// Turnover since the last mark, in times of the live heap, after which any evidence is enough; up to eight times as
/// much when it is weak, or marks find little.
pub const TURNOVER: u64 = 16;
/// Cyclic garbage in times of the live heap, or of an epoch if that is more, at most; not counting three epochs' allocation.
pub const GARBAGE_MAX: u64 = 10;
/// Turnover of a log entry: a small object and its death.
const BYTES_PER_ENTRY: u64 = 64;
/// The most growth that marks which find little ask for, in halves, and the largest factor of [`TURNOVER`].
pub(crate) const HALVES_MAX: u64 = 8;
/// Marks in a row that may be given up because counting frees enough.
const ABORTED_MAX: u32 = 2;

/// Epochs after a mark in which the objects die that it has let go of: the log has them first.
const EPOCHS_OF_DEATHS: u32 = 2;

/// The evidence for a mark.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// Bytes that were alive after the last mark, or half of those when every candidate was decided.
    base: u64,
    /// Bytes allocated, and entries logged as bytes, since then.
    turnover: u64,
    /// Bytes that one suspect turned out to be worth, averaged.
    yield_per_suspect: f64,
    /// Suspects and turnover that the running mark was started for.
    suspects_at_start: u64,
    turnover_at_start: u64,
    /// Bytes of objects that were alive, or thought so, when it began.
    live_at_start: u64,
    /// Marks given up since the last that was not.
    aborted: u32,
    /// If that is more than the base, growth begins there, although it is no base for what is too much: bytes that were not known to
    /// be dead when the last mark was given up, if one was since the last that was not; else the base and what the last mark found to
    /// go with keys when finalizers have run.
    start: u64,
    /// Epochs that have ended since the last mark, of the first few.
    epochs_after_mark: u32,
}

impl Default for Evidence {
    fn default() -> Self {
        Evidence {
            base: 0,
            turnover: 0,
            yield_per_suspect: 2048.0,
            suspects_at_start: 0,
            turnover_at_start: 0,
            live_at_start: 0,
            aborted: 0,
            start: 0,
            epochs_after_mark: EPOCHS_OF_DEATHS,
        }
    }
}

impl Evidence {
    /// An epoch has ended that allocated and logged so much. If every candidate until then was decided, there is no
    /// garbage: the live heap has grown by rights. Half of it is assumed to stay: some may be dropped with
    /// the next candidate.
    pub(crate) fn note_epoch(&mut self, heap: &Heap, doubts: u64, (given_bytes, log_entries): (u64, u64)) {
        self.turnover = self.turnover.saturating_add(given_bytes).saturating_add(log_entries * BYTES_PER_ENTRY);
        if self.epochs_after_mark < EPOCHS_OF_DEATHS {
            self.epochs_after_mark += 1;
            self.base = self.base.min(needed_bytes(heap));
        }
        if heap.suspects + doubts == 0 && heap.candidates.is_empty() {
            (self.base, self.turnover) = (self.base.max(needed_bytes(heap) / 2), 0);
        }
    }

    /// Whether a mark is due; `doubts` are weaker than suspects: see `Trials::doubts`.
    pub(crate) fn is_enough(&self, heap: &Heap, doubts: u64) -> bool {
        if heap.suspects + doubts == 0 {
            return false;
        }
        let (live, epoch) = (needed_bytes(heap), heap.options().epoch_bytes);
        let worth = heap.suspects as f64 * self.yield_per_suspect;
        // Growth asked for, in halves of `base`.
        let halves = if worth > live as f64 / 4.0 {
            1
        } else if worth > live as f64 / 64.0 {
            4
        } else if worth > live as f64 / 1024.0 {
            8
        } else {
            2 * GROWTH_MAX
        };
        let base = self.base.max(self.start).max(epoch);
        let grown = live > base.saturating_add((base / 2).saturating_mul(halves)).saturating_add(epoch);
        let turned_over = self.turnover / (TURNOVER * halves.min(HALVES_MAX)) > live.saturating_add(epoch);
        grown || turned_over
    }

    /// Whether the heap has grown so far that a mark begins given any evidence, whatever else it could wait for.
    pub(crate) fn is_pressing(&self, heap: &Heap) -> bool {
        let epoch = heap.options().epoch_bytes;
        needed_bytes(heap) > self.base.max(epoch).saturating_mul(GROWTH_MAX + 1).saturating_add(epoch)
    }

    /// Whether the heap has grown so far that a mark which is running must hurry: the allocation until it ends would exceed
    /// [`GARBAGE_MAX`]. A mark may have begun at [`GROWTH_MAX`] only, so this is halfway between the two.
    pub(crate) fn is_overdue(&self, heap: &Heap) -> bool {
        let epoch = heap.options().epoch_bytes;
        let base = self.base.max(epoch);
        let grown = base.saturating_mul((GROWTH_MAX + GARBAGE_MAX) / 2 + 1);
        live_bytes(heap) > grown.saturating_add(epoch)
    }

    /// A mark begins.
    pub(crate) fn note_start(&mut self, heap: &Heap, suspects: u64) {
        (self.suspects_at_start, self.turnover_at_start) = (suspects, std::mem::take(&mut self.turnover));
        self.live_at_start = heap.statistics.live_bytes;
    }

    /// Whether a mark may be given up.
    pub(crate) fn may_abort(&self) -> bool {
        self.aborted < ABORTED_MAX
    }

    /// The mark is given up: its suspects, to be counted again.
    pub(crate) fn note_abort(&mut self, heap: &Heap) -> u64 {
        self.aborted += 1;
        self.start = needed_bytes(heap);
        self.turnover = self.turnover.saturating_add(self.turnover_at_start);
        self.suspects_at_start
    }

    /// The mark has freed so many bytes, and found so many that will be dead when finalizers have run, and so many of `entries` whose
    /// keys are among those. These are as good as freed: with them taken for alive, what the next mark allowed for grew with each. So
    /// it did with what was born while the mark ran: that is alive for the mark, whatever has become of it, and may be most of the heap
    /// where marks are slow (those of large maps are). The base is what the mark has judged.
    pub(crate) fn learn(&mut self, heap: &Heap, freed: u64, awaited: u64, entries: u64) {
        let objects = heap.statistics.live_bytes;
        let live = objects.saturating_sub(heap.dead_entry_bytes()).saturating_sub(awaited + entries);
        let unjudged = (objects + freed).saturating_sub(self.live_at_start);
        let freed = freed.saturating_add(awaited);
        // These are bytes of objects: what the mark has judged has as many records as others, on average.
        let with_records = |bytes: u64| (bytes as f64 * live_bytes(heap) as f64 / objects.max(1) as f64) as u64;
        self.base = with_records(live.saturating_sub(unjudged));
        self.start = self.base + with_records(entries);
        (self.aborted, self.epochs_after_mark) = (0, 0);
        let worth = freed as f64 / self.suspects_at_start.max(1) as f64;
        self.yield_per_suspect = (self.yield_per_suspect + worth) / 2.0;
    }
}

/// Bytes of objects not known to be dead, and of the records of special objects: these may take as much as the objects.
fn live_bytes(heap: &Heap) -> u64 {
    heap.statistics.live_bytes + heap.services.specials.used_bytes()
}

/// The same without dead entries of weak maps.
fn needed_bytes(heap: &Heap) -> u64 {
    live_bytes(heap).saturating_sub(heap.dead_entry_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use tally_heap::HeapOptions;

    /// The formula above, with evidence that promises nothing and with evidence that promises much.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn marks_are_due_by_growth_or_turnover() {
        const MIB: u64 = 1 << 20;
        let options = HeapOptions { epoch_bytes: MIB, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let heap = mutator.heap();
        heap.suspects = 1;
        for (promised, live, turnover, enough) in [
            (0.0, 91, 0, false),
            (0.0, 92, 0, true),
            (0.0, 10, 11 * TURNOVER * 8, false),
            (0.0, 10, 11 * TURNOVER * 8 + 129, true),
            (1e12, 16, 0, false),
            (1e12, 17, 0, true),
            (1e12, 10, 11 * TURNOVER, false),
            (1e12, 10, 12 * TURNOVER, true),
        ] {
            heap.statistics.live_bytes = live * MIB;
            let evidence = Evidence {
                base: 10 * MIB,
                turnover: turnover * MIB,
                yield_per_suspect: promised,
                ..Evidence::default()
            };
            assert_eq!(evidence.is_enough(heap, 0), enough, "{promised} {live} {turnover}");
        }
        heap.suspects = 0;
        heap.statistics.live_bytes = 1 << 40;
        assert!(!Evidence::default().is_enough(heap, 0), "nothing at all speaks for one");
    }

    /// What was born while a mark ran is alive for it, but not judged: the next one does not wait until the heap is several
    /// times as large as both.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn what_is_born_while_a_mark_runs_is_no_base() {
        const MIB: u64 = 1 << 20;
        let options = HeapOptions { epoch_bytes: MIB, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let heap = mutator.heap();
        for (grown, enough) in [(0, false), (30, true)] {
            let mut evidence = Evidence { yield_per_suspect: 0.0, ..Evidence::default() };
            heap.statistics.live_bytes = 20 * MIB;
            evidence.note_start(heap, 1);
            // It frees 12 MiB.
            heap.statistics.live_bytes = (8 + grown) * MIB;
            evidence.learn(heap, 12 * MIB, 0, 0);
            heap.suspects = 1;
            assert_eq!(evidence.base, 8 * MIB);
            assert_eq!(evidence.is_enough(heap, 0), enough, "grown by {grown} MiB");
        }
    }

    /// Objects that a mark has let go of die by counting in the epochs after it: what counting frees then was no living heap.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn deaths_in_the_epochs_after_a_mark_are_no_base() {
        const MIB: u64 = 1 << 20;
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(HeapOptions::default()) }.expect("address space");
        let heap = mutator.heap();
        let mut evidence = Evidence::default();
        heap.suspects = 1;
        heap.statistics.live_bytes = 60 * MIB;
        evidence.note_start(heap, 1);
        evidence.learn(heap, 0, 0, 0);
        for (live, base) in [(50, 50), (20, 20), (10, 20), (70, 20)] {
            heap.statistics.live_bytes = live * MIB;
            evidence.note_epoch(heap, 1, (0, 0));
            assert_eq!(evidence.base, base * MIB, "{live} MiB are left");
        }
    }

    /// A mark that was given up has judged nothing: the next waits for growth, but hurries as it would have without that one.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn what_a_mark_that_was_given_up_found_is_no_bound() {
        const MIB: u64 = 1 << 20;
        let options = HeapOptions { epoch_bytes: MIB, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let heap = mutator.heap();
        let mut evidence = Evidence { base: 4 * MIB, yield_per_suspect: 1e12, ..Evidence::default() };
        heap.suspects = 1;
        heap.statistics.live_bytes = 40 * MIB;
        assert!(evidence.is_enough(heap, 0) && !evidence.is_overdue(heap));
        evidence.note_start(heap, 1);
        evidence.note_abort(heap);
        assert!(!evidence.is_enough(heap, 0), "it would be given up again");
        heap.statistics.live_bytes = 62 * MIB;
        assert!(evidence.is_enough(heap, 0) && evidence.is_overdue(heap));
    }

    /// Entries whose keys only finalizers need go with the next mark: it begins when the heap has grown beyond them, and hurries as if
    /// they were dead.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn entries_of_keys_that_finalizers_need_are_no_bound() {
        const MIB: u64 = 1 << 20;
        let options = HeapOptions { epoch_bytes: MIB, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let heap = mutator.heap();
        for (entries, overdue) in [(0, false), (30, true)] {
            let mut evidence = Evidence { yield_per_suspect: 1e12, ..Evidence::default() };
            heap.suspects = 1;
            heap.statistics.live_bytes = 40 * MIB;
            evidence.note_start(heap, 1);
            evidence.learn(heap, 0, 4 * MIB, entries * MIB);
            assert_eq!(evidence.base, (36 - entries) * MIB);
            for (live, enough) in [(55, false), (56, true), (63, true)] {
                heap.statistics.live_bytes = live * MIB;
                assert_eq!(evidence.is_enough(heap, 0), enough, "{live} MiB, {entries} of entries");
            }
            assert_eq!(evidence.is_overdue(heap), overdue, "{entries} MiB of entries");
        }
    }

    /// Records of special objects may take as much as the objects.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn records_are_part_of_the_live_heap() {
        let options = HeapOptions { epoch_bytes: 1 << 10, ..HeapOptions::default() };
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }.expect("address space");
        let without = live_bytes(mutator.heap()) - mutator.heap().statistics.live_bytes;
        let key = mutator.allocate_host(Box::new(())).expect("room");
        let before = live_bytes(mutator.heap()) - mutator.heap().statistics.live_bytes;
        mutator.new_ephemeron(key, None).expect("room");
        let with = live_bytes(mutator.heap()) - mutator.heap().statistics.live_bytes;
        assert_eq!((without, before, with), (0, 24, 24 + 24 + 32), "a record of each, and the slot's link");
    }
}
