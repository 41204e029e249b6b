//! What a heap can be set up with.

use crate::plan::Plan;
use std::time::Instant;

/// How a heap is set up.
#[derive(Debug, Clone)]
pub struct HeapOptions {
    /// When objects are counted and die.
    pub plan: Plan,
    /// Bytes of blocks that must not be exceeded.
    pub heap_limit: Option<u64>,
    /// Bytes allocated between two flips.
    pub epoch_bytes: u64,
    /// Deferred plan: a part of the live bytes instead, where that is more (`plan::bump::room`).
    pub epoch_grows: bool,
    /// Logged objects before a flip is considered for the log's sake.
    pub log_entries: u64,
    /// Longest slice aimed at, nanoseconds.
    pub slice_ns: u64,
    /// Deferred plan: the heap marks instead of counting while a mark takes so many nanoseconds at most; 0: never
    /// (`plan::deferred::marking`).
    pub mark_ns: u64,
    /// Deferred plan: when a larger heap traces instead (`plan::deferred::tracing`).
    pub traces: Traces,
    /// Longest stop that the program asked for. Under the prompt plan only with one are deaths sliced.
    pub pause_goal_ns: Option<u64>,
    /// Run every epoch to its end inside the flip: the reference form of the passes. The default of a build with the
    /// feature `stop-the-world`.
    pub stop_the_world: bool,
    /// Whether candidates are tried at all.
    pub trials: bool,
    /// Start a backup mark at the end of every epoch instead of waiting for evidence: small heaps in tests see one, too.
    pub eager_marks: bool,
    /// Every slice does this many units of work, and the clock decides nothing: a replayed program runs exactly as before.
    pub slice_units: Option<u32>,
    /// Single log entries in a block before the whole block is logged.
    pub block_log_after: u16,
    /// Entries that the mark stack and the candidate buffer may hold: as if there were no memory for more.
    pub list_entries_max: Option<usize>,
    /// A line on standard error for each collection, with its time since then.
    pub log_since: Option<Instant>,
    /// Note which fields close the cycles that are collected (`report::cycles`).
    pub note_cycles: bool,
    /// Count allocated objects by walking retired holes.
    pub count_objects: bool,
    /// Record where objects are allocated: of one for so many bytes on average, or of all with 0 (`services::alloc_site`).
    pub alloc_sites: Option<u64>,
    /// The allocation that finds no room, counted from 1 (`limits`).
    pub fail_allocation: Option<u64>,
    /// An epoch at every safepoint, poison, quarantine, verification.
    pub zeal: bool,
    /// How many objects zeal may look at for each epoch, on average.
    pub zeal_looks: usize,
}

/// When a heap of the deferred plan traces: it collects by marks in slices instead of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traces {
    /// It counts whenever it does not mark.
    Never,
    /// While counting costs it more.
    WhereItPays,
    /// It takes turns, whatever that costs: for tests. So many collections are between two times of counting.
    ByTurns(u32),
}

/// [`HeapOptions::zeal_looks`] of a program's heap: looks at 64 objects cost about what the rest of an epoch does.
pub const ZEAL_LOOKS: usize = 64;

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions {
            plan: Plan::Deferred,
            heap_limit: None,
            epoch_bytes: 8 << 20,
            epoch_grows: false,
            log_entries: 256 << 10,
            slice_ns: 500_000,
            mark_ns: 0,
            traces: Traces::Never,
            pause_goal_ns: None,
            stop_the_world: cfg!(feature = "stop-the-world"),
            trials: true,
            eager_marks: false,
            slice_units: None,
            block_log_after: 64,
            list_entries_max: None,
            log_since: None,
            note_cycles: false,
            count_objects: true,
            alloc_sites: None,
            fail_allocation: None,
            zeal: false,
            zeal_looks: usize::MAX,
        }
    }
}

/// [`HeapOptions::mark_ns`] of a program's heap.
pub const MARK_NS: u64 = 1_000_000;

/// Nanoseconds of a mark for a unit of its work, where slices have a fixed number of units.
pub const MARK_NS_PER_UNIT: u64 = 8;

impl HeapOptions {
    /// How long a mark may stop a heap that marks instead of counting: half of a pause goal, because the heap begins
    /// to count in the same stop if the mark has not come to its end.
    pub fn mark_bound_ns(&self) -> u64 {
        self.mark_ns.min(self.pause_goal_ns.map_or(u64::MAX, |goal| goal / 2))
    }

    /// The same in units, where slices have a fixed number of them.
    pub fn mark_bound_units(&self) -> u64 {
        self.mark_bound_ns() / MARK_NS_PER_UNIT
    }

    /// The rules that hold in a heap at first. Zeal watches counts.
    pub(crate) fn first_regime(&self) -> Plan {
        match self.plan {
            Plan::Deferred if self.mark_ns != 0 && !self.zeal => Plan::Trace,
            plan => plan,
        }
    }
}
