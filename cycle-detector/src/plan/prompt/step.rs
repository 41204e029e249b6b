//! An explicit collection in parts under the prompt plan. Dying structures are the heap's own work (`Heap::step`); what is left
//! here is the young, in one piece, and a mark in slices:
//!
//! ```text
//!  Idle ──► the young are judged; what that releases dies ──► Epoch ──► Mark: all that was garbage by then ──► Idle, true
//! ```
//!
//! That mark frees all of it unless counting frees some of it meanwhile: an object that is taken apart keeps alive what it
//! holds. So it begins when nothing is being taken apart or to be finalized, and rounds of trials wait for its end. A
//! program that drops an object then drops one that was no garbage when the mark began, and cannot have held any.

use crate::plan::prompt::PromptDriver;
use crate::progress::Progress;
use tally_heap::Heap;

impl PromptDriver {
    /// Cycles are judged. Objects to finalize first take another collection.
    pub(crate) fn judge_cycles_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        if heap.zeal.is_some() {
            self.prompt_mark(heap);
            return true;
        }
        if self.progress != Progress::Mark {
            // A mark begun before: it may have marked objects that were dead when this collection began.
            if self.sliced_mark.is_running() && !self.sliced_mark_for(heap, ns) {
                return false;
            }
            if self.progress == Progress::Idle {
                self.judge_all_young(heap);
                self.progress = Progress::Epoch;
            }
            if heap.has_dying() || !heap.services.finalizers.queue.is_empty() {
                return false;
            }
            self.start_sliced_mark(heap);
            self.progress = Progress::Mark;
        }
        if !self.sliced_mark_for(heap, ns) {
            return false;
        }
        self.progress = Progress::Idle;
        if self.sliced_mark.has_stuck || self.counted_marks.unproved.asks_for_stop() {
            // The proof cannot judge that.
            self.prompt_mark(heap);
        }
        !self.sliced_mark.has_queued
    }
}
