//! When a drain walks the stack for roots whose address was taken. `[BOUND]`

use super::{AddressTakenWalk, BYTES_PER_UNIT, FEW, STACK_PER_UNIT};
use crate::heap::{Heap, HeapEntry};

impl Heap {
    /// Roots that may have been written to were looked for, in so many units, up to the end of the stack.
    pub fn note_address_taken_walk(&mut self, units: u64, stack_end: u64) {
        let allocated = self.counted_allocated_bytes();
        self.prompt.address_taken_walk = AddressTakenWalk { units, stack_end, allocated, pending: 0, put_off: 0 };
    }

    /// Frames lend roots: whether this safepoint leaves the pending objects to a later one.
    #[cold]
    pub(in crate::plan::prompt) fn puts_drain_off(&mut self) -> bool {
        let is_zealous = self.zeal.as_ref().is_some_and(|zeal| zeal.is_small());
        if self.prompt.address_taken_walk.units <= FEW || is_zealous {
            return false;
        }
        let (pending, allocated) = (self.pending_len(), self.counted_allocated_bytes());
        let context = self.context_mut();
        if context.exit_pc == 0 || self.services.external.is_due || self.limits.soft_is_due {
            return false;
        }
        let sp = self.context_mut().exit_sp;
        let last = &mut self.prompt.address_taken_walk;
        if last.put_off == 0 {
            last.pending = pending;
        }
        let units = last.units.min(last.stack_end.saturating_sub(sp) / STACK_PER_UNIT);
        let has_paid = units <= FEW
            || last.put_off >= units
            || pending.saturating_sub(last.pending) as u64 >= units
            || allocated.saturating_sub(last.allocated) >= units * BYTES_PER_UNIT;
        last.put_off += u64::from(!has_paid);
        !has_paid
    }

    /// A safepoint that puts its drain off still counts what compiled code has named to it.
    #[cold]
    pub(in crate::plan::prompt) fn put_drain_off(mut heap: HeapEntry, words: &[u64]) {
        heap.apply_postponed();
        if heap.services.finalizers.depth() > 0 {
            // Left by a jump, perhaps.
            Heap::may_drain_inside(heap, words);
        }
        if heap.prompt.address_taken.is_due() {
            heap.settle_address_taken();
        }
    }
}
