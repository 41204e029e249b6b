//! The end of a stack for exceptions: what `begin` does with one. The switch itself is assembly (`crate::arch`).
//!
//! Both stacks look the same to the unwinder at every instruction of a switch, so debuggers see through it. A new stack looks
//! as if `begin` had called `swap`. `begin` calls the entry through `tally_call_managed` with no anchor: there walks end
//! (`stack_roots::anchor`). To unwinders it is the first frame. Its personality routine stops the process when an
//! exception comes by: it could only go on in frames of another stack.

use std::ffi::{c_int, c_void};
use tally_heap::fatal::{self, STATUS_USAGE};

/// The personality routine of `begin`: an exception, a panic or `pthread_exit` would leave the stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn tally_stack_personality(_: c_int, _: c_int, _: u64, _: *mut c_void, _: *mut c_void) -> c_int {
    fatal::stop(
        STATUS_USAGE,
        "an exception leaves the entry function of a stack that tally_stack_new has made: it must be caught there, and \
         handed on as a value",
    )
}
