//! The marks of a module for Tally: the strategies of its functions, and the flag that a lowering leaves.

use crate::llvm::Module;
use tally_heap::plan::Plan;

/// The strategy that Tally implements.
pub const STRATEGY: &str = Plan::Deferred.strategy();

/// The same under the prompt plan.
pub(super) const PROMPT_STRATEGY: &str = Plan::Prompt.strategy();

/// The module flag of a lowered module.
pub(crate) const LOWERED_FLAG: &str = "tally.lowered";

/// The plan that a module was lowered for; `None` for a module that is not lowered.
pub(crate) fn plan_of_lowered(module: Module) -> Option<Plan> {
    Plan::of_code(module.flag(LOWERED_FLAG)?)
}

/// The module flag of a module of the trace plan that writes by the barrier, while it is lowered.
pub(crate) const BARRIER_FLAG: &str = "tally.barriers";

/// Whether writes of references are more than stores in a module of that plan.
pub(crate) fn has_barrier(module: Module, plan: Plan) -> bool {
    plan.has_barrier() || module.flag(BARRIER_FLAG) == Some(1)
}
