//! Whether marks in slices are cheaper than counts, where marks are too long to stop the program.
//!
//! ```text
//!   a mark     costs what lives,      and is due when as much has been allocated as lives
//!   counts     cost what survives its first flip, and what is written to,      whatever lives
//! ```
//!
//! A heap that counts knows the cost of its last epochs, and expects that of a mark. A heap that marks knows the cost of its last
//! mark and how many objects have survived their first; what one of them would cost it has learnt while it counted. While a
//! heap grows, what is promoted stays, and marks seem cheap because little lives; so they must be cheaper by far then.

use super::Marking;
use crate::plan::deferred::DeferredDriver;
use tally_heap::Heap;

/// Larger heaps count: a mark ends with a step that goes through all blocks. `[BOUND]`
const MARKED_BYTES_MAX: u64 = 48 << 20;
/// A log entry or an object that is promoted, where slices have a fixed number of units and no clock is looked at.
const ITEM_NS: f64 = 40.0;
/// It costs no more, with the death that follows: what the clock shows beyond is the time of other processes.
const ITEM_NS_MAX: f64 = 150.0;
/// A heap that counts marks if that is expected to cost so many times as much at most: the program gains as well, because its heap
/// is smaller.
const AS_CHEAP: f64 = 1.5;
/// The same while next to nothing of what was promoted has died.
const CHEAPER_BY_FAR: f64 = 0.5;
/// A heap that marks counts if that costs so many times less, by so many marks one after the other.
const DEAR: f64 = 2.5;
const DEAR_MARKS: u32 = 2;

/// The costs of the last epochs of a heap that counts; an older one weighs half as much.
#[derive(Debug, Default)]
pub(super) struct Counted {
    ns: f64,
    bytes: f64,
    promoted: f64,
    freed: f64,
    /// The counters at the last flip: of its cost, of log entries and objects promoted, of the latter, and of those that died mature.
    at_flip: [u64; 4],
}

impl Counted {
    /// A flip is due.
    fn note_flip(&mut self, heap: &Heap) {
        let statistics = &heap.statistics;
        let items = statistics.promoted_objects + statistics.log_entries;
        let now = [statistics.pause_ns_total, items, statistics.promoted_objects, statistics.freed_mature_objects];
        let [ns, items, promoted, freed] = std::array::from_fn(|at| now[at].saturating_sub(self.at_flip[at]) as f64);
        let cost = match heap.options().slice_units {
            Some(_) => items * ITEM_NS,
            None => ns.min(items * ITEM_NS_MAX),
        };
        *self = Counted {
            ns: self.ns / 2.0 + cost,
            bytes: self.bytes / 2.0 + heap.clock.given_bytes as f64,
            promoted: self.promoted / 2.0 + promoted,
            freed: self.freed / 2.0 + freed,
            at_flip: now,
        };
    }

    /// Nothing is known of the epochs before.
    fn begin(&mut self, heap: &Heap) {
        self.note_flip(heap);
        *self = Counted { at_flip: self.at_flip, ..Counted::default() };
    }
}

impl DeferredDriver {
    /// A flip is due in a heap that counts.
    pub(super) fn note_counted(&mut self, heap: &Heap) {
        self.marking.counted.note_flip(heap);
    }

    /// Whether marks in slices would cost hardly more than counts have.
    pub(super) fn marks_are_cheap(&mut self, heap: &Heap) -> bool {
        let marking = &mut self.marking;
        let Counted { ns, bytes, promoted, freed, .. } = marking.counted;
        if promoted > 0.0 {
            marking.ns_per_promoted = (ns / promoted).clamp(20.0, 1000.0);
        }
        let between = heap.statistics.live_bytes.max(heap.options().epoch_bytes) as f64;
        let mark_ns = marking.expected_ns(heap, heap.statistics.live_objects) * bytes / between;
        let times = if 2.0 * freed >= promoted { AS_CHEAP } else { CHEAPER_BY_FAR };
        heap.statistics.live_bytes <= MARKED_BYTES_MAX && mark_ns < times * ns
    }
}

impl Marking {
    /// A mark in slices has ended, which took so many units. Returns whether the heap is to count from here on.
    pub(super) fn counts_are_cheaper(&mut self, heap: &Heap, units: u64) -> bool {
        let statistics = &heap.statistics;
        let cell = statistics.live_bytes / statistics.live_objects.max(1);
        let aged = heap.bump.aged_bytes / cell.max(1);
        let (mark_ns, counts_ns) = (units as f64 * self.unit_ns(heap), aged as f64 * self.ns_per_promoted);
        self.dear = if mark_ns > DEAR * counts_ns { self.dear + 1 } else { 0 };
        statistics.live_bytes > MARKED_BYTES_MAX || self.dear >= DEAR_MARKS
    }

    /// The heap counts from here on.
    pub(super) fn begin_counting(&mut self, heap: &Heap) {
        (self.in_slices, self.dear) = (false, 0);
        self.counted.begin(heap);
    }
}
