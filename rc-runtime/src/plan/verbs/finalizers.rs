//! Verbs: objects with finalizers are listed, found and finalized.

use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::plan::call_state::CallState;
use crate::plan::prompt::interrupted::InterruptedDrain;

impl Heap {
    /// The object's finalizer is to run when it is found dead.
    #[inline(always)]
    pub(crate) fn note_registered(&mut self, object: ObjectRef) {
        match self.plan() {
            Plan::Deferred => self.list_registered(object),
            Plan::Prompt => {}
        }
    }

    /// Its finalizer runs now, or never.
    #[inline(always)]
    pub(crate) fn note_unregistered(&mut self) {
        match self.plan() {
            Plan::Deferred => self.finalizers.due -= 1,
            Plan::Prompt => {}
        }
    }

    /// The object waits for its finalizer, and something but the queue holds it.
    pub(crate) fn is_held_beside_queue(&self, object: ObjectRef) -> bool {
        match self.plan() {
            Plan::Deferred => self.is_counted_beside_queue(object),
            Plan::Prompt => object.exact_count() > 1,
        }
    }

    /// Puts every object of which `is_due` in front of the queue, in the order of the end, each held by a count. Returns how many
    /// there are.
    pub(crate) fn queue_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> usize {
        match self.plan() {
            Plan::Deferred => self.queue_mature_finalizable(is_due),
            Plan::Prompt => self.queue_counted_finalizable(is_due),
        }
    }

    /// Whether there may be an object of which `is_due`.
    pub(crate) fn has_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> bool {
        let mut found = false;
        match self.plan() {
            Plan::Deferred => {
                self.for_each_mature(|_, object| found |= is_due(object));
                found || self.finalizers.has_young()
            }
            Plan::Prompt => {
                self.for_each_counted(|_, object| found |= is_due(object));
                found
            }
        }
    }

    /// Runs the finalizer of an object that was taken off the queue.
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    pub(crate) unsafe fn finalize_one(heap: *mut Heap, object: ObjectRef) {
        // SAFETY: by the caller's promise.
        unsafe {
            match (*heap).plan() {
                Plan::Deferred => Heap::run_waiting(heap, object),
                Plan::Prompt => Heap::finalize_in_cycle(heap, object),
            }
        }
    }

    /// After finalizers outside a safepoint: what they brought to zero dies.
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    pub(crate) unsafe fn settle_after_finalizers(heap: *mut Heap) {
        // SAFETY: by the caller's promise.
        unsafe {
            match (*heap).plan() {
                Plan::Deferred => {}
                Plan::Prompt => {
                    Heap::drain_all(heap);
                    (&mut *heap).let_registered_anew_go();
                }
            }
        }
    }

    /// Calls of finalizers were abandoned: objects that were registered anew are released, where that is not left to a flip.
    pub(crate) fn settle_after_abandoned_calls(&mut self) {
        match self.plan() {
            Plan::Deferred => {}
            Plan::Prompt => self.let_registered_anew_go(),
        }
    }

    /// The program is called. Returns what that interrupts.
    pub(crate) fn interrupt_for_call(&mut self) -> CallState {
        match self.plan() {
            Plan::Deferred => CallState::Deferred,
            Plan::Prompt => CallState::Prompt(self.interrupt_drain()),
        }
    }

    /// The call has ended: what it has interrupted goes on.
    pub(crate) fn resume_after_call(&mut self, interrupted: CallState) {
        match interrupted {
            CallState::Deferred => {}
            CallState::Prompt(interrupted) => self.resume_drain(interrupted),
        }
    }

    /// Calls were left by a jump: what was protected for their sake is not any more.
    pub(crate) fn end_protection_of_left_calls(&mut self) {
        match self.plan() {
            Plan::Deferred => {}
            Plan::Prompt => {
                let interrupted = match self.finalizers.interrupted() {
                    Some(CallState::Prompt(interrupted)) => interrupted,
                    Some(CallState::Deferred) | None => InterruptedDrain::default(),
                };
                self.end_protection(interrupted);
            }
        }
    }

    /// The program has come back from `setjmp`, the second time perhaps.
    pub(crate) fn note_landed(&mut self) {
        match self.plan() {
            Plan::Deferred => {}
            Plan::Prompt => self.prompt.landed = true,
        }
    }

    /// The call of the program at `depth` will not return: what it has interrupted goes on, or is taken over.
    pub(crate) fn take_over_interrupted(&mut self, depth: usize) {
        match self.plan() {
            Plan::Deferred => {}
            Plan::Prompt => self.take_over_parked(depth),
        }
    }
}
