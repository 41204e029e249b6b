//! What a call of the program interrupts, by plan: saved by the verb that begins a call, and restored by the one that ends it.

use crate::plan::prompt::interrupted::InterruptedDrain;

/// See the file's first lines.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallState {
    /// The program is called at the end of a safepoint: nothing is interrupted.
    Uninterrupted,
    /// It is called in the midst of a drain.
    Prompt(InterruptedDrain),
}
