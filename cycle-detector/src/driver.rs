//! The collector of one heap: its cursors between slices, and the door through which the heap calls it.
//!
//! Nothing here touches an object; the phases do. What the fields mean is said where the phases use them.

use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::mark::Mark;
use crate::plan::deferred::step::Progress;
use crate::plan::deferred::trial::Trials;
use crate::plan::deferred::trigger::Trigger;
use crate::plan::prompt::{Batch, CountedMarks, Held, LeftBehind, Rings, SlicedMark};
use crate::root_source::{RootList, RootSource};
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::memory::list::List;
use tally_heap::plan::Plan;
use tally_heap::plan::deferred::log::{Log, LogCursor};
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::{Heap, ObjectRef};

/// Objects that the flip before counted as held by roots.
#[derive(Debug, Default)]
pub(crate) struct Lapsed {
    pub(crate) objects: List<ObjectRef>,
    /// So many of them, from the first, still have their flag.
    pub(crate) flagged: usize,
}

impl Lapsed {
    /// Takes `objects` over. No entry is copied, however many there are. `[BOUND]`
    pub(crate) fn take_over(&mut self, objects: &mut List<ObjectRef>) {
        debug_assert!(self.objects.is_empty());
        std::mem::swap(&mut self.objects, objects);
        self.flagged = self.objects.len();
    }
}

/// See the file's first lines.
#[derive(Debug, Default)]
pub struct Collector {
    /// What the running epoch's passes are doing.
    pub(crate) phase: Phase,
    /// How far an explicit collection in parts has come.
    pub(crate) progress: Progress,
    /// The log of the epoch that ended at the last flip.
    pub(crate) last_log: Log,
    pub(crate) reconcile_at: LogCursor,
    pub(crate) release_at: LogCursor,
    /// Roots counted at the last flip.
    pub(crate) roots: List<ObjectRef>,
    /// Roots counted at the flip before, to be released.
    pub(crate) last_roots: Lapsed,
    /// What weak slots yielded between the two flips, the same.
    pub(crate) last_upgraded: Lapsed,
    /// What finalizers have run for since the flip before, to be released.
    pub(crate) last_done: List<ObjectRef>,
    /// Zeal, prompt plan: counts of frames that were jumped over.
    pub(crate) left_behind: LeftBehind,
    /// So many of the roots of the last flip have been counted.
    pub(crate) counted_roots: usize,
    /// Dead objects that the last log named; they are freed once it has been reconciled.
    pub(crate) last_late: List<ObjectRef>,
    /// Dying large objects, with the chunk to release next.
    pub(crate) dying_large: List<(ObjectRef, u64)>,
    /// Dead objects that wait for their finalizers, and what dies with them, with the chunk to look at next.
    pub(crate) company: List<(ObjectRef, u64)>,
    /// The epoch has ended, and the finalizers of those it found dead wait for their company to be found.
    pub(crate) set_waits_for_company: bool,
    /// A dying special object whose weak slots, or those that refer to it, are being let go of.
    pub(crate) dying_special: Option<ObjectRef>,
    /// Objects allocated before the last flip.
    pub(crate) allocated_at_flip: u64,
    pub(crate) trials: Trials,
    pub(crate) mark: Mark,
    pub(crate) trigger: Trigger,
    /// Where the roots of compiled code come from.
    pub(crate) stack: Box<dyn RootSource>,
    /// Prompt plan: what roots hold.
    pub(crate) held: Held,
    /// Prompt plan: trials over exact counts.
    pub(crate) rings: Rings,
    /// Prompt plan: trials of all young objects together.
    pub(crate) batch: Batch,
    /// Prompt plan: candidates between two rounds of trials.
    pub(crate) round_gap: usize,
    /// Prompt plan: what the marks have learned.
    pub(crate) counted_marks: CountedMarks,
    /// Prompt plan: the mark that goes in slices.
    pub(crate) sliced_mark: SlicedMark,
    /// Units of work that the running slice has done.
    pub(crate) slice_units: u64,
    pub(crate) report: EpochReport,
    pub(crate) last_report: EpochReport,
}

impl Collector {
    /// A collector that finds the roots of compiled code in `stack`.
    pub fn new(stack: Box<dyn RootSource>) -> Collector {
        Collector { stack, ..Collector::default() }
    }

    /// Whether anything is left to do before the next flip could be waited for in peace.
    pub fn has_work(&self, heap: &Heap) -> bool {
        self.judges(heap) || heap.large.leaving.blocks() != 0
    }

    /// Whether it is not yet known of all objects whether they are dead, or dead ones are still there; the memory of large ones
    /// may be on its way back.
    pub(crate) fn judges(&self, heap: &Heap) -> bool {
        self.phase != Phase::Idle || self.mark.is_running() || self.has_deaths(heap)
    }

    /// Whether dead objects wait for their children to be released, or blocks for their sweep.
    pub(crate) fn has_deaths(&self, heap: &Heap) -> bool {
        let dying = !self.dying_large.is_empty() || self.dying_special.is_some() || !self.company.is_empty();
        !heap.free_queue.is_empty() || dying || heap.blocks.has_freed_into()
    }

    /// Runs pending work to its end.
    pub fn finish(&mut self, heap: &mut Heap) {
        while self.has_work(heap) {
            self.work(heap, i64::MAX / 2);
        }
        heap.set_poll(heap.zeal.is_some() || heap.finalizers.are_ready());
    }

    /// Flips and runs the passes of the flip to their end; a running mark is left where it is.
    pub fn run_epoch(&mut self, heap: &mut Heap) {
        heap.inspect();
        while self.phase != Phase::Idle {
            self.work(heap, i64::MAX / 2);
        }
        self.flip(heap);
        self.run_passes(heap);
        if heap.zeal.is_some() {
            self.end_zeal_epoch(heap);
        }
    }

    /// Runs the passes of the last flip, and the deaths they cause, to their end.
    pub(crate) fn run_passes(&mut self, heap: &mut Heap) {
        while self.phase != Phase::Idle || self.has_deaths(heap) {
            self.work(heap, i64::MAX / 2);
        }
    }

    /// Zeal marks now and then, so that what trials leave over is found and poisoned too, and verifies where it looked.
    fn end_zeal_epoch(&mut self, heap: &mut Heap) {
        let looks = heap.options.zeal_looks;
        if heap.zeal.as_mut().is_some_and(|zeal| zeal.mark_is_due(looks)) && !self.mark.is_running() {
            self.start_mark(heap);
            self.finish(heap);
        }
        heap.set_poll(true);
        if heap.zeal.as_ref().is_some_and(|zeal| zeal.looks())
            && let Err(violation) = crate::plan::deferred::verify::verify(heap, self)
        {
            heap.violation(violation.invariant, &violation.what);
        }
    }

    /// See [`EpochDriver::collect`].
    pub fn collect_all(&mut self, heap: &mut Heap) -> u64 {
        let before = heap.statistics.freed_objects();
        // It costs as much as the heap is large in any case.
        heap.zeal.iter_mut().for_each(|zeal| zeal.look_soon());
        self.finish(heap);
        self.run_epoch(heap);
        // A mark that the epoch's end has started sees the same roots.
        if !self.mark.is_running() {
            self.start_mark(heap);
        }
        self.finish(heap);
        // Objects that a log named, and the roots of the first flip, are let go at the next.
        self.run_epoch(heap);
        self.finish(heap);
        heap.statistics.freed_objects() - before
    }

    /// What the last finished epoch did.
    pub fn last_report(&self) -> &EpochReport {
        &self.last_report
    }
}

impl EpochDriver for Collector {
    fn on_block_taken(&mut self, heap: &mut Heap) {
        self.pace_allocation(heap);
    }

    fn on_poll(&mut self, heap: &mut Heap) {
        match heap.plan() {
            Plan::Deferred => self.pace_poll(heap),
            Plan::Prompt => self.prompt_poll(heap),
        }
    }

    fn collect(&mut self, heap: &mut Heap) -> u64 {
        match heap.plan() {
            Plan::Deferred => self.stopped(heap, Collector::collect_all),
            Plan::Prompt => self.stopped(heap, Collector::prompt_mark),
        }
    }

    fn step(&mut self, heap: &mut Heap, ns: u64) -> bool {
        Collector::step(self, heap, ns)
    }

    fn epoch(&mut self, heap: &mut Heap) {
        match heap.plan() {
            Plan::Deferred => self.stopped(heap, Collector::run_epoch),
            Plan::Prompt => self.stopped(heap, Collector::prompt_epoch),
        }
    }

    fn protect_roots(&mut self, heap: &mut Heap) {
        let before = self.stack.units_walked(heap);
        let mut found = RootList::after(heap.prompt.protected.take_objects());
        self.stack.visit(heap, &mut found);
        heap.prompt.protected.put_back(found.into_objects());
        heap.note_lent_walk(self.stack.units_walked(heap) - before, self.stack.end());
    }

    fn frame_is_reached(&mut self, heap: &mut Heap) {
        Collector::frame_is_reached(self, heap);
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
