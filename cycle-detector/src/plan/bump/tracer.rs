//! The tracer: collections that mark from the roots, and free all that the mark has not reached. It is the driver of a heap of the trace
//! plan, and the part of the deferred plan's driver that works while such a heap traces.
//!
//! | room | question |
//! |---|---|
//! | `collection` | where do its roots come from, and what is noted of it? |
//! | `sliced` | how does it go in slices, and when is it given up? |
//! | `judging` | what happens to the dead before they are swept? |
//!
//! With a pause goal a collection goes in slices, where all compiled code has the write barrier; under the deferred plan it always does. Code of
//! strategies without one does not tell a mark what the program changes meanwhile: one module of it, and collections stop the program.

mod collection;
mod driver;
mod judging;
mod sliced;

use crate::plan::bump::growth::Growth;
use crate::root_source::{RESERVED, RootSource};
use crate::stops::Stops;
use sliced::Sliced;
use std::fmt;
use std::time::Instant;
use tally_heap::memory::list::List;
use tally_heap::{Heap, ObjectRef};

/// The state between two stops.
#[derive(Default)]
pub(crate) struct Tracer {
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

/// In short: what a whole heap's driver holds is more than anybody reads, and all its parts would be in every executable.
impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").finish_non_exhaustive()
    }
}

impl Tracer {
    /// A driver that finds the roots of compiled code in `stack`.
    pub(crate) fn new(stack: Box<dyn RootSource>) -> Tracer {
        Tracer { stack, roots: List::with_capacity(RESERVED), ..Tracer::default() }
    }

    /// The same, for a heap of the deferred plan.
    pub(in crate::plan) fn of_deferred(stack: Box<dyn RootSource>) -> Tracer {
        Tracer { is_of_deferred: true, ..Tracer::new(stack) }
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
