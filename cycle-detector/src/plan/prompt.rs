//! The cycle detector under the prompt plan: counts are exact, so a trial needs no flip.
//!
//! The heap asks at safepoints, with its pending list drained:
//!
//! | asked for | done |
//! |---|---|
//! | a poll, with enough candidates | a *round*: candidates are tried, as far as the budgets allow; a mark, by evidence |
//! | a poll, with enough young objects | a *batch*: they are judged together, if that has paid lately |
//! | an epoch (tests, zeal) | a round without bounds; in zeal a mark now and then, and the heap recounted |
//! | a collection | a mark: what no root reaches is condemned |
//!
//! Counts suffice for a verdict. Roots do not make candidates when they are overwritten, so each of these begins with a look at
//! the roots (`root_snapshot`).
//!
//! Nothing here calls the program: what a verdict brings to zero becomes pending, and finalizers of dead cycles are queued; the
//! heap runs them when the driver has returned.
//!
//! Each round and each mark closes a report, as an epoch does under the deferred plan.

mod batch;
mod condemned;
mod driver;
mod exact_trial;
mod garbage_cap;
mod left_behind;
mod levels;
mod mark;
mod marker;
mod poll;
mod proof;
mod root_snapshot;
mod round;
mod sliced_mark;
mod step;
mod unproved;
mod verify;

pub use crate::plan::prompt::exact_trial::ExactTrials;
pub use crate::plan::prompt::root_snapshot::RootSnapshot;
pub use batch::Batch;
pub(crate) use left_behind::LeftBehind;
pub use mark::CountedMarks;
pub use sliced_mark::SlicedMark;
pub use verify::verify;

use crate::progress::Progress;
use crate::root_source::RootSource;
use crate::stops::Stops;
use std::fmt;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;

/// The driver of a heap of the prompt plan.
#[derive(Default)]
pub(crate) struct PromptDriver {
    /// How far an explicit collection in parts has come.
    progress: Progress,
    /// What roots hold.
    held: RootSnapshot,
    /// Trials over exact counts.
    trials: ExactTrials,
    /// Trials of all young objects together.
    batch: Batch,
    /// Candidates between two rounds of trials.
    round_gap: usize,
    /// The evidence of earlier marks.
    counted_marks: CountedMarks,
    /// The mark that goes in slices.
    sliced_mark: SlicedMark,
    /// Zeal: counts of frames that were jumped over.
    left_behind: LeftBehind,
    /// Where the roots of compiled code come from.
    stack: Box<dyn RootSource>,
    /// Its stops of the program.
    stops: Stops,
}

/// In short: what a whole heap's driver holds is more than anybody reads, and all its parts would be in every executable.
impl fmt::Debug for PromptDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptDriver").finish_non_exhaustive()
    }
}

/// Makes the driver of a heap of this plan.
pub fn make_driver(stack: Box<dyn RootSource>) -> Box<dyn EpochDriver> {
    Box::new(PromptDriver::new(stack))
}

impl PromptDriver {
    /// A driver that finds the roots of compiled code in `stack`.
    pub(crate) fn new(stack: Box<dyn RootSource>) -> PromptDriver {
        PromptDriver { stack, ..PromptDriver::default() }
    }

    /// Runs `work` with its duration counted as a stop of the mutator.
    fn stopped<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Self, &mut Heap) -> T) -> T {
        let start = self.stops.begin(heap, &mut *self.stack, heap.counted_allocated_bytes());
        let answer = work(self, heap);
        self.stops.end(heap, start, heap.counted_allocated_bytes());
        answer
    }
}
