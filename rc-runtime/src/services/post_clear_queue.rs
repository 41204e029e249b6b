//! The post-clear queue: work on objects after weak slots were cleared, when the collector has returned.
//!
//! | object | work |
//! |---|---|
//! | a weak reference with a callback | the callback is called, as ordinary mutator code |
//! | an entry of a weak map that has lost its value | it releases its key |
//!
//! The queue refers weakly itself: an object that dies first is taken off it. So the callback of a weak reference that
//! was part of the same garbage is never called, and can bring none of it back. `[WEAK]` Under the deferred plan the
//! object may be dead and not found yet: what a mark is about to condemn is passed over. What waits for its finalizer is alive,
//! and so are the weak references that it holds.
//!
//! The queue runs where finalizers do: under the prompt plan at the end of a drain, after what died has died, under the
//! deferred plan at the end of a safepoint. With a pause goal callbacks take turns as finalizers do (`finalizer/turn.rs`). `[BOUND]`

mod run;

use crate::memory::list::Queue;
use crate::object::ObjectRef;

/// Rounds of a collection in which callbacks may have more callbacks called.
pub(crate) const ROUNDS_MAX: u32 = 100;

/// The queue. A record holds its object's place in it, counted from the first entry of all.
#[derive(Debug, Default)]
pub(crate) struct PostClearQueue {
    queue: Queue<Option<ObjectRef>>,
    done: u64,
    running: bool,
    /// The last turn ended before all that were due had been run.
    had_turn: bool,
}

impl PostClearQueue {
    /// Whether there are any, and they may be run here.
    #[inline(always)]
    pub(crate) fn are_due(&self) -> bool {
        !self.queue.is_empty() && !self.running
    }

    /// A callback will not return: the program has ended inside it. The others may run.
    pub(crate) fn abandon(&mut self) {
        self.running = false;
    }

    /// The place of the next that comes.
    fn end(&self) -> u64 {
        self.done + self.queue.len() as u64
    }
}
