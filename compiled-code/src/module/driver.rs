//! The collectors that this program has: those of the plans whose modules it registers.
//!
//! The constructor of a module calls the function that registers modules of its plan, and that function names the plan's collector.
//! Nothing else does. So the linker drops the collectors of other plans, which are a tenth of an executable. A heap without any module
//! is one of the deferred plan; that collector is always there.

use std::sync::OnceLock;
use tally_collector::plan::{self, MakeDriver};
use tally_collector::root_source::RootSource;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::fatal::{self, STATUS_VIOLATION};
use tally_heap::plan::Plan;

/// Those of the plans that are not always there.
static MAKERS: [OnceLock<MakeDriver>; 2] = [const { OnceLock::new() }; 2];

/// Notes how the driver of a plan is made.
pub(crate) fn provide(of: Plan, make: MakeDriver) {
    if let Some(maker) = maker(of) {
        maker.get_or_init(|| make);
    }
}

/// Has all plans, for what may register modules of any.
pub(crate) fn provide_all() {
    Plan::ALL.into_iter().for_each(|of| provide(of, plan::make_driver(of)));
}

/// Makes the driver of a heap of that plan.
pub(crate) fn make(of: Plan, stack: Box<dyn RootSource>) -> Box<dyn EpochDriver> {
    let Some(maker) = maker(of) else { return plan::deferred::make_driver(stack) };
    match maker.get() {
        Some(make) => make(stack),
        None => fatal::stop(STATUS_VIOLATION, "a heap of a plan of which no module was registered"),
    }
}

fn maker(of: Plan) -> Option<&'static OnceLock<MakeDriver>> {
    match of {
        Plan::Deferred => None,
        Plan::Prompt => Some(&MAKERS[0]),
        Plan::Trace => Some(&MAKERS[1]),
    }
}
