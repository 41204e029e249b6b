//! One folder for each plan: the driver that the heap calls, and the passes that it runs.

mod bump;
pub mod deferred;
pub mod prompt;
pub mod trace;

use crate::root_source::RootSource;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::plan::Plan;

/// Makes the driver of a plan. The source knows the roots of compiled code.
pub type MakeDriver = fn(Box<dyn RootSource>) -> Box<dyn EpochDriver>;

/// The function that makes the driver of that plan. An executable has the drivers that something in it names, so what has one plan
/// calls the plan's own.
pub fn make_driver(plan: Plan) -> MakeDriver {
    match plan {
        Plan::Deferred => deferred::make_driver,
        Plan::Prompt => prompt::make_driver,
        Plan::Trace => trace::make_driver,
    }
}
