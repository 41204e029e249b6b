//! How often drains walk the stack for address-taken roots. `[ROOT]` `[BOUND]`
//!
//! A root whose address was passed on may be written to by native code, which does not report it. So its object may be at zero, and
//! before anything dies such roots must be read: all of them, since one store to any of them leaves no trace elsewhere. No
//! scheme that frees at every safepoint does with less, unless each store of native code is caught. *N* nested frames that lend,
//! with a drain in each, were *N²* frames walked.
//!
//! So a drain that would walk a deep stack again is *put off* until the program has done as much as the walk will cost. What is
//! at zero stays pending meanwhile. A walk of *W* units (frames, root slots, and steps of the unwinder, each as some) is
//! followed by the next one after
//!
//! | | |
//! |---|---|
//! | *W* safepoints | at which anything was pending |
//! | or *W* more pending objects | |
//! | or *W* × [`BYTES_PER_UNIT`] bytes allocated | about what the stack itself takes |
//!
//! So all walks of a program cost a constant part of its safepoints, deaths and allocation. Garbage that waits was alive at
//! the last walk, or is of those few bytes. A walk of up to [`FEW`] units is made by every drain; so is any where no frame
//! lends. Explicit collections, limits and steps put nothing off, nor does zeal over a small heap.
//!
//! The stack may have become shorter: it has no more units than a fourth of its bytes, and that many are enough. It may have become
//! deeper by calls: those are the program's work, too.

use crate::heap::Heap;

/// Units of a walk that is never put off.
pub const FEW: u64 = 1024;
/// Bytes allocated that pay for a unit.
const BYTES_PER_UNIT: u64 = 64;
/// Bytes of stack that a unit takes, at least.
const STACK_PER_UNIT: u64 = 4;

/// The last walk.
#[derive(Debug, Default)]
pub struct LentWalk {
    /// What it cost.
    units: u64,
    /// One past the stack that it went through.
    stack_end: u64,
    /// Bytes allocated before it.
    allocated: u64,
    /// Objects that it left pending.
    pending: usize,
    /// Safepoints since then that have put their drain off.
    put_off: u64,
}

impl Heap {
    /// Roots that may have been written to were looked for, in so many units, up to the end of the stack.
    pub fn note_lent_walk(&mut self, units: u64, stack_end: u64) {
        let allocated = self.counted_allocated_bytes();
        self.prompt.lent_walk = LentWalk { units, stack_end, allocated, pending: 0, put_off: 0 };
    }

    /// Frames lend roots: whether this safepoint leaves the pending objects to a later one.
    #[cold]
    pub(super) fn puts_drain_off(&mut self) -> bool {
        let is_zealous = self.zeal.as_ref().is_some_and(|zeal| zeal.is_small());
        if self.prompt.lent_walk.units <= FEW || is_zealous {
            return false;
        }
        let (pending, allocated) = (self.pending_count(), self.counted_allocated_bytes());
        let context = self.context_mut();
        if context.exit_pc == 0 || self.external.is_due || self.limits.soft_is_due {
            return false;
        }
        let sp = self.context_mut().exit_sp;
        let last = &mut self.prompt.lent_walk;
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
    ///
    /// # Safety
    /// As for [`prompt_safepoint`](Self::prompt_safepoint).
    #[cold]
    pub(super) unsafe fn put_drain_off(heap: *mut Heap, words: &[u64]) {
        // SAFETY: by the caller's promise.
        unsafe {
            (&mut *heap).apply_postponed();
            if (*heap).finalizers.depth() > 0 {
                // Left by a jump, perhaps.
                Heap::may_drain_inside(heap, words);
            }
            if (*heap).prompt.lent.is_due() {
                (&mut *heap).settle_lent();
            }
        }
    }
}
