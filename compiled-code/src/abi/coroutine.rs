//! The C symbols for stacks of the program's own (`crate::stack::coroutine`); `tally.h` has their contract.

use crate::abi::thread_heap;
pub use crate::arch::tally_stack_switch;
use crate::safepoint_shim;
use crate::stack::coroutine::{Entry, switching};
use tally_heap::ObjectRef;
use tally_heap::fatal::{self, STATUS_USAGE};

safepoint_shim! {
    /// `void *tally_stack_new(void *(*entry)(void *value), uint64_t bytes)`: a new stack, or null.
    tally_stack_new => new
}
safepoint_shim! {
    /// `void *tally_stack_current(void)`: the stack that runs.
    tally_stack_current => current
}

extern "C" fn new(entry: Option<Entry>, bytes: u64) -> u64 {
    let Some(entry) = entry else { fatal::stop(STATUS_USAGE, "tally_stack_new: the entry function is null") };
    // SAFETY: [ALONE] borrowed for this statement alone.
    switching::new(unsafe { thread_heap() }, entry, bytes)
}

extern "C" fn current() -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    switching::main_of(unsafe { thread_heap() }).address()
}

/// `void tally_stack_keep(void *stack, void *value)`: what lowered code calls in front of a switch to `stack` with `value`, where roots
/// are inferred for every pointer. There a caller keeps the arguments of a call; the caller of an entry is a switch, which returns
/// before the entry does, so the stack keeps the argument: until then, or until it is closed.
///
/// # Safety
/// `stack` and `value` are what the switch is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_stack_keep(stack: u64, value: u64) {
    leaf!(tally_stack_keep);
    // SAFETY: [HEADER] by the caller's promise.
    if let Some(value) = unsafe { ObjectRef::of_word(value) } {
        // SAFETY: [ALONE] borrowed for this statement alone.
        switching::keep(unsafe { thread_heap() }, stack, value);
    }
}

/// `int32_t tally_stack_status(void *stack)`: what a stack does.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_stack_status(stack: u64) -> i32 {
    leaf!(tally_stack_status);
    // SAFETY: [ALONE] borrowed for this statement alone.
    switching::status(unsafe { thread_heap() }, stack)
}

/// `void tally_stack_close(void *stack)`: lets go of a suspended stack's frames.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_stack_close(stack: u64) {
    leaf!(tally_stack_close);
    // SAFETY: [ALONE] borrowed for this statement alone.
    switching::close(unsafe { thread_heap() }, stack);
}
