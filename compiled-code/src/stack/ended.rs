//! Frames that `exit` has left for ever, although they still lie on the stack. `[ROOT]`
//!
//! The exit work frees what only such frames hold. Destructors and handlers may run after it, and collect. Their frames
//! lie below, and a walk goes on from there to the frames of the program:
//!
//! ```text
//! higher │ frames of the program                                 ── end
//!        │ the newest of them that has roots                     ── start
//!        │ native code: `exit`, what runs its handlers
//! lower  │ destructors, finalizers, handlers: they have roots
//! ```
//!
//! So the exit work notes the range ([`note`]), and walks step over the roots of frames inside it. LLVM's shadow stack
//! is a chain instead of frames: there the exit work takes the entries off.
//!
//! Rejected: an end of the walk at the first of these frames. The unwinder visits the frames behind native code in one
//! run, and no run can stop in the middle.

use crate::stack::bounds;
use crate::stack::shadow_stack;
use stack_roots::FrameRoot;
use std::cell::Cell;

/// Where the frames lie that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ended {
    start: u64,
    bytes: u64,
}

impl Ended {
    /// Those of the calling thread.
    pub(super) fn of_this_thread() -> Ended {
        ENDED.get()
    }

    /// Whether there are any.
    #[inline(always)]
    pub(super) fn are_any(self) -> bool {
        self.bytes != 0
    }

    /// Calls `visit` with the roots of other frames.
    #[inline(always)]
    pub(super) fn left_out_of(self, mut visit: impl FnMut(&FrameRoot)) -> impl FnMut(&FrameRoot) {
        move |root| {
            if !self.contains(root.sp) {
                visit(root);
            }
        }
    }

    /// Whether the frame with this stack pointer is one of them.
    #[inline(always)]
    fn contains(self, sp: u64) -> bool {
        sp.wrapping_sub(self.start) < self.bytes
    }
}

thread_local! {
    static ENDED: Cell<Ended> = const { Cell::new(Ended { start: 0, bytes: 0 }) };
}

/// Notes that all compiled frames on the running stack have ended: no frame below returns to one. `newest` is the stack
/// pointer of the newest of them that has roots.
pub(crate) fn note(newest: Option<u64>) {
    let end = bounds::end();
    if let Some(start) = newest {
        ENDED.set(Ended { start, bytes: end.saturating_sub(start) });
    }
    shadow_stack::leave_stack(bounds::low()..end);
}

#[cfg(test)]
mod tests {
    use super::Ended;

    #[test]
    fn range_holds_its_start_and_not_its_end() {
        let ended = Ended { start: 0x1000, bytes: 0x100 };
        let held = [0xff8, 0x1000, 0x10f8, 0x1100].map(|sp| ended.contains(sp));
        assert_eq!(held, [false, true, true, false]);
        assert!(!Ended::default().contains(0), "no frame has ended");
    }
}
