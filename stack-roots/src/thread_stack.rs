//! All roots of the calling thread, also where native frames lie between its managed ones.
//!
//! A flip calls this. It joins the crate's parts in one loop: walk by frame pointers; at a native frame, or one that
//! needs rbx, let the unwinder cross; where native code left an anchor, go on there; walk on. `[ROOT]` Every managed
//! frame down to the entry is visited exactly once, or [`StackEnd`] tells why not.
//!
//! A stopped stack (a coroutine's) is visited from the registers with which it stopped ([`visit_stopped_stack`]).

use crate::anchor::{self, Entries};
use crate::frame_table::Lookup;
use crate::stack_fault::StackFault;
use crate::unwind::{Origin, Reach, UnwindEnd, unwind};
use crate::walk::{FrameRoot, Registers, WalkEnd, walk_some};

/// Visits the roots of every managed frame of the calling thread from `registers` to the entry of managed code.
///
/// `registers` are those of the topmost managed frame, as the shim found them when compiled code called it.
/// `read_word` reads words of this thread's stack at or above `registers.sp`; it returns `None` for an unreadable
/// one.
pub fn visit_thread_stack<F: Lookup + ?Sized>(
    registers: Registers,
    read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: impl Into<Entries>,
    visit: impl FnMut(&FrameRoot),
) -> StackVisit {
    visit_some(Position::from(registers), read_word, frames, entries.into(), usize::MAX, visit)
}

/// The same for about `limit` frames, from the frame at which an earlier visit stopped. It pauses below a managed
/// frame.
///
/// A visit in parts must not step over all frames above each time. So it goes on with the unwinder at the native
/// frame itself, and from the top only if that leads nowhere (a frame that needs rbx).
pub fn visit_some<F: Lookup + ?Sized>(
    from: Position,
    read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: Entries,
    limit: usize,
    visit: impl FnMut(&FrameRoot),
) -> StackVisit {
    visit_from(from, None, read_word, frames, entries, limit, visit)
}

/// Visits the roots of a stack that has stopped, of the calling thread's, from the registers with which it stopped.
pub fn visit_stopped_stack<F: Lookup + ?Sized>(
    registers: Registers,
    read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: Entries,
    visit: impl FnMut(&FrameRoot),
) -> StackVisit {
    let from = Position { is_active: true, ..Position::from(registers) };
    visit_from(from, Some(registers), read_word, frames, entries, usize::MAX, visit)
}

/// The visit; `stopped` are the registers at the top of a stack that does not run. Inlined: for the stack that runs the
/// compiler knows that there are none.
#[inline(always)]
fn visit_from<F: Lookup + ?Sized>(
    from: Position,
    stopped: Option<Registers>,
    mut read_word: impl FnMut(u64) -> Option<u64>,
    frames: &F,
    entries: Entries,
    limit: usize,
    mut visit: impl FnMut(&FrameRoot),
) -> StackVisit {
    let Position { mut registers, mut beyond_anchor, is_active, .. } = from;
    let mut visited = StackVisit { frames: 0, unwinder_steps: 0, end: StackEnd::Bottom { registers } };
    loop {
        let walked =
            walk_some(registers, &mut read_word, frames, entries, limit.saturating_sub(visited.frames), &mut visit);
        visited.frames += walked.frames;
        registers = match walked.end {
            WalkEnd::Unknown { registers } | WalkEnd::NeedsUnwinder { registers } => registers,
            WalkEnd::Paused { registers, pair } => {
                let at = Position { registers, pair, beyond_anchor, is_active: true };
                return visited.ended(StackEnd::Paused { at });
            }
            WalkEnd::Bottom { registers } => return visited.ended(StackEnd::Bottom { registers }),
            WalkEnd::Malformed { registers, fault } => return visited.ended(StackEnd::Malformed { registers, fault }),
        };
        let at_anchor = if registers.pc == entries.reentry {
            registers
        } else {
            let mut cross = |from| unwind(from, Reach::TwiceAsDeep, &mut read_word, frames, entries, &mut visit);
            let crossed = if let Some(top) = stopped.filter(|_| !beyond_anchor) {
                cross(Origin::Stopped { top, from_sp: registers.sp })
            } else if beyond_anchor || is_active {
                let crossed = cross(Origin::Registers(registers));
                let is_stuck = matches!(crossed.end, UnwindEnd::EndOfStack { .. } | UnwindEnd::Malformed { .. });
                if is_stuck && !beyond_anchor { cross(Origin::Top { from_sp: registers.sp }) } else { crossed }
            } else {
                cross(Origin::Top { from_sp: registers.sp })
            };
            visited.frames += crossed.frames;
            visited.unwinder_steps += crossed.steps;
            match crossed.end {
                UnwindEnd::Managed { registers: managed } => {
                    registers = managed;
                    continue;
                }
                UnwindEnd::Anchor { registers } => registers,
                UnwindEnd::Bottom { registers } => return visited.ended(StackEnd::Bottom { registers }),
                UnwindEnd::EndOfStack { pc } => return visited.ended(StackEnd::EndOfStack { pc }),
                UnwindEnd::Malformed { registers, fault } => {
                    return visited.ended(StackEnd::Malformed { registers, fault });
                }
            }
        };
        registers = match anchor::behind(at_anchor.sp, &mut read_word) {
            Ok(Some(managed)) => managed,
            Ok(None) => return visited.ended(StackEnd::Bottom { registers: at_anchor }),
            Err(fault) => return visited.ended(StackEnd::Malformed { registers: at_anchor, fault }),
        };
        beyond_anchor = true;
    }
}

/// A frame that a visit has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Of the frame.
    pub registers: Registers,
    /// Where the visit has paused: the address of the frame's saved frame pointer, and of its return address above that.
    pub pair: u64,
    /// The unwinder cannot come here from the top: it would have to cross the native frames that an anchor leads
    /// around.
    pub beyond_anchor: bool,
    /// The frame is known to be active: the unwinder may begin at it, and not at the top.
    pub is_active: bool,
}

impl From<Registers> for Position {
    /// The beginning of a visit.
    fn from(registers: Registers) -> Position {
        Position { registers, pair: 0, beyond_anchor: false, is_active: false }
    }
}

/// The result of a visit.
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
    /// As many frames as the limit have been visited.
    Paused {
        /// The place to go on.
        at: Position,
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
        /// The fault.
        fault: StackFault,
    },
}
