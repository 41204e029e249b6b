//! Verbs: the counters of a heap, and the reserve of its mark stack.

use crate::heap::{Heap, HeapOptions};
use crate::memory::object_stack::ObjectStack;
use crate::plan::{Plan, prompt};
use crate::report::statistics::Statistics;

impl Heap {
    /// The counters as of now. Under the deferred and the trace plan only
    /// mature objects count as alive.
    pub fn statistics_now(&self) -> Statistics {
        let mut statistics = self.statistics.clone();
        statistics.used_bytes = self.used_bytes();
        statistics.external_bytes = self.services.external.bytes();
        match self.plan() {
            Plan::Deferred => statistics.freed_objects = statistics.freed_objects(),
            Plan::Prompt => self.count_cells_into(&mut statistics),
            Plan::Trace => statistics.freed_objects = statistics.freed_objects(),
        }
        statistics
    }

    /// The counters as programs, hosts and reports see them: objects that no flip has seen yet count as alive.
    pub fn statistics_with_young(&self) -> Statistics {
        let mut statistics = self.statistics_now();
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.add_young_to(&mut statistics),
            Plan::Prompt => {}
        }
        statistics
    }

    /// Bytes of blocks in use, with those of dead large objects whose memory is on its way back to the system.
    pub fn used_bytes(&self) -> u64 {
        let small = match self.plan() {
            Plan::Deferred | Plan::Trace => self.bump.blocks.used_bytes(),
            Plan::Prompt => self.prompt.cells.used_bytes(),
        };
        small + self.large.used_bytes()
    }

    /// Entries of the running epoch's log.
    pub(crate) fn log_entries(&self) -> u64 {
        match self.plan() {
            Plan::Deferred => self.deferred.log.entries,
            Plan::Prompt | Plan::Trace => 0,
        }
    }

    /// Begins to count objects from now on.
    pub(crate) fn begin_counting_objects(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.count_from_what_is_known(),
            Plan::Prompt => {}
        }
    }
}

impl Plan {
    /// The stack of a heap's mark: plans with one stack for all marks reserve memory for it, since a mark may begin
    /// when none is left.
    pub(crate) fn mark_stack(self, options: &HeapOptions) -> ObjectStack {
        match self {
            Plan::Deferred | Plan::Trace if options.list_entries_max.is_none() => ObjectStack::reserved(),
            Plan::Deferred | Plan::Prompt | Plan::Trace => ObjectStack::default(),
        }
    }

    /// Allocates what a death may need, since objects die when no memory is left, too.
    pub(crate) fn prepare_deaths(self) {
        match self {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => prompt::prepare_deaths(),
        }
    }
}
