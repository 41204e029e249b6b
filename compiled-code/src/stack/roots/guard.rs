//! Whether the frames that a paused walk left for later are still there. `[WATERMARK]`
//!
//! A native function may catch a jump over the diverted return, call others that cover it without writing to it, and
//! these may go deep before the next slice. Then the diverted words are still at their place, but they are no frame's,
//! and what lies behind is not what the flip found. So a slice walks from the running frame to the diverted return.
//!
//! That walk must not be as long as the stack is deep, in each slice. Where it is long, the return into a frame some
//! way down is diverted too, as a *guard*:
//!
//! ```text
//! higher │ frames that wait
//!        │ … the watermark
//!        │ any number of frames, which did not run since the guard was set
//!        │ … the guard
//!        │ some thousand frames       walked by each slice
//! lower  │ the running frame
//! ```
//!
//! A call writes a return address where it returns to, so no frame that came later returns through a guard: if the
//! running frame does, nothing below was left since. A program that returns to the guard's frame moves it down, by as many
//! frames as it has come up. So all that is walked is in proportion to the frames that the program enters, leaves, or
//! jumps over.
//!
//! Rejected: a limit for the walk, beyond which all words count as written (a frame need not write to all of its
//! words, and a program lost objects in one run of a hundred); the whole walk in each slice.

use super::{StackReader, StackRoots, anchor, entries};
use crate::module::loaded;
use crate::stack::diversion;
use stack_roots::{Entries, Lookup, Position, Registers, StackEnd, visit_some};
use tally_heap::context::Context;

/// Frames between the running one and the guard, when it is set.
const FRAMES_ABOVE: usize = 4096;

/// Steps over so many frames that lead to a diverted return, the stack pointer of whose frame is at most `end`.
fn step_over(from: Position, end: u64, frames: &impl Lookup, limit: usize) -> StackEnd {
    let through = diversion::current().map_or(0, |diversion| diversion.through);
    let entries = Entries { bottom: through, diversion: None, ..entries() };
    // A walk that has passed the frame ends at the first word that it reads there.
    let mut stack = StackReader { low: from.registers.sp, high: end };
    visit_some(from, |address| stack.read(address), frames, entries, limit, |_| ()).end
}

impl StackRoots {
    /// Whether the stack leads from the program's position to the frame with stack pointer `sp`, the return into which
    /// is diverted. The guard is where it should be after that.
    pub(super) fn leads_to(&self, context: &Context, sp: u64) -> bool {
        let Some(registers) = anchor(context) else { return true };
        let frames = &self.snapshot.frames;
        let from = Position { is_active: true, ..Position::from(registers) };
        let near = step_over(from, sp, frames, FRAMES_ABOVE);
        let (end, moves) = match near {
            StackEnd::Paused { at } => (step_over(at, sp, frames, usize::MAX), Some(at)),
            end => (end, None),
        };
        let StackEnd::Bottom { registers } = end else { return false };
        if diversion::guard_sp() != Some(registers.sp) {
            // A guaranteed tail call may have moved a diverted return: where to is not known.
            if registers.sp != sp {
                return false;
            }
            // The stack was shorter than the guard.
            diversion::forget_guard();
        }
        if let Some(at) = moves {
            diversion::lift_guard();
            diversion::set_guard(&at, move_down);
        }
        true
    }
}

/// The program comes back to the frame that the guard was for: it becomes a lower one's.
fn move_down(registers: Registers) {
    let Some(end) = diversion::waiting_sp() else { return };
    let from = Position { is_active: true, ..Position::from(registers) };
    if let StackEnd::Paused { at } = step_over(from, end, &loaded::current().frames, FRAMES_ABOVE) {
        diversion::set_guard(&at, move_down);
    }
}
