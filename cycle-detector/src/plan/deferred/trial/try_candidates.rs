//! Candidates are tried, as far as the budget goes.

use super::member::{is_out_of_question, prefetch_next};
use super::verdict::Verdict;
use crate::budget::BYTES_PER_EDGE;
use crate::plan::deferred::DeferredDriver;
use tally_heap::memory::range::BUFFERED;
use tally_heap::{Heap, ObjectRef};

impl DeferredDriver {
    /// Trials are about to begin: the epoch that they belong to pays for them.
    pub(crate) fn grant_trial_budget(&mut self) {
        self.trials.budget.put(0, (self.tracer.stops.report.given_bytes / BYTES_PER_EDGE) as i64);
    }

    /// Tries candidates with up to `units` of work; returns the units left, and whether no candidate is.
    pub(crate) fn try_candidates(&mut self, heap: &mut Heap, mut units: i64) -> (i64, bool) {
        while let Some(candidate) = heap.candidates.pop() {
            units -= 1;
            if self.trials.sample.is_dense() {
                prefetch_next(heap);
            }
            // It may have died meanwhile, and then even its address says nothing: the blocks of a large object go back to the
            // process, and what another heap had buffered there was tried, and freed, here.
            if heap.still_owns(candidate) && BUFFERED.get(candidate.granule()) {
                BUFFERED.clear(candidate.granule());
                if self.trials.passes_over_unseen() || is_out_of_question(candidate) {
                } else if self.trials.is_worth_it(heap, candidate) {
                    units -= self.try_candidate(heap, candidate);
                } else {
                    self.trials.pass_over(heap);
                }
            }
            if units <= 0 {
                return (units, heap.candidates.is_empty());
            }
        }
        (units, true)
    }

    /// A trial has the registers to itself, and the loop of those that are seldom tried has them, too.
    #[inline(never)]
    pub(in crate::plan::deferred::trial) fn try_candidate(&mut self, heap: &mut Heap, candidate: ObjectRef) -> i64 {
        self.tracer.stops.report.trials += 1;
        heap.statistics.trial_runs += 1;
        let trials = &mut self.trials;
        (trials.edges, trials.dead_edges) = (0, 0);
        let verdict = trials.trial(heap, candidate);
        match verdict {
            Verdict::Finalizing => {}
            Verdict::Live => trials.note_alive(heap),
            Verdict::Garbage(objects) => {
                heap.statistics.cyclic_garbage_objects += objects;
                self.tracer.stops.report.freed_by_trial += objects;
            }
            Verdict::CutOff | Verdict::Undecided => heap.suspects += 1,
        }
        // What waits for its finalizers is as good as freed.
        let freed = if matches!(verdict, Verdict::Finalizing) { trials.edges } else { trials.dead_edges };
        // A trial in vain costs twice: more such trials for the same budget found no more garbage.
        trials.budget.pay(0, if freed == 0 { 2 * trials.edges } else { trials.edges });
        trials.budget.reward(trials.dead_edges);
        heap.statistics.trial_edges += trials.edges as u64;
        trials.sample.learn(freed as u64, trials.edges as u64);
        4 + trials.edges
    }
}
