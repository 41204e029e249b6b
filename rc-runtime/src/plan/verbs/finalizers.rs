//! Verbs: to list, find and finalize objects with finalizers.

use crate::heap::{Heap, HeapEntry};
use crate::object::{ObjectRef, flag};
use crate::plan::Plan;
use crate::plan::call_state::CallState;
use crate::plan::prompt::interrupted::InterruptedDrain;

impl Heap {
    /// Notes that the object's finalizer must run when the object is found dead.
    #[inline(always)]
    pub(crate) fn note_registered(&mut self, object: ObjectRef) {
        match self.regime() {
            Plan::Deferred => self.list_registered(object),
            Plan::Prompt => {}
            Plan::Trace => self.list_finalizable(object),
        }
    }

    /// Notes that an object's finalizer runs now, or never will.
    #[inline(always)]
    pub(crate) fn note_unregistered(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.services.finalizers.due -= 1,
            Plan::Prompt => {}
        }
    }

    /// Whether the object waits for its finalizer and is held by more than the queue.
    pub(crate) fn is_held_beside_queue(&self, object: ObjectRef) -> bool {
        match self.regime() {
            Plan::Deferred => self.is_counted_beside_queue(object),
            Plan::Prompt => object.exact_count() > 1,
            Plan::Trace => object.has(flag::FOUND),
        }
    }

    /// Whether a set has all that an owner of it owns, however far below. Where objects are counted what it owns dies after it.
    pub(crate) fn marks_find_all_owned(&self) -> bool {
        match self.regime() {
            Plan::Deferred | Plan::Prompt => false,
            Plan::Trace => true,
        }
    }

    /// Notes that the object waits for its finalizer no more: whether another object that waits refers to it is noted anew.
    #[inline(always)]
    pub(crate) fn forget_owner(&self, object: ObjectRef) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => object.remove_flags(flag::FOUND),
            Plan::Prompt => {}
        }
    }

    /// Puts every object for which `is_due` is true in front of the queue, in the order in which the program's end
    /// runs them, each held by a count. Returns their number.
    pub(crate) fn queue_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> usize {
        match self.regime() {
            Plan::Deferred => self.queue_mature_finalizable(is_due),
            Plan::Prompt => self.queue_counted_finalizable(is_due),
            Plan::Trace => self.queue_listed_finalizable(is_due),
        }
    }

    /// Whether there may be an object for which `is_due` is true.
    pub(crate) fn has_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> bool {
        let mut found = false;
        match self.regime() {
            Plan::Deferred => {
                self.for_each_mature(|_, object| found |= is_due(object));
                found || self.services.finalizers.has_young()
            }
            Plan::Prompt => {
                self.for_each_counted(|_, object| found |= is_due(object));
                found
            }
            Plan::Trace => {
                self.finish_taking_over();
                self.trace.finalizable.iter().any(|&object| is_due(object))
            }
        }
    }

    /// Whether a collection in slices judges the dead: it goes through the queue by places, so finalizers wait until all is judged.
    pub(crate) fn judges_the_queue(&self) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.trace.slices.judge(),
            Plan::Prompt => false,
        }
    }

    /// Whether finalizers take turns with the program, so that none of their turns is longer than a slice. Prompt plan: not while a
    /// drain is to be complete.
    pub(crate) fn finalizers_take_turns(&self) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.services.finalizers.take_turns,
            Plan::Prompt => self.prompt.sliced_drains,
        }
    }

    /// Runs the finalizer of an object that was taken off the queue.
    pub(crate) fn finalize_one(heap: HeapEntry, object: ObjectRef) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => Heap::run_waiting(heap, object),
            Plan::Prompt => Heap::finalize_in_cycle(heap, object),
        }
    }

    /// Ends a turn of finalizers outside a safepoint: the objects that they brought to zero die.
    pub(crate) fn settle_after_finalizers(mut heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => {
                Heap::drain_all(heap);
                heap.let_registered_anew_go();
            }
        }
    }

    /// Releases objects that were registered anew after calls of finalizers were abandoned, unless a flip does it.
    pub(crate) fn settle_after_abandoned_calls(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.let_registered_anew_go(),
        }
    }

    /// Prepares for a call of the program. Returns the state that the call interrupts.
    pub(crate) fn interrupt_for_call(&mut self) -> CallState {
        match self.plan() {
            Plan::Deferred | Plan::Trace => CallState::Uninterrupted,
            Plan::Prompt => CallState::Prompt(self.interrupt_drain()),
        }
    }

    /// Resumes the interrupted state after the call.
    pub(crate) fn resume_after_call(&mut self, interrupted: CallState) {
        match interrupted {
            CallState::Uninterrupted => {}
            CallState::Prompt(interrupted) => self.resume_drain(interrupted),
        }
    }

    /// Ends the protection of objects for calls that were left by a jump.
    pub(crate) fn end_protection_of_left_calls(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => {
                let interrupted = match self.services.finalizers.interrupted() {
                    Some(CallState::Prompt(interrupted)) => interrupted,
                    Some(CallState::Uninterrupted) | None => InterruptedDrain::default(),
                };
                self.end_protection(interrupted);
            }
        }
    }

    /// Notes that frames have ended without releasing what their roots counted: `setjmp` has returned, perhaps for the second
    /// time, or `exit` was called.
    pub fn note_landed(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.prompt.landed = true,
        }
    }

    /// Ends the calls of the program that `longjmp` has left, as a safepoint does.
    pub fn end_left_calls(mut heap: HeapEntry) {
        match heap.plan() {
            Plan::Deferred | Plan::Trace => {
                let left = heap.abandon_left_calls();
                Heap::tell_of_jumps(heap, left);
            }
            Plan::Prompt => {
                Heap::notice_jumps(heap);
            }
        }
    }

    /// Resumes or takes over the state that the call of the program at `depth` has interrupted: that call will not
    /// return.
    pub(crate) fn take_over_interrupted(&mut self, depth: usize) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.take_over_parked(depth),
        }
    }
}
