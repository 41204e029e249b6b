//! The dead that have finalizers, in steps: a million that died together are held, marked and queued while the program runs.
//!
//! The proof has listed them, weak references to the dead are cleared, and no upgrade yields a key that is
//! (`MarkPhase::condemns`): the program cannot come to any of it, so the set stays as it is between two steps. What finalizers are
//! for is followed once all of them are held.

use super::super::proof::is_suspected;
use super::{SlicedMark, Stage};
use crate::slice::OBJECTS_PER_STEP;
use tally_heap::Heap;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::list::List;

impl SlicedMark {
    /// All that have finalizers are held before the first of them is followed: those that only others of them reach belong
    /// to the set as well.
    pub(super) fn hold_finalizable(&mut self, heap: &mut Heap) -> i64 {
        let (from, all) = (self.queued, self.proof.finalizable.len());
        self.queued = (from + OBJECTS_PER_STEP).min(all);
        for &object in &self.proof.finalizable[from..self.queued] {
            if heap.is_still_there(object) && is_suspected(object) {
                heap.hold_with_set(object);
            }
        }
        let spent = 1 + (self.queued - from) as i64;
        if self.queued == all {
            self.proof.finalizable = List::new();
            self.enter(Stage::Show);
        }
        spent
    }

    /// Their objects are alive until their finalizers have run. The set is complete then.
    pub(super) fn show_finalizable(&mut self, heap: &mut Heap) -> i64 {
        let found = heap.found_by_mark();
        let from = self.queued;
        self.queued = (from + OBJECTS_PER_STEP).min(found.len());
        if from == 0 && self.queued != 0 {
            self.marker.count_bytes();
        }
        found[from..self.queued].iter().for_each(|&object| self.marker.show(object));
        let spent = 1 + (self.queued - from) as i64;
        if self.queued == found.len() {
            self.has_queued |= self.queued != 0;
            heap.queue_found_by_mark();
            // Finalizers may have weak references made to what they reach.
            heap.set_mark_phase(MarkPhase::Proves);
            self.enter(Stage::Finalize);
        }
        spent
    }
}
