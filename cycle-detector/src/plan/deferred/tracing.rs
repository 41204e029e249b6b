//! A heap that traces instead of counting: when it begins to, and when it counts again.
//!
//! ```text
//!   marking, a mark is given up, because too much lives for one stop:   it traces; a collection begins
//!   tracing, a collection is due, and counting promises to cost less:   the collection makes its survivors young
//!            that has ended:                                            it counts; a flip
//!   counting, a flip is due, nothing waits, and counting costs more:    it traces; a collection begins
//! ```
//!
//! A collection costs what lives, and comes when as much was allocated: that is seen. What counting would cost is a matter of what survives
//! and what is written to. Objects that were promoted, and that have died later, would have cost their counts: that is the least. Where it
//! is next to nothing, counting is tried. If it costs more than the collections have, because of what is written, the next
//! trial comes after twice as many collections. Compared is the time for which the program was stopped, and that of its log, for what it
//! allocates. What the heap does to change its rules is [`tally_heap::plan::deferred::tracing`].

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::mark::Mark;
use crate::plan::trace::TraceDriver;
use crate::progress::Progress;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::heap::{LAST_EPOCH, Traces};
use tally_heap::memory::list::List;

/// Collections before counting is tried, and the most.
const PATIENCE: u32 = 4;
const PATIENCE_MAX: u32 = 16 * PATIENCE;
/// Epochs after which the cost of counting is known: the first has promoted all that lives.
const TELLING_EPOCHS: u32 = 2;
/// Counting that has gone on for so many epochs was no trial that failed.
const LASTING_EPOCHS: u32 = 8;
/// Counting is tried where its least is at most this part of what collections cost, and stays where it costs at most so many times as much:
/// a heap that traces has less memory.
const PROMISING: u64 = 8;
const STAYS_AT: u64 = 2;
/// What counting costs for a mebibyte at least.
const NS_PER_MEBIBYTE: u64 = 5_000;
/// What an entry of the log costs the program.
const NS_PER_ENTRY: u64 = 15;

/// What both ways have cost lately, in nanoseconds for a mebibyte allocated.
#[derive(Debug)]
pub(crate) struct Tracing {
    counting: u64,
    tracing: u64,
    /// Epochs since the heap has begun to count, or collections since it has begun to trace.
    since: u32,
    /// Collections until counting is tried.
    patience: u32,
    /// Objects promoted, and freed when they were mature, until the last collection.
    items: u64,
}

impl Default for Tracing {
    fn default() -> Self {
        Tracing { counting: 0, tracing: 0, since: 0, patience: PATIENCE, items: 0 }
    }
}

impl Tracing {
    /// Takes an epoch of counting. Whether the heap traces instead of the next.
    fn counting_is_dear(&mut self, cost: u64) -> bool {
        self.since += 1;
        if self.since < TELLING_EPOCHS {
            return false;
        }
        self.counting = if self.since == TELLING_EPOCHS { cost } else { self.counting.midpoint(cost) };
        self.counting > self.tracing / STAYS_AT
    }

    /// Takes a collection, for which counting would have cost so much at least. Whether counting is tried.
    fn counting_is_tried(&mut self, cost: u64, least: u64) -> bool {
        self.since += 1;
        // The first has cleared what counting had left.
        self.tracing = if self.since <= 2 { cost } else { self.tracing.midpoint(cost) };
        self.since >= self.patience && self.tracing / PROMISING > least.max(NS_PER_MEBIBYTE)
    }

    fn begin(&mut self, heap: &Heap) {
        let has_lasted = self.since >= LASTING_EPOCHS;
        self.patience = if has_lasted { PATIENCE } else { (2 * self.patience).min(PATIENCE_MAX) };
        (self.since, self.items) = (0, items(heap));
    }
}

/// Objects for which counting would have worked so far.
fn items(heap: &Heap) -> u64 {
    heap.statistics.promoted_objects + heap.statistics.freed_mature_objects
}

fn per_mebibyte(ns: u64, bytes: u64) -> u64 {
    ((u128::from(ns) << 20) / u128::from(bytes.max(1))) as u64
}

impl DeferredDriver {
    /// At a flip that is due: whether the heap traces instead.
    pub(in crate::plan::deferred) fn traces_instead(&mut self, heap: &mut Heap) -> bool {
        let is_dear = match heap.options().traces {
            Traces::Never => return false,
            Traces::WhereItPays => {
                let ns = self.tracer.stops.report.work_ns + heap.deferred.log.entries * NS_PER_ENTRY;
                self.phase == Phase::Idle && self.tracing.counting_is_dear(per_mebibyte(ns, heap.clock.given_bytes))
            }
            Traces::ByTurns(_) => {
                self.stopped(heap, DeferredDriver::finish);
                true
            }
        };
        let finalizers = &heap.services.finalizers;
        let is_quiet = !self.judges(heap) && !self.tracer.stack.has_rest() && self.progress == Progress::Idle;
        is_dear && is_quiet && finalizers.depth() == 0 && !finalizers.has_chain() && self.may_trace(heap)
    }

    /// Slices of fixed units are for runs that repeat: no clock decides then. Who says how long epochs are has them that long.
    fn may_trace(&self, heap: &Heap) -> bool {
        let options = heap.options();
        let may = match options.traces {
            Traces::Never => false,
            Traces::WhereItPays => options.slice_units.is_none() && options.epoch_grows,
            Traces::ByTurns(_) => true,
        };
        may && heap.zeal.is_none() && heap.clock.epoch < LAST_EPOCH - 1 && self.tracer.may_slice(heap)
    }

    /// A heap that counts traces from here on.
    pub(in crate::plan::deferred) fn trace_instead_of_counting(&mut self, heap: &mut Heap) {
        self.stopped(heap, |driver, heap| {
            driver.forget_epochs();
            driver.tracing.begin(heap);
            heap.begin_tracing();
            driver.tracer.growth.expect(heap.statistics.live_bytes);
            driver.tracer.begin_in_slices(heap);
        });
    }

    /// A heap that marks has given a mark up: whether it traces from here on.
    pub(in crate::plan::deferred) fn traces_instead_of_marking(&mut self, heap: &mut Heap) -> bool {
        let may = self.may_trace(heap);
        if may {
            heap.statistics.marks_aborted += 1;
            self.tracer.leave_rest(heap);
            self.roots.clear();
            self.tracing = Tracing { items: items(heap), ..Tracing::default() };
            let young = heap.clock.given_bytes / 2;
            heap.begin_tracing_of_marking();
            self.tracer.growth.expect(heap.statistics.live_bytes + young);
            self.tracer.begin_in_slices(heap);
        }
        may
    }

    /// The mutator takes a block of a heap that traces.
    pub(crate) fn pace_tracing(&mut self, heap: &mut Heap) {
        let may_begin = heap.is_running() && !self.tracer.is_running() && self.tracer.may_slice(heap);
        let is_due = self.tracer.growth.is_due(heap) || heap.services.finalizers.wait_for_owners();
        if may_begin && is_due && self.counts_again(heap) {
            self.tracer.begin_last(heap);
        }
        self.trace(heap, TraceDriver::on_block_taken);
    }

    /// At a collection that is due: whether the heap counts after it. For a chain of objects that are finalized after their owners there
    /// would be a collection for each, where counting has a flip; and a heap that has become small marks after its next flips.
    fn counts_again(&mut self, heap: &Heap) -> bool {
        let (before, items) = (self.tracing.items, items(heap));
        self.tracing.items = items;
        let least = items.saturating_sub(before) * self.trigger.ns_per_item();
        let given = heap.clock.given_bytes;
        let cost = per_mebibyte(self.tracer.stops.report.work_ns, given);
        let is_tried = self.tracing.counting_is_tried(cost, per_mebibyte(least, given));
        let is_small = self.marking.suffices_for(heap, heap.statistics.live_objects);
        match heap.options().traces {
            Traces::Never => true,
            Traces::WhereItPays => is_tried || is_small || heap.services.finalizers.wait_for_owners(),
            Traces::ByTurns(collections) => self.tracing.since >= collections,
        }
    }

    /// Lets the tracer work. If that has ended a collection after which the heap is to count, it counts.
    pub(crate) fn trace<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut TraceDriver, &mut Heap) -> T) -> T {
        let answer = work(&mut self.tracer, heap);
        if heap.all_are_young() && !self.tracer.is_running() {
            self.stopped(heap, |driver, heap| {
                heap.count_again();
                driver.tracing.since = 0;
                driver.flip_from(heap, List::new());
                driver.trigger.forget_length();
            });
            self.update_poll(heap);
        }
        answer
    }

    /// What epochs have left is forgotten: marks decide from here on.
    pub(in crate::plan::deferred) fn forget_epochs(&mut self) {
        debug_assert!(self.last_log.is_empty() && self.last_roots.objects.is_empty() && self.last_late.is_empty());
        self.roots.clear();
        self.mark = Mark::default();
        self.progress = Progress::Idle;
        self.set_waits_for_company = false;
        self.trials.in_doubt = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many collections counting is tried, and after how many epochs it ends; each costs the same every time.
    fn turns(tracing: u64, least: u64, counting: u64) -> (Option<u32>, Option<u32>) {
        let mut costs = Tracing::default();
        let tried = (1..=1000).find(|_| costs.counting_is_tried(tracing, least));
        costs.since = 0;
        (tried, (1..=1000).find(|_| costs.counting_is_dear(counting)))
    }

    #[test]
    fn counting_is_tried_where_next_to_nothing_survives_and_stays_where_it_costs_no_more() {
        assert_eq!(turns(1_000_000, 10_000, 400_000), (Some(PATIENCE), None));
        assert_eq!(turns(1_000_000, 10_000, 600_000), (Some(PATIENCE), Some(TELLING_EPOCHS)));
        assert_eq!(turns(1_000_000, 200_000, 0).0, None, "what survives would be counted");
        assert_eq!(turns(30_000, 0, 0).0, None, "nothing could be saved");
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn trials_that_fail_come_less_and_less_often() {
        // SAFETY: [HELD] nothing is allocated.
        let mut mutator = unsafe { crate::Mutator::new(tally_heap::HeapOptions::default()) }.expect("address space");
        let heap = mutator.heap();
        let mut costs = Tracing::default();
        let tried = |costs: &mut Tracing| (1..=1000).find(|_| costs.counting_is_tried(1_000_000, 0)).expect("a trial");
        for expected in [4, 8, 16, 32, 64, 64] {
            assert_eq!(tried(&mut costs), expected);
            costs.since = 2;
            costs.begin(heap);
        }
        costs.since = LASTING_EPOCHS;
        costs.begin(heap);
        assert_eq!(tried(&mut costs), PATIENCE);
    }
}
