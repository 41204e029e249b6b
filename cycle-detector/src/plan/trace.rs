//! The trace plan: nothing is counted, and collections free all that a mark from the roots has not reached (`plan/bump/tracer`).

use crate::plan::bump::tracer::Tracer;
use crate::root_source::RootSource;
use tally_heap::epoch_driver::EpochDriver;

/// Makes the driver of a heap of this plan.
pub fn make_driver(stack: Box<dyn RootSource>) -> Box<dyn EpochDriver> {
    Box::new(Tracer::new(stack))
}
