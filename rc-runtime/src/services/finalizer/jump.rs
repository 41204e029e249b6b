//! Calls of the program by the runtime, and those among them that `longjmp` has left.
//!
//! A finalizer or a callback may jump to a `setjmp` further out. Nothing tells the runtime: its own frames in between
//! are gone, with what they had in hand. So all that must not be lost is in the heap while the program is called: each
//! call has a record here, and dying structures are parked (`prompt::reclaim`). A call is known to be left when
//!
//! - a safepoint comes from a frame that lies above that of the call: stacks grow downwards;
//! - managed code has come back from `setjmp` to such a frame (`tally_landed`), however deep it goes then;
//! - the number that the caller has written into its frame is not there any more.
//!
//! ```text
//! higher │ main: setjmp, a safepoint        ◄─── longjmp
//!        │ the runtime: drain, cascade
//!        │ call_program: its number          frame of the record
//!        │ the finalizer, what it calls
//! lower  │ …
//! ```
//!
//! The same is done then as after an exception: the object counts as finalized, the hook is called, and what was
//! being taken apart goes on at this safepoint. Native code that jumps, and calls deeper at once without touching the place
//! of the number, is found out later, by the first safepoint that comes from above.

use super::call::Call;
use super::call_program::RUNNING;
use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::plan::call_state::CallState;

/// `context.heap` of this thread has landed: calls from frames below `here` are left, and no safepoint may find out later.
///
/// # Safety
/// No call of a finalizer that began in a frame below `here` goes on. The heap is not borrowed.
pub unsafe fn note_landing(here: u64) {
    // SAFETY: [CONTEXT] this thread's context, and its heap, if it has one.
    let heap = unsafe { (*crate::context::current()).heap };
    // SAFETY: [CONTEXT] this thread's context, and its heap, if it has one.
    let Some(heap) = (unsafe { heap.as_mut() }) else { return };
    heap.note_landing_of_host(here);
    heap.note_landed();
    let mut any = false;
    for call in heap.services.finalizers.calls.iter_mut().filter(|call| call.frame < here) {
        (call.left, any) = (true, true);
    }
    if any {
        heap.request_callbacks();
    }
}

impl super::Finalizers {
    /// What the innermost call has interrupted, if the program is called.
    pub(crate) fn interrupted(&self) -> Option<CallState> {
        self.calls.last().map(|call| call.interrupted)
    }
}

impl Heap {
    /// The program is called with an object; `frame` is where the caller keeps the number that is returned.
    pub(super) fn begin_call(&mut self, object: ObjectRef, frame: u64) -> u64 {
        let interrupted = self.interrupt_for_call();
        let number = self.services.finalizers.called ^ frame.rotate_left(32) | 1;
        self.services.finalizers.called += 1;
        self.services.finalizers.running.push(object);
        self.zeal.iter_mut().for_each(|zeal| zeal.forget_waiting());
        let outer = RUNNING.replace(self).cast();
        let context = self.context_mut();
        let (anchor, address_taken) = (context.exit_anchor(), context.address_taken);
        let call = Call { frame, number, left: false, outer, interrupted, anchor, address_taken };
        self.services.finalizers.calls.push(call);
        number
    }

    /// It has returned.
    pub(super) fn end_call(&mut self, frame: u64) {
        if self.services.finalizers.calls.last().is_none_or(|call| call.frame != frame) {
            crate::fatal::stop(
                crate::fatal::STATUS_VIOLATION,
                "a finalizer returns that longjmp has left; it must not come back to it",
            );
        }
        self.close_call();
        // By one the finalizer may have saved its object.
        self.count_new_handles();
    }

    /// Undoes the changes of the innermost call.
    fn close_call(&mut self) -> Option<ObjectRef> {
        let call = self.services.finalizers.calls.pop()?;
        RUNNING.set(call.outer.cast());
        self.resume_after_call(call.interrupted);
        let context = self.context_mut();
        context.set_exit_anchor(call.anchor);
        context.address_taken = call.address_taken;
        self.services.finalizers.running.pop()
    }

    /// Whether calls are left that this thread made, as seen from here: their objects, which are held by what is done.
    #[inline(never)]
    pub(crate) fn abandon_left_calls(&mut self) -> List<ObjectRef> {
        let here = 0_u64;
        self.abandon_calls(&raw const here as u64)
    }

    /// The same of calls from frames below `here`.
    pub(super) fn abandon_calls(&mut self, here: u64) -> List<ObjectRef> {
        let mut left = List::new();
        let context = self.context_mut();
        let (anchor, address_taken) = (context.exit_anchor(), context.address_taken);
        while self.services.finalizers.calls.last().is_some_and(|call| call.is_left(here)) {
            let depth = self.services.finalizers.calls.len() - 1;
            let object = self.close_call().expect("one for each call");
            self.take_over_interrupted(depth);
            self.services.finalizers.done.push(object);
            left.push(object);
        }
        if left.is_empty() {
            return left;
        }
        self.end_left_holds(here);
        let context = self.context_mut();
        // The program is at this safepoint, and its frames that noted address-taken roots since are gone, as those of the calls are.
        context.set_exit_anchor(anchor);
        context.address_taken = context.address_taken.min(address_taken);
        self.end_protection_of_left_calls();
        if self.services.finalizers.calls.is_empty() {
            self.end_interrupted_work();
        }
        left
    }

    /// No call is left on the stack, and no frame of the collector.
    fn end_interrupted_work(&mut self) {
        self.services.specials.post_clear.abandon();
        let finalizers = &mut self.services.finalizers;
        (finalizers.collecting, finalizers.collect_wanted) = (false, false);
        finalizers.done.append(&mut finalizers.later);
        self.request_interrupted_work();
    }

    /// Tells the hook of the objects whose finalizers were left.
    pub(crate) fn tell_of_jumps(heap: HeapEntry, objects: List<ObjectRef>) {
        for object in objects {
            Heap::report_error(heap, object, object.type_info(), &crate::services::exception::Escaped::Jump);
        }
    }
}
