//! A call of the program by the runtime: what it has interrupted, and how it is seen that `longjmp` has left it (`jump`).

use crate::plan::call_state::CallState;
use std::ffi::c_void;

/// A call that has not returned.
#[derive(Debug)]
pub(crate) struct Call {
    /// Where its number lies, in the frame of its caller.
    pub(super) frame: u64,
    pub(super) number: u64,
    /// The program has landed in a frame above.
    pub(super) left: bool,
    /// The heap whose finalizer ran on this thread before.
    pub(super) outer: *mut c_void,
    /// What it has interrupted.
    pub(super) interrupted: CallState,
    pub(super) anchor: [u64; 4],
    pub(super) address_taken: u64,
}

impl Call {
    pub(super) fn is_left(&self, here: u64) -> bool {
        // SAFETY: above `here`, on this thread's stack.
        self.left || self.frame < here || unsafe { std::ptr::read_volatile(self.frame as *const u64) } != self.number
    }
}
