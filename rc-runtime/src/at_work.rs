//! Calls of functions of the program in the midst of the collector's work: those that free a value of the host, clear a weak slot,
//! or trace words. Finalizers are called between its steps, in another way (`services/finalizer`).
//!
//! If such a function is managed, its safepoints come by while others are taken apart. They pass over the collector
//! (`Heap::passes_over`), and the stack is walked from where the outer safepoint began. With a drain inside a drain, objects died
//! twice. `[RECLAIM]` The words that tell a safepoint so lie in the thread's heap; this file is told where, and names nothing, so
//! that readers of objects (`visit`) may name it.

use std::cell::Cell;
use std::ptr;

/// Bit of `Heap::stopped`: such a function is being called.
pub(crate) const AT_WORK: u8 = 2;

/// Words of the thread's heap and of its context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// `Heap::stopped`; null: the thread has no heap.
    pub(crate) stopped: *mut u8,
    /// `Heap::work_anchor`: the exit anchor of the outer safepoint.
    pub(crate) kept: *mut [u64; 4],
    /// The context's exit anchor.
    pub(crate) anchor: *mut [u64; 4],
}

impl Places {
    /// Those of a thread without heap.
    pub(crate) const NONE: Places = Places { stopped: ptr::null_mut(), kept: ptr::null_mut(), anchor: ptr::null_mut() };
}

thread_local! {
    static PLACES: Cell<Places> = const { Cell::new(Places::NONE) };
}

/// Sets the words of the heap that is attached to the thread from now on.
pub(crate) fn attached(places: Places) {
    PLACES.set(places);
}

/// Calls such a function.
#[inline(always)]
pub(crate) fn call<T>(function: impl FnOnce() -> T) -> T {
    let Places { stopped, kept, anchor } = PLACES.get();
    if stopped.is_null() {
        return function();
    }
    // SAFETY: [CONTEXT] words of the attached heap and of its context, which only this thread uses. Managed code finds them by the
    // context, so that the stores are not to be left out.
    let before = unsafe { stopped.read_volatile() };
    // SAFETY: as above.
    let outer = unsafe { kept.read_volatile() };
    // SAFETY: as above.
    let here = unsafe { anchor.read_volatile() };
    // SAFETY: as above.
    unsafe { kept.write_volatile(here) };
    // SAFETY: as above.
    unsafe { stopped.write_volatile(before | AT_WORK) };
    let answer = function();
    // SAFETY: as above.
    unsafe { stopped.write_volatile(before) };
    // SAFETY: as above.
    unsafe { kept.write_volatile(outer) };
    // SAFETY: as above.
    unsafe { anchor.write_volatile(here) };
    answer
}
