//! The collectors that this program has: those of the plans whose modules it registers.
//!
//! The constructor of a module calls the function that registers modules of its plan, and that function names the plan's collector.
//! Nothing else does. So the linker drops the collectors of other plans, which are a tenth of an executable.
//!
//! A heap without any module is one of the deferred plan. Its collector is named by a variable, which modules of the other plans define
//! themselves, as null: the runtime's own definition is weak, so the linker drops it there, with the collector.

use std::sync::OnceLock;
use tally_collector::plan::{self, MakeDriver};
use tally_collector::root_source::RootSource;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::fatal::{self, STATUS_VIOLATION};
use tally_heap::plan::Plan;

/// The variable that names the collector of heaps without a module: null, or a [`MakeDriver`].
pub const WITHOUT_MODULE: &str = "tally.driver_without_module";

std::arch::global_asm!(
    ".pushsection .data.rel.ro.tally.driver_without_module,\"aw\",@progbits",
    ".weak tally.driver_without_module",
    ".hidden tally.driver_without_module",
    ".type tally.driver_without_module,@object",
    ".size tally.driver_without_module,8",
    ".p2align 3",
    "tally.driver_without_module:",
    ".8byte {deferred}",
    ".popsection",
    deferred = sym plan::deferred::make_driver,
);

unsafe extern "C" {
    #[link_name = "tally.driver_without_module"]
    static DRIVER_WITHOUT_MODULE: *const ();
}

static MAKERS: [OnceLock<MakeDriver>; 3] = [const { OnceLock::new() }; 3];

/// Notes how the driver of a plan is made.
pub(crate) fn provide(of: Plan, make: MakeDriver) {
    maker(of).get_or_init(|| make);
}

/// Has all plans, for what may register modules of any.
pub(crate) fn provide_all() {
    Plan::ALL.into_iter().for_each(|of| provide(of, plan::make_driver(of)));
}

/// Makes the driver of a heap of that plan.
pub(crate) fn make(of: Plan, stack: Box<dyn RootSource>) -> Box<dyn EpochDriver> {
    match maker(of).get().copied().or_else(|| without_module(of)) {
        Some(make) => make(stack),
        None => fatal::stop(STATUS_VIOLATION, "a heap of a plan of which no module was registered"),
    }
}

fn without_module(of: Plan) -> Option<MakeDriver> {
    match of {
        // SAFETY: never written; null, or the address of the function above.
        Plan::Deferred => unsafe { std::mem::transmute::<*const (), Option<MakeDriver>>(DRIVER_WITHOUT_MODULE) },
        Plan::Prompt | Plan::Trace => None,
    }
}

fn maker(of: Plan) -> &'static OnceLock<MakeDriver> {
    match of {
        Plan::Deferred => &MAKERS[0],
        Plan::Prompt => &MAKERS[1],
        Plan::Trace => &MAKERS[2],
    }
}
