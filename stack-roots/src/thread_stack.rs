//! All roots of the calling thread, whatever lies between its managed frames.
//!
//! This is what an epoch calls. It is the crate's story in one loop: walk by frame pointers; at a native frame, or one
//! that needs rbx, let the unwinder cross; walk on. `[ROOT]` Every managed frame down to the entry is visited exactly
//! once, or the end says why not.
//!
//! A suspended stack (a coroutine's) cannot be unwound from outside; for those call `walk::walk` with its registers.

use crate::frame_table::Lookup;
use crate::unwind::{Reach, UnwindEnd, unwind};
use crate::walk::{FrameRoot, Registers, StackFault, WalkEnd, walk};

/// Visits the roots of every managed frame of the calling thread from `registers` to the entry of managed code.
///
/// `registers` are those of the topmost managed frame, as the shim found them when compiled code called it.
/// `read_word` is asked for words of this thread's stack at or above `registers.sp`; `None` means unreadable.
pub fn visit_thread_stack<F: Lookup + ?Sized>(
    mut registers: Registers,
    mut read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entry_return: u64,
    mut visit: impl FnMut(FrameRoot),
) -> StackVisit {
    let mut visited = StackVisit { frames: 0, unwinder_steps: 0, end: StackEnd::Bottom { registers } };
    loop {
        let walked = walk(registers, &mut read_word, frames, entry_return, &mut visit);
        visited.frames += walked.frames;
        let from_sp = match walked.end {
            WalkEnd::Unknown { registers } | WalkEnd::NeedsUnwinder { registers } => registers.sp,
            WalkEnd::Bottom { registers } => return visited.ended(StackEnd::Bottom { registers }),
            WalkEnd::Malformed { registers, fault } => return visited.ended(StackEnd::Malformed { registers, fault }),
        };
        let crossed = unwind(from_sp, Reach::TwiceAsDeep, &mut read_word, frames, entry_return, &mut visit);
        visited.frames += crossed.frames;
        visited.unwinder_steps += crossed.steps;
        registers = match crossed.end {
            UnwindEnd::Managed { registers } => registers,
            UnwindEnd::Bottom { registers } => return visited.ended(StackEnd::Bottom { registers }),
            UnwindEnd::EndOfStack { pc } => return visited.ended(StackEnd::EndOfStack { pc }),
            UnwindEnd::Malformed { registers, fault } => {
                return visited.ended(StackEnd::Malformed { registers, fault });
            }
        };
    }
}

/// How the visit went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackVisit {
    /// Managed frames visited.
    pub frames: usize,
    /// Frames the unwinder stepped over, all runs together; 0 when no native frame was met.
    pub unwinder_steps: usize,
    /// Why it ended.
    pub end: StackEnd,
}

impl StackVisit {
    fn ended(self, end: StackEnd) -> StackVisit {
        StackVisit { end, ..self }
    }
}

/// Why the visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackEnd {
    /// At the frame that entered managed code: every root is visited. Where a host entered managed code from a native
    /// function that managed code had called, `unwind` from above `registers.sp` visits the outer part.
    Bottom {
        /// Of the frame that entered managed code.
        registers: Registers,
    },
    /// The stack ended, or a frame without an unwind table hides the rest, before the entry was met.
    EndOfStack {
        /// The last return address seen.
        pc: u64,
    },
    /// The stack is not as compiled code leaves it.
    Malformed {
        /// Of the frame where it shows.
        registers: Registers,
        /// What is wrong.
        fault: StackFault,
    },
}
