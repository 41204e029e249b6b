//! Counters of one heap. Plain data; what each key means is said here once, and `docs/use/running.md` repeats it for users.

use crate::report::histogram::Histogram;
use crate::report::utilisation::Utilisation;

/// See the fields. All are totals since the heap was made unless they say otherwise. `tally.h` has the same fields in the same
/// order, which is asserted below.
#[repr(C)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Flips.
    pub epochs: u64,
    /// Longest single stop of the mutator: one slice or one flip, nanoseconds.
    pub pause_ns_max: u64,
    /// All stops together, nanoseconds.
    pub pause_ns_total: u64,
    /// Slices of work.
    pub slices: u64,
    /// Objects allocated. The deferred plan counts them when a hole is retired, if `HeapOptions::count_objects` says so.
    pub allocated_objects: u64,
    /// Bytes of their cells, headers included.
    pub allocated_bytes: u64,
    /// Objects promoted: survived their first flip.
    pub promoted_objects: u64,
    /// Mature objects freed, by whatever means.
    pub freed_mature_objects: u64,
    /// Objects that died young, never touched.
    pub died_young_objects: u64,
    /// Objects that are not known to be dead, as of the question: those allocated, less those freed. Inside a heap of the
    /// deferred plan, and of `Mutator`: mature ones.
    pub live_objects: u64,
    /// Bytes of their cells: of mature objects and of those allocated since the last flip.
    pub live_bytes: u64,
    /// Objects entered into the candidate buffer.
    pub candidates: u64,
    /// Trials run.
    pub trial_runs: u64,
    /// References followed by trials.
    pub trial_edges: u64,
    /// Objects freed as members of garbage cycles, by trial or mark.
    pub cyclic_garbage_objects: u64,
    /// Backup marks started.
    pub marks: u64,
    /// Backup marks given up.
    pub marks_aborted: u64,
    /// Managed frames walked.
    pub frames_walked: u64,
    /// Root slots read, empty ones included.
    pub roots_walked: u64,
    /// Objects and array chunks logged.
    pub log_entries: u64,
    /// Blocks logged as a whole.
    pub blocks_logged: u64,
    /// Bytes of blocks in use, as of the question.
    pub used_bytes: u64,
    /// Bytes that objects own outside the heap, as of the question.
    pub external_bytes: u64,
    /// Stops of the mutator.
    pub pauses: u64,
    /// How long they were, nanoseconds: `pauses` in all.
    pub pause_histogram: Histogram,
    /// Cells that `allocated_objects` counts, by bytes.
    pub size_histogram: Histogram,
    /// Part of `pause_ns_total` that trials took. Deferred plan.
    pub trial_ns: u64,
    /// The same of backup marks, with the frees that they cause. Deferred plan.
    pub mark_ns: u64,
    /// Units of work, about a reference each, that backup marks did. Deferred plan.
    pub mark_units: u64,
    /// Most units of work that one slice did. Deferred plan.
    pub slice_units_max: u64,
    /// Most managed frames walked at once: by a flip, a step of a slice, or a return to a frame that was not walked
    /// yet. Deferred plan.
    pub frames_at_once_max: u64,
    /// Least part of any 5 ms that the mutator had for itself, in thousandths, rounded down; see `utilisation`.
    pub utilisation_5ms_min: u64,
    /// The same of any 20 ms.
    pub utilisation_20ms_min: u64,
    /// The same of any 100 ms.
    pub utilisation_100ms_min: u64,
    /// Objects freed, young or mature, as of the question.
    pub freed_objects: u64,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(offset_of!(Statistics, pause_ns_max) == 8);
    assert!(offset_of!(Statistics, allocated_objects) == 32);
    assert!(offset_of!(Statistics, freed_mature_objects) == 56);
    assert!(offset_of!(Statistics, live_objects) == 72);
    assert!(offset_of!(Statistics, marks) == 120);
    assert!(offset_of!(Statistics, blocks_logged) == 160);
    assert!(offset_of!(Statistics, used_bytes) == 168);
    assert!(offset_of!(Statistics, pause_histogram) == 192);
    assert!(offset_of!(Statistics, trial_ns) == 192 + 2 * size_of::<Histogram>());
    assert!(offset_of!(Statistics, utilisation_5ms_min) == 192 + 2 * size_of::<Histogram>() + 40);
    assert!(size_of::<Statistics>() == 192 + 2 * size_of::<Histogram>() + 72);
};

impl Statistics {
    /// The counters of a heap that has done nothing: the mutator has had all the time.
    pub fn at_first() -> Statistics {
        let [utilisation_5ms_min, utilisation_20ms_min, utilisation_100ms_min] = Utilisation::default().least();
        Statistics { utilisation_5ms_min, utilisation_20ms_min, utilisation_100ms_min, ..Statistics::default() }
    }

    /// Objects freed, young or mature.
    pub fn freed_objects(&self) -> u64 {
        self.freed_mature_objects + self.died_young_objects
    }

    /// The mutator was stopped once.
    pub(crate) fn note_pause(&mut self, ns: u64) {
        self.pauses += 1;
        self.pause_ns_total += ns;
        self.pause_ns_max = self.pause_ns_max.max(ns);
        self.pause_histogram.add(ns, 1);
    }

    /// Objects were allocated in cells of `bytes` bytes.
    #[inline(always)]
    pub fn note_births(&mut self, bytes: u64, objects: u64) {
        self.allocated_objects += objects;
        self.allocated_bytes += objects * bytes;
        self.size_histogram.add(bytes, objects);
    }
}
