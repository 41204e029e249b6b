//! Verbs: whose rules hold in a heap now.

use crate::heap::Heap;
use crate::plan::{Plan, Rules};

impl Heap {
    /// The rules of a heap of the deferred plan. Those of the trace plan hold while it marks, and while it traces.
    pub fn rules(&self) -> Rules {
        match (self.marks_instead_of_counting(), self.survivors_age()) {
            (false, _) => Rules::Counting,
            (true, false) => Rules::Marking,
            (true, true) => Rules::Tracing,
        }
    }

    /// Whether a heap of the deferred plan marks instead of counting, in one stop or in slices.
    pub fn marks_instead_of_counting(&self) -> bool {
        match self.plan() {
            Plan::Deferred => match self.regime() {
                Plan::Deferred | Plan::Prompt => false,
                Plan::Trace => true,
            },
            Plan::Prompt | Plan::Trace => false,
        }
    }

    /// Sets that, for a heap of the deferred plan.
    pub(crate) fn set_marks_instead_of_counting(&mut self, marks: bool) {
        self.set_regime(if marks { Plan::Trace } else { Plan::Deferred });
    }

    /// Whether an object that survives a collection is mature.
    pub fn survivors_age(&self) -> bool {
        match self.plan() {
            Plan::Deferred => self.trace.ages,
            Plan::Prompt | Plan::Trace => true,
        }
    }
}
