//! AddressSanitizer is told of stacks that the program switches between, if the process has it.
//!
//! It knows one stack a thread, and asks for two calls around a switch (`sanitizer/common_interface_defs.h`): one on the stack that
//! is left, with the bounds of the other, and one on the other. A switch here ends in a jump to the program (decision 112), so no
//! code of ours runs behind it: the second call is made up for before the next switch begins. Between the two the sanitizer takes
//! the bounds that it was told where they fit, and new frames are on the true stack, not among those that it keeps to find uses
//! after a return.

use crate::arch::weak_symbol;
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;

type Start = unsafe extern "C" fn(save: *mut *mut c_void, bottom: *const c_void, bytes: usize);
type Finish = unsafe extern "C" fn(saved: *mut c_void, bottom: *mut *const c_void, bytes: *mut usize);
type Unpoison = unsafe extern "C" fn(start: *const c_void, bytes: usize);

weak_symbol!(start_switch, "__sanitizer_start_switch_fiber");
weak_symbol!(finish_switch, "__sanitizer_finish_switch_fiber");
weak_symbol!(unpoison, "__asan_unpoison_memory_region");

thread_local! {
    /// A switch has been begun, and is not finished.
    static IS_BEGUN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the process has it.
#[inline(always)]
pub fn is_there() -> bool {
    // SAFETY: takes nothing, and returns an address.
    !unsafe { start_switch() }.is_null()
}

/// The program is about to leave a stack, for one with those bounds. `from` is what the sanitizer keeps for the stack that is left, for
/// when it goes on, unless it has finished.
#[cold]
pub fn begin_switch(from: &Cell<*mut c_void>, has_finished: bool, to: Range<u64>) {
    // SAFETY: takes nothing, and returns an address.
    let start = unsafe { start_switch() };
    // SAFETY: takes nothing, and returns an address.
    let finish = unsafe { finish_switch() };
    if start.is_null() || finish.is_null() {
        return;
    }
    // SAFETY: the sanitizer's function, of this type.
    let start = unsafe { std::mem::transmute::<*const c_void, Start>(start) };
    // SAFETY: the sanitizer's function, of this type.
    let finish = unsafe { std::mem::transmute::<*const c_void, Finish>(finish) };
    if IS_BEGUN.replace(true) {
        // SAFETY: the stack that runs, which that switch has led to; bounds are not asked for.
        unsafe { finish(from.get(), std::ptr::null_mut(), std::ptr::null_mut()) };
    }
    let save = if has_finished { std::ptr::null_mut() } else { from.as_ptr() };
    // SAFETY: bounds of a stack.
    unsafe { start(save, to.start as *const c_void, (to.end - to.start) as usize) };
}

/// Memory becomes a stack: frames that were left on it before without a return are forgotten.
pub fn forget_frames(memory: Range<u64>) {
    // SAFETY: takes nothing, and returns an address.
    let unpoison = unsafe { unpoison() };
    if unpoison.is_null() {
        return;
    }
    // SAFETY: the sanitizer's function, of this type.
    let unpoison = unsafe { std::mem::transmute::<*const c_void, Unpoison>(unpoison) };
    // SAFETY: memory that is mapped.
    unsafe { unpoison(memory.start as *const c_void, (memory.end - memory.start) as usize) };
}
