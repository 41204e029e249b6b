//! Finalizers: a type's destructor, called when an object of it is about to die. Once.
//!
//! It runs inside a drain, as ordinary mutator code, with the object held by one count meanwhile. So it may do anything the
//! program may: allocate, write into the dying object (what it stores there is released with the other fields), store the
//! object somewhere (then it lives on, and its finalizer will not run again), drop other objects, and come back here: a drain
//! inside it takes what became pending since it began.
//!
//! What may not leave it is an exception: the drain stands between it and anyone who could catch it. The program stops then
//! with status 5 and the type's name.
//!
//! The context's exit anchor, from which stacks are walked, is that of the drain again afterwards.

use crate::fatal::{self, STATUS_VIOLATION};
use crate::heap::Heap;
use crate::object::{ObjectRef, prompt_flag};
use crate::type_registry::TypeInfo;
use std::ffi::c_void;

/// `void finalize(void *object)`.
pub type Finalizer = unsafe extern "C-unwind" fn(object: *mut c_void);

impl Heap {
    /// Runs the object's finalizer; true when the object is dead afterwards.
    ///
    /// # Safety
    /// As for [`prompt_safepoint`](Self::prompt_safepoint); the object's count is zero.
    pub(super) unsafe fn run_finalizer(heap: *mut Heap, object: ObjectRef) -> bool {
        object.remove_flags(prompt_flag::DYING);
        object.set_exact_count(1);
        // SAFETY: by the caller's promise.
        unsafe { Heap::finalize(heap, object) };
        let count = object.exact_count().wrapping_sub(1);
        object.set_exact_count(count);
        if count != 0 {
            // SAFETY: as above.
            unsafe { (&mut *heap).note_survivor(object) };
        }
        count == 0
    }

    /// Runs the finalizer of a member of a dead cycle, which one count holds; then that count goes, and the cycle is judged
    /// again, with what the finalizers made of it.
    ///
    /// # Safety
    /// As for [`prompt_safepoint`](Self::prompt_safepoint).
    pub(super) unsafe fn finalize_in_cycle(heap: *mut Heap, object: ObjectRef) {
        // SAFETY: by the caller's promise.
        unsafe {
            if object.needs_finalizer() {
                Heap::finalize(heap, object);
            }
            (&mut *heap).decrement_exact(object);
        }
    }

    /// An object that was at zero is counted again.
    #[inline(always)]
    pub(super) fn note_survivor(&mut self, object: ObjectRef) {
        if !object.is_settled() {
            self.note_candidate(object);
        }
    }

    unsafe fn finalize(heap: *mut Heap, object: ObjectRef) {
        object.add_flags(prompt_flag::FINALIZED);
        let info = object.type_info();
        let Some(finalizer) = info.finalize else { return };
        // SAFETY: by the caller's promise; the borrows end before the call.
        unsafe {
            let (anchor, drain_from) = {
                let heap = &mut *heap;
                let from = heap.pending_count();
                heap.prompt.depth += 1;
                let context = heap.context_mut();
                let anchor = (context.exit_pc, context.exit_sp, context.exit_fp, context.exit_rbx);
                (anchor, std::mem::replace(&mut heap.prompt.drain_from, from))
            };
            let units_left = (*heap).prompt.units_left;
            let guard = LeavesByException(info);
            finalizer(object.address() as *mut c_void);
            std::mem::forget(guard);
            let heap = &mut *heap;
            heap.prompt.units_left = units_left;
            heap.prompt.drain_from = drain_from;
            heap.prompt.depth -= 1;
            let context = heap.context_mut();
            (context.exit_pc, context.exit_sp, context.exit_fp, context.exit_rbx) = anchor;
        }
    }
}

/// Dropped only when the stack is unwound through a finalizer's call.
struct LeavesByException(&'static TypeInfo);

impl Drop for LeavesByException {
    fn drop(&mut self) {
        fatal::stop(
            STATUS_VIOLATION,
            &format!(
                "an exception has left the finalizer of type `{}`; catch it there: nobody waits for it in the middle of \
                 an object's destruction",
                self.0.name
            ),
        );
    }
}
