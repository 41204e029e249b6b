//! Control: a host may ask a heap's collector to stop, to go on, to do a part of its work now, to work more or less often.
//!
//! *Stopped* means that nothing dies by itself: safepoints do not drain, no epoch begins or goes on, no candidate is tried, so no
//! byte comes back and no finalizer runs. Writes are logged, counted and noted as ever; what became garbage meanwhile is found
//! after [`restart`](Heap::restart). Explicit requests are done all the same, and leave the collector stopped: `collect`,
//! [`step`](Heap::step), and the collection that a heap at its limit needs to go on. (Lua decides so, too: a step of a stopped
//! collector does not start it.)
//!
//! Safepoints pass over the collector as well while it is at work itself (`at_work`).
//!
//! Thresholds take any number; those that make no sense mean the nearest that does.

use crate::at_work::AT_WORK;
use crate::epoch_driver;
use crate::heap::{Heap, HeapEntry};
use crate::memory::range;
use crate::services::collector_mode::CollectorMode;
use std::time::Instant;

/// No epoch comes more often.
pub const EPOCH_BYTES_MIN: u64 = 4096;
/// Units of work between two looks at the clock, and of a step in one block: 0.1 to 0.2 ms where nothing is in the cache.
pub const CHUNK_UNITS: i64 = 1024;
/// No slice is shorter, in nanoseconds.
pub(crate) const SLICE_NS_MIN: u64 = 10_000;

/// Time of a step for a byte of allocation: passes do a unit of work for each four bytes, and that takes eight nanoseconds.
const STEP_NS_PER_BYTE: u64 = 2;

/// Bit of `Heap::stopped`: the program has asked for it.
const BY_PROGRAM: u8 = 1;

impl Heap {
    /// From now on nothing dies by itself.
    pub fn stop(&mut self) {
        self.stopped |= BY_PROGRAM;
    }

    /// Whether a safepoint is to pass over the collector.
    #[inline(always)]
    pub(crate) fn passes_over(&mut self) -> bool {
        if self.stopped & AT_WORK != 0 {
            let anchor = self.work_anchor;
            self.context_mut().set_exit_anchor(anchor);
        }
        self.stopped != 0
    }

    /// Whether the runtime has called a function of the program, and waits for its return.
    #[inline(always)]
    pub fn is_calling_the_program(&self) -> bool {
        self.stopped & AT_WORK != 0 || self.services.finalizers.depth() != 0 || self.limits.calls_host()
    }

    /// Stops the process if the collector is at work: a function that it has called asks for a collection.
    pub(crate) fn refuse_at_work(&self) {
        if self.stopped & AT_WORK != 0 {
            epoch_driver::reentered();
        }
    }

    /// A step as large as the work that the collector owes for `bytes` of allocation.
    pub fn step_bytes(heap: HeapEntry, bytes: u64) -> bool {
        Heap::step(heap, bytes.saturating_mul(STEP_NS_PER_BYTE))
    }

    /// Bytes of the objects that are not known to be dead, with those allocated since the last flip.
    pub fn live_bytes(&mut self) -> u64 {
        self.count_from_now_on();
        self.statistics_with_young().live_bytes
    }

    /// Undoes [`stop`](Self::stop): the next safepoint looks for work.
    pub fn restart(&mut self) {
        self.stopped &= !BY_PROGRAM;
        self.set_poll(true);
    }

    /// Whether it is not stopped.
    pub fn is_running(&self) -> bool {
        self.stopped == 0
    }

    /// Takes a hint; returns the one before. It changes nothing: young objects are judged apart and work goes in steps in any case.
    pub fn set_collector_mode(&mut self, mode: CollectorMode) -> CollectorMode {
        std::mem::replace(&mut self.services.collector_mode, mode)
    }

    /// The last hint.
    pub fn collector_mode(&self) -> CollectorMode {
        self.services.collector_mode
    }

    /// Bytes allocated between two epochs, from the next one on.
    pub fn set_epoch_bytes(&mut self, bytes: u64) {
        self.options.epoch_bytes = bytes.max(EPOCH_BYTES_MIN);
        self.options.epoch_grows = false;
    }

    /// Longest stop to aim at, nanoseconds: slices take half of it, because one may overrun by a chunk. 0 takes the goal back.
    pub fn set_pause_goal(&mut self, ns: u64) {
        let default = crate::heap::HeapOptions::default().slice_ns;
        self.options.pause_goal_ns = (ns != 0).then_some(ns);
        self.options.pause_goal_ns.into_iter().for_each(range::note_pause_goal);
        self.options.slice_ns = if ns == 0 { default } else { (ns / 2).clamp(SLICE_NS_MIN, default) };
        self.note_pause_goal(ns != 0);
    }

    /// Says each collection from now on in a line on standard error, or no more.
    pub fn log_collections(&mut self, on: bool) {
        if on {
            self.count_from_now_on();
        }
        self.options.log_since = on.then(Instant::now);
    }

    /// Counts allocations from now on, if they are not counted yet; the current hole from its start.
    pub fn count_from_now_on(&mut self) {
        if !std::mem::replace(&mut self.options.count_objects, true) {
            self.begin_counting_objects();
        }
        self.count_hole();
    }
}
