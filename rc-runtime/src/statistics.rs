//! Counters of one heap. Plain data; what each key means is said here once, and `docs/running.md` repeats it for users.

/// See the fields. All are totals since the heap was made unless they say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Flips.
    pub epochs: u64,
    /// Longest single stop of the mutator: one slice or one flip, nanoseconds.
    pub pause_ns_max: u64,
    /// All stops together, nanoseconds.
    pub pause_ns_total: u64,
    /// Slices of work.
    pub slices: u64,
    /// Objects allocated (exact up to the last flip; the running epoch's holes are counted when they are retired).
    pub allocated_objects: u64,
    /// Bytes of their cells, headers included.
    pub allocated_bytes: u64,
    /// Objects promoted: survived their first flip.
    pub promoted_objects: u64,
    /// Mature objects freed, by whatever means.
    pub freed_mature_objects: u64,
    /// Objects that died young, never touched.
    pub died_young_objects: u64,
    /// Mature objects now alive.
    pub live_objects: u64,
    /// Bytes of their cells.
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
}

impl Statistics {
    /// Objects freed, young or mature.
    pub fn freed_objects(&self) -> u64 {
        self.freed_mature_objects + self.died_young_objects
    }
}
