//! The trace plan: collections that mark from the roots, and free all that the mark has not reached.
//!
//! | room | question |
//! |---|---|
//! | `collection` | where do its roots come from, and what is noted of it? |
//! | `sliced` | how does it go in slices, and when is it given up? |
//! | `judging` | what happens to the dead before they are swept? |
//!
//! `plan/bump` has what a collection does: its order, its marker, and the look over the heap after it; and when the next is due.
//!
//! With a pause goal a collection goes in slices, where all compiled code has the write barrier. Code of strategies without one does
//! not tell a mark what the program changes meanwhile: one module of it, and collections stop the program.

mod collection;
mod driver;
mod judging;
mod sliced;

use crate::plan::bump::growth::Growth;
use crate::root_source::{RESERVED, RootSource};
use crate::stops::Stops;
use sliced::Sliced;
use std::time::Instant;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::memory::list::List;
use tally_heap::{Heap, ObjectRef};

/// The driver of a heap of the trace plan.
#[derive(Debug, Default)]
pub struct TraceDriver {
    /// Where the roots of compiled code come from.
    pub(in crate::plan) stack: Box<dyn RootSource>,
    /// Its stops of the program.
    pub(in crate::plan) stops: Stops,
    pub(in crate::plan) growth: Growth,
    /// A collection in slices.
    sliced: Sliced,
    /// The roots of a collection. The list is empty between two, and keeps its memory.
    roots: List<ObjectRef>,
    /// It is part of the driver of a heap of the deferred plan: collections go in slices with a pause goal and without one, and of a deep
    /// stack the snapshot reads the newest frames.
    is_of_deferred: bool,
}

/// Makes the driver of a heap of this plan.
pub fn make_driver(stack: Box<dyn RootSource>) -> Box<dyn EpochDriver> {
    Box::new(TraceDriver::new(stack))
}

impl TraceDriver {
    /// A driver that finds the roots of compiled code in `stack`.
    pub fn new(stack: Box<dyn RootSource>) -> TraceDriver {
        TraceDriver { stack, roots: List::with_capacity(RESERVED), ..TraceDriver::default() }
    }

    /// The same, for a heap of the deferred plan.
    pub(in crate::plan) fn of_deferred(stack: Box<dyn RootSource>) -> TraceDriver {
        TraceDriver { stack, is_of_deferred: true, ..TraceDriver::default() }
    }

    /// Begins a stop of the program.
    pub(in crate::plan) fn begin_stop(&mut self, heap: &Heap) -> Instant {
        self.stops.begin(heap, &mut *self.stack, heap.clock.given_bytes)
    }

    /// Ends it.
    pub(in crate::plan) fn end_stop(&mut self, heap: &mut Heap, start: Instant) {
        self.stops.end(heap, start, heap.clock.given_bytes);
    }

    /// Runs `work` with its duration counted as a stop of the program.
    fn stopped<T>(&mut self, heap: &mut Heap, work: impl FnOnce(&mut Self, &mut Heap) -> T) -> T {
        let start = self.begin_stop(heap);
        let result = work(self, heap);
        self.end_stop(heap, start);
        result
    }
}
