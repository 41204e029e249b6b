//! An explicit collection in parts, for hosts that have time to give now: between two frames, while waiting for input.
//!
//! It goes the way of `Collector::collect_all`, and remembers how far it has come:
//!
//! ```text
//!  Idle ──► Epoch: what was unreachable is found by counting, or tried ──► Mark: the rest ──► LastEpoch ──► Idle, true
//!                                                  what a log named, and the roots of the first flip, are let go
//! ```
//!
//! The program runs between the parts, and its own epochs may come in between: they only bring the end nearer. Under
//! the prompt plan dying structures are the heap's own work (`Heap::step`); what is left here is the young, in one
//! piece, and a mark in slices:
//!
//! ```text
//!  Idle ──► the young are judged; what that lets go of dies ──► Epoch ──► Mark: all that was garbage by then ──► Idle, true
//! ```
//!
//! That mark frees all of it if nobody else frees some of it meanwhile: what is being taken apart keeps alive what it
//! holds. So it begins when nothing is being taken apart or to be finalized, and rounds of trials wait for its end. A
//! program that drops something then drops what was no garbage when the mark began, and cannot have held any.

use crate::driver::Collector;
use crate::plan::deferred::epoch::{CHUNK_UNITS, Phase};
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::plan::Plan;

/// How far a collection in parts has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Progress {
    /// The next step begins one.
    #[default]
    Idle,
    /// The passes of its first flip; the young have been judged.
    Epoch,
    /// Its mark.
    Mark,
    /// The passes of its last flip.
    LastEpoch,
}

impl Collector {
    /// Works for about `ns` nanoseconds, at least one chunk; true when a collection has come to its end.
    pub(crate) fn step(&mut self, heap: &mut Heap, ns: u64) -> bool {
        heap.statistics.slices += 1;
        let ended = self.stopped(heap, |collector, heap| match heap.plan() {
            Plan::Prompt => collector.judge_cycles_for(heap, ns),
            Plan::Deferred => collector.step_for(heap, ns),
        });
        match heap.plan() {
            Plan::Deferred => self.update_poll(heap),
            Plan::Prompt => {}
        }
        ended
    }

    /// Cycles are judged. Who is to be finalized first takes another collection.
    fn judge_cycles_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        if heap.zeal.is_some() {
            self.prompt_mark(heap);
            return true;
        }
        if self.progress != Progress::Mark {
            // One that has begun before: it may have taken for alive what was not any more when this collection began.
            if self.sliced_mark.is_running() && !self.sliced_mark_for(heap, ns) {
                return false;
            }
            if self.progress == Progress::Idle {
                self.judge_all_young(heap);
                self.progress = Progress::Epoch;
            }
            if heap.has_dying() || !heap.finalizers.queue.is_empty() {
                return false;
            }
            self.start_sliced_mark(heap);
            self.progress = Progress::Mark;
        }
        if !self.sliced_mark_for(heap, ns) {
            return false;
        }
        self.progress = Progress::Idle;
        if self.sliced_mark.has_stuck {
            // The proof cannot judge it.
            self.prompt_mark(heap);
        }
        !self.sliced_mark.has_queued
    }

    fn step_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        let start = Instant::now();
        loop {
            if self.judges(heap) {
                self.work(heap, CHUNK_UNITS);
            } else if self.go_on(heap) {
                return true;
            }
            if start.elapsed().as_nanos() as u64 >= ns {
                return false;
            }
        }
    }

    /// Nothing is left to do for this part: begins the next. True when that was the last.
    fn go_on(&mut self, heap: &mut Heap) -> bool {
        debug_assert_eq!(self.phase, Phase::Idle);
        self.progress = match self.progress {
            Progress::Idle => {
                self.flip(heap);
                Progress::Epoch
            }
            Progress::Epoch => {
                self.start_mark(heap);
                Progress::Mark
            }
            Progress::Mark => {
                self.flip(heap);
                Progress::LastEpoch
            }
            Progress::LastEpoch => Progress::Idle,
        };
        self.progress == Progress::Idle
    }
}
