//! Safepoints at which the collector has its turn: a poll, a step of an explicit collection, zeal's epoch, and what asks for the
//! next. Objects die in epochs or collections, never because a safepoint comes.

use crate::at_work::AT_WORK;
use crate::heap::{Heap, HeapEntry};
use crate::plan::Rules;
use crate::report::statistics::Statistics;
use crate::turn::LastTurn;
use crate::type_registry;

impl Heap {
    /// A safepoint at which work that is due is done.
    pub(crate) fn poll_driver(mut heap: HeapEntry) {
        if heap.stopped & AT_WORK != 0 && heap.passes_over() {
            return;
        }
        let hurry = std::mem::take(&mut heap.services.external.is_due);
        heap.with_driver(|driver, heap| if hurry { driver.on_block_taken(heap) } else { driver.on_poll(heap) });
        if heap.limits.soft_is_due {
            Heap::run_soft_limit_callback(heap);
        }
        Heap::run_ready_finalizers(heap);
    }

    /// The end of a safepoint: finalizers and callbacks that are due run.
    pub fn run_ready_finalizers(heap: HeapEntry) {
        if heap.services.finalizers.are_ready() && heap.is_running() {
            Heap::run_finalizers(heap);
        }
    }

    /// A part of an explicit collection.
    pub(crate) fn step_driver(mut heap: HeapEntry, ns: u64) -> bool {
        // A step gives finalizers their turn now.
        heap.services.finalizers.last_turn = LastTurn::default();
        let is_free = heap.services.finalizers.depth() == 0 && !heap.judges_the_queue();
        if heap.services.finalizers.left_in_set > 0 && is_free {
            Heap::run_finalizers(heap);
            return false;
        }
        let done = heap.with_driver(|driver, heap| driver.step(heap, ns));
        done && Heap::finalizers_are_done(heap)
    }

    /// Zeal's epoch at a safepoint of compiled code: objects that one of `words` may lead to survive it. A heap without zeal, to which
    /// such code may come later, does not know what the words lead to, and has its epochs when it allocates.
    pub(crate) fn zeal_epoch(&mut self, words: impl Iterator<Item = u64>) {
        if self.passes_over() {
            return;
        }
        let Some(zeal) = &self.zeal else { return };
        let objects = words
            .flat_map(|word| type_registry::possible_addresses(word).filter_map(|address| zeal.live_object(address)));
        self.services.host_roots.temporary.extend(objects);
        self.with_driver(|driver, heap| driver.epoch(heap));
        self.services.host_roots.temporary.clear();
    }

    /// Finalizers or callbacks are due at the next safepoint.
    pub(crate) fn request_finalizer_turn(&mut self) {
        self.finalizers_are_ready();
        self.set_poll(true);
    }

    /// Young objects are alive as far as is known.
    pub(crate) fn add_young_to(&self, statistics: &mut Statistics) {
        let young = statistics.allocated_objects.saturating_sub(statistics.promoted_objects);
        let young = young.saturating_sub(statistics.died_young_objects);
        match self.rules() {
            // Those that survived are young, too.
            Rules::Marking => statistics.live_objects = statistics.live_objects.max(young),
            Rules::Counting | Rules::Tracing => statistics.live_objects += young,
        }
        statistics.live_bytes += statistics.allocated_bytes - self.clock.allocated_bytes_at_flip;
    }

    /// Objects were not counted so far: those that were promoted were allocated.
    pub(crate) fn count_from_what_is_known(&mut self) {
        let counted = &mut self.statistics;
        let known = counted.promoted_objects.max(counted.live_objects + counted.freed_objects());
        counted.allocated_objects = counted.allocated_objects.max(known);
        counted.allocated_bytes = counted.allocated_bytes.max(self.clock.allocated_bytes_at_flip);
    }
}
