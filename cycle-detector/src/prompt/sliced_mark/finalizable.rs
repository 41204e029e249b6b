//! The dead that have finalizers, in steps: a million that died together are held, marked and queued while the program runs.
//!
//! The proof has listed them, and weak references to what is dead are cleared: the program cannot come to any of it, so the
//! set stays as it is between two steps. What finalizers are for is followed once all of them are held.

use super::{Stage, is_suspected};
use crate::collector::Collector;
use rc_runtime::Heap;
use rc_runtime::list::List;

/// Objects that one step goes through.
const HELD_AT_ONCE: usize = 512;

impl Collector {
    /// All that have finalizers are held before the first of them is followed: those that only others of them reach belong
    /// to the set as well.
    pub(super) fn hold_finalizable(&mut self, heap: &mut Heap) -> i64 {
        let mark = &mut self.sliced_mark;
        let (from, all) = (mark.queued, mark.proof.finalizable.len());
        mark.queued = (from + HELD_AT_ONCE).min(all);
        for &object in &mark.proof.finalizable[from..mark.queued] {
            if heap.is_still_there(object) && is_suspected(object) {
                heap.hold_with_set(object);
            }
        }
        let spent = 1 + (mark.queued - from) as i64;
        if mark.queued == all {
            mark.proof.finalizable = List::new();
            mark.enter(Stage::Show);
        }
        spent
    }

    /// What they are for is alive until their finalizers have run. The set is complete then.
    pub(super) fn show_finalizable(&mut self, heap: &mut Heap) -> i64 {
        let mark = &mut self.sliced_mark;
        let found = heap.found_by_mark();
        let from = mark.queued;
        mark.queued = (from + HELD_AT_ONCE).min(found.len());
        found[from..mark.queued].iter().for_each(|&object| mark.marker.show(object));
        let spent = 1 + (mark.queued - from) as i64;
        if mark.queued == found.len() {
            mark.has_queued |= mark.queued != 0;
            heap.queue_found_by_mark();
            mark.enter(Stage::Finalize);
        }
        spent
    }
}
