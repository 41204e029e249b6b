//! The C symbols of finalizers; `services/finalizer.rs` explains them.

use super::{own, thread_heap};
use crate::safepoint_shim;
use tally_heap::heap::{Heap, HeapEntry};
use tally_heap::services::finalizer::{self, ErrorHook};

/// `int32_t tally_finalize_register(void *object)`:
/// [`Heap::register_finalizer`](tally_heap::Heap::register_finalizer) from C.
///
/// # Safety
/// `object` is an object of this thread's heap, or outside of all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_finalize_register(object: u64) -> i32 {
    leaf!(tally_finalize_register);
    let object = own(object, "tally_finalize_register");
    // SAFETY: [ALONE] borrowed for this statement alone.
    object.is_some_and(|object| unsafe { thread_heap() }.register_finalizer(object)).into()
}

/// `void tally_finalize_forget(void *object)`: [`Heap::forget_finalizer`](tally_heap::Heap::forget_finalizer) from C.
///
/// # Safety
/// As for [`tally_finalize_register`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_finalize_forget(object: u64) {
    leaf!(tally_finalize_forget);
    if let Some(object) = own(object, "tally_finalize_forget") {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.forget_finalizer(object);
    }
}

/// `void tally_on_finalizer_error(void (*hook)(void *object, const char *type, const char *message, void *exception))`:
/// [`finalizer::on_error`] from C.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_on_finalizer_error(hook: Option<ErrorHook>) {
    leaf!(tally_on_finalizer_error);
    finalizer::on_error(hook);
}

/// `void tally_finalize_at_exit(int32_t on)`: sets whether finalizers that have not run when the program ends run
/// then; 0 = they never do.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_finalize_at_exit(on: i32) {
    leaf!(tally_finalize_at_exit);
    finalizer::exit::run_at_exit(on != 0);
}

safepoint_shim! {
    /// `void tally_finalize_all(void)`: [`Heap::finalize_all_at_safepoint`] from C.
    tally_finalize_all => finalize_all
}

extern "C" fn finalize_all() {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    Heap::finalize_all_at_safepoint(unsafe { HeapEntry::of(heap) });
}
