//! The deferred plan: epochs, from the flip to the last decrement, and the mark beside them.
//!
//! [`DeferredDriver`] is the state between slices. Nothing here touches an object; the rooms do, and say what their fields mean.
pub(crate) mod company;
pub(crate) mod discovery;
mod driver;
pub mod epoch;
pub mod flip;
pub mod mark;
pub(crate) mod marking;
pub mod reconcile;
pub mod release;
pub(crate) mod step;
pub(crate) mod tracing;
pub mod trial;
pub mod trigger;
pub mod verify;

use crate::plan::bump::tracer::Tracer;
use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::mark::Mark;
use crate::plan::deferred::marking::Marking;
use crate::plan::deferred::tracing::Tracing;
use crate::plan::deferred::trial::Trials;
use crate::plan::deferred::trigger::Trigger;
use crate::progress::Progress;
use crate::root_source::RootSource;
use std::fmt;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::memory::list::List;
use tally_heap::plan::deferred::log::{Log, LogCursor};
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

/// The driver of a heap of the deferred plan.
#[derive(Default)]
pub struct DeferredDriver {
    /// The phase of the running epoch's passes.
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
    /// Objects that weak slots yielded between the two flips, the same.
    pub(crate) last_upgraded: Lapsed,
    /// Objects finalized since the flip before, to be released.
    pub(crate) last_done: List<ObjectRef>,
    /// So many of the roots of the last flip have been counted.
    pub(crate) counted_roots: usize,
    /// Dead objects that the last log named; they are freed once it has been reconciled.
    pub(crate) last_late: List<ObjectRef>,
    /// Dying large objects, with the chunk to release next.
    pub(crate) dying_large: List<(ObjectRef, u64)>,
    /// Dead objects that wait for their finalizers, and the objects that die with them, with the chunk to visit next.
    pub(crate) company: List<(ObjectRef, u64)>,
    /// The epoch has ended, and the finalizers of those it found dead wait until all of them are found.
    pub(crate) set_waits: bool,
    /// A dying special object whose weak slots, or those that refer to it, are being released.
    pub(crate) dying_special: Option<ObjectRef>,
    /// Objects allocated before the last flip.
    pub(crate) allocated_at_flip: u64,
    pub(crate) trials: Trials,
    pub(crate) mark: Mark,
    pub(crate) marking: Marking,
    pub(crate) tracing: Tracing,
    pub(crate) trigger: Trigger,
    /// Where the roots of compiled code come from, the stops of the program, and the collections of a heap that traces.
    pub(crate) tracer: Tracer,
}

/// In short: what a whole heap's driver holds is more than anybody reads, and all its parts would be in every executable.
impl fmt::Debug for DeferredDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredDriver")
            .field("phase", &self.phase)
            .field("stage", &self.mark.stage())
            .finish_non_exhaustive()
    }
}

/// Makes the driver of a heap of this plan.
pub fn make_driver(stack: Box<dyn RootSource>) -> Box<dyn EpochDriver> {
    Box::new(DeferredDriver::new(stack))
}

impl DeferredDriver {
    /// A driver that finds the roots of compiled code in `stack`.
    pub fn new(stack: Box<dyn RootSource>) -> DeferredDriver {
        DeferredDriver { tracer: Tracer::of_deferred(stack), ..DeferredDriver::default() }
    }

    /// Runs `work` with its duration counted as a stop of the mutator.
    pub(crate) fn stopped<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Self, &mut Heap) -> T) -> T {
        let start = self.tracer.begin_stop(heap);
        let answer = work(self, heap);
        self.tracer.end_stop(heap, start);
        answer
    }
}
