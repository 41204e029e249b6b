//! The bounds of the stack that runs: a coroutine's, or the thread's own.

use crate::stack::coroutine::{self, memory};
use crate::thread::stack_overflow::Stack;

/// The lowest address of the stack that runs; the highest of all where the C library does not know it.
pub(super) fn low() -> u64 {
    of_running_stack().0
}

/// One past the stack that runs.
pub(crate) fn end() -> u64 {
    of_running_stack().1
}

fn of_running_stack() -> (u64, u64) {
    match coroutine::current().filter(|record| !record.is_the_threads()) {
        Some(record) => (record.bounds().start, record.bounds().end),
        None => of_thread(),
    }
}

/// The bounds of the thread's own stack.
pub(super) fn of_thread() -> (u64, u64) {
    match Stack::of_this_thread() {
        Stack { high: 0, .. } => (!7, !7),
        stack => (stack.low, stack.high),
    }
}

/// Whether an address lies on a stack of the calling thread, or of another's coroutine, that does not run.
#[cold]
pub(crate) fn lies_on_a_stopped_stack(address: u64) -> bool {
    let Some(running) = coroutine::current() else { return false };
    let (low, high) = of_thread();
    !running.bounds().contains(&address) && ((low..high).contains(&address) || memory::holds(address))
}
