//! The flip: the one step of an epoch that is atomic to the mutator.
//!
//! 1. The allocation areas are closed; the epoch gets its new number: everything stamped until now is pending. `[PENDING]`
//! 2. The running log becomes the last log; a new one begins.
//! 3. The unlogged bits of all blocks that were logged or allocated in since the last flip are armed. `[LOG]`
//! 4. The roots are noted, as they are now. `[ROOT]` They are counted in the first slices after it: nothing that they hold can lose
//!    its last count before, since all increments of a flip come before its decrements. `[ORDER]`
//!
//! Cost: the roots (all frames of the stack, all globals), 256 bytes of bits per block allocated or logged in, 128 bytes of bits for
//! each 16 KiB of large objects allocated, some instructions per logged chunk, and 64 system calls at most to give idle blocks back. The
//! length of the log does not matter, and the size of the heap does by 20 to 30 ns for 32 KiB that were written to. None of it is sliced: a
//! deep stack makes a long flip, 3 to 8 ns a frame. The passes that follow are sliced; they see the heap as of this moment through the
//! log and the pending stamps.

use crate::collector::Collector;
use crate::epoch::Phase;
use crate::report::EpochReport;
use rc_runtime::heap::{FIRST_EPOCH, LAST_EPOCH};
use rc_runtime::{Heap, ObjectRef};

impl Collector {
    /// Flips. The passes of the last flip must be done.
    pub(crate) fn flip(&mut self, heap: &mut Heap) {
        debug_assert_eq!(self.phase, Phase::Idle);
        if heap.epoch >= LAST_EPOCH {
            self.start_numbering_over(heap);
        }
        self.flip_once(heap);
    }

    fn flip_once(&mut self, heap: &mut Heap) {
        heap.retire_allocation();
        heap.epoch += 1;
        heap.context_mut().stamp = heap.epoch;
        heap.statistics.epochs += 1;
        heap.statistics.log_entries += heap.log.entries;
        self.allocated_at_flip = heap.statistics.allocated_objects;
        self.report = EpochReport::open(heap);

        std::mem::swap(&mut self.last_log, &mut heap.log);
        debug_assert!(heap.log.is_empty());
        (self.reconcile_at, self.release_at) = Default::default();
        self.prepare_mark_for_flip(heap);
        Self::arm_barriers(heap);

        debug_assert!(self.last_late.is_empty());
        std::mem::swap(&mut self.last_late, &mut heap.late_queue);
        self.take_roots(heap);

        self.phase = Phase::Count;
        heap.counting = true;
        heap.given_bytes = 0;
        heap.log_poll_at = heap.options.log_entries;
        heap.set_poll(true);
        self.trigger.note_flip();
    }

    fn arm_barriers(heap: &mut Heap) {
        heap.blocks.flip();
        heap.keep_hole_open();
        heap.large.flip();
        heap.specials.flip();
        heap.flip_finalizers();
    }

    /// What roots hold now; `count_roots` counts it, in steps.
    fn take_roots(&mut self, heap: &mut Heap) {
        self.roots.append(&mut heap.specials.upgraded);
        std::mem::swap(&mut self.roots, &mut self.last_roots);
        debug_assert!(self.roots.is_empty());
        (self.flagged_roots, self.counted_roots) = (self.last_roots.len(), 0);
        heap.roots_uncounted = true;
        // They were held as if by roots of the flip before.
        self.last_roots.append(&mut heap.finalizers.done);
        self.last_roots.extend(heap.flip_immortals());
        let mut roots = std::mem::take(&mut self.roots);
        let held = heap.host_references();
        heap.statistics.roots_walked += held.len() as u64;
        for root in held {
            take_root(heap, &mut roots, root, &|| "a root of the host".to_owned());
        }
        let slots = rc_runtime::module_registry::for_each_global_reference(|root, global| {
            // Global slots are shared by all heaps of the process; each counts its own objects.
            if heap.owns(root) {
                take_root(heap, &mut roots, root, &|| format!("global root `{}`", global.name));
            }
        });
        heap.statistics.roots_walked += slots;
        self.stack.visit(heap, |heap, root, name| take_root(heap, &mut roots, root, name));
        self.report.roots = roots.len() as u64;
        self.roots = roots;
    }

    /// After 2³² flips the stamps are used up: run everything to its end, so that no stamp but 0 is left, and begin
    /// with the first number again.
    #[cold]
    fn start_numbering_over(&mut self, heap: &mut Heap) {
        self.flip_once(heap);
        self.run_passes(heap);
        debug_assert!(heap.log.is_empty());
        heap.epoch = FIRST_EPOCH;
        heap.context_mut().stamp = FIRST_EPOCH;
    }
}

#[inline(always)]
fn take_root(heap: &Heap, roots: &mut Vec<ObjectRef>, root: ObjectRef, name: &dyn Fn() -> String) {
    if let Some(zeal) = &heap.zeal
        && zeal.live_object(root.address()).is_none()
    {
        let what = match zeal.has_seen(root) {
            true => format!("{} holds {:#x}, which is no live object", name(), root.address()),
            false => format!("{} holds {}", name(), heap.place(zeal, root.address())),
        };
        rc_runtime::fatal::violation("ROOT", heap.epoch, &what);
    }
    roots.push(root);
}
