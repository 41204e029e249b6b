//! Verbs: whether a new object's allocation site is recorded.

use crate::heap::Heap;
use crate::object::{ObjectRef, flag, prompt_flag};
use crate::plan::Plan;

impl Heap {
    /// Whether the object, which the slow path has just made, is sampled.
    pub(crate) fn is_sampled(&mut self, object: ObjectRef, cell: u64) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.is_sampled_by_cursor(object, cell, self.bump.hole.end),
            Plan::Prompt => self.is_sampled_by_list(object.has(flag::LARGE), cell),
        }
    }

    /// Whether the sampled object is not known to be dead: under the deferred plan a young one has no count yet.
    pub(crate) fn may_be_alive(&self, object: ObjectRef) -> bool {
        match self.regime() {
            Plan::Deferred => !object.is_mature() && !object.has(flag::DEAD) || self.is_there_by_count(object),
            Plan::Prompt => !object.has(prompt_flag::DEAD),
            Plan::Trace => !object.has(flag::DEAD),
        }
    }

    /// Sampling begins or ends: what is at hand for inline allocation is given back, or limited anew at the next allocation.
    pub(crate) fn begin_sampling(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.count_from_cursor(),
            Plan::Prompt => self.give_lists_back(),
        }
    }
}
