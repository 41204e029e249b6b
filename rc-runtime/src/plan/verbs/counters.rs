//! Verbs: the counters of a heap, and how many objects its passes can do without memory for.

use crate::heap::{Heap, HeapOptions};
use crate::memory::object_stack::ObjectStack;
use crate::plan::Plan;
use crate::report::statistics::Statistics;

impl Heap {
    /// The counters as of now. Under the deferred plan mature objects alone are alive.
    pub fn statistics_now(&self) -> Statistics {
        let mut statistics = self.statistics.clone();
        statistics.used_bytes = self.used_bytes();
        statistics.external_bytes = self.external.bytes();
        match self.plan() {
            Plan::Deferred => statistics.freed_objects = statistics.freed_objects(),
            Plan::Prompt => self.count_cells_into(&mut statistics),
        }
        statistics
    }

    /// The counters as programs, hosts and reports see them: what no flip has seen yet is alive as far as is known.
    pub fn statistics_with_young(&self) -> Statistics {
        let mut statistics = self.statistics_now();
        match self.plan() {
            Plan::Deferred => self.add_young_to(&mut statistics),
            Plan::Prompt => {}
        }
        statistics
    }

    /// Bytes of blocks in use, with those of dead large objects whose memory is on its way back to the system.
    pub fn used_bytes(&self) -> u64 {
        let small = match self.plan() {
            Plan::Deferred => self.blocks.used_bytes(),
            Plan::Prompt => self.prompt.cells.used_bytes(),
        };
        small + self.large.used_bytes()
    }

    /// Objects are counted from now on, which were not before.
    pub(crate) fn begin_counting_objects(&mut self) {
        match self.plan() {
            Plan::Deferred => self.count_from_what_is_known(),
            Plan::Prompt => {}
        }
    }
}

impl Plan {
    /// The stack of a heap's mark: memory for it is reserved where a mark may begin when there is none left.
    pub(crate) fn mark_stack(self, options: &HeapOptions) -> ObjectStack {
        match self {
            Plan::Deferred if options.list_entries_max.is_none() => ObjectStack::reserved(),
            Plan::Deferred | Plan::Prompt => ObjectStack::default(),
        }
    }
}
