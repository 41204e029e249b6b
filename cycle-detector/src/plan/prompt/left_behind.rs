//! Zeal: counts that frames which `longjmp` or an exception has skipped leave behind.
//!
//! Such a frame never releases what its roots counted, and which roots those were is not known: the frame is gone when the program
//! lands. So the first recount after a landing believes each count as it finds it, and notes how much of it no object accounts for.
//! The counts left behind are at most that, then and at any later time:
//!
//! ```text
//!   count = references in objects + roots and registers that count + left behind         at each recount
//!   bound = min over all recounts since the landing of (count − references in objects)  ≥ left behind
//! ```
//!
//! Later recounts allow each object its bound, and not more: an object that was made since has none, and one whose roots have let
//! go since has only what was really left. A mark makes counts good, and the bound falls with them. An exact figure would need the
//! roots that each frame counts at every call, not only at those that stop.
//!
//! Landings in managed code are told (`tally_landed`). Where native code has called `setjmp`, or catches, and the frames above it,
//! nothing is: there each recount counts as one after a landing if the last one has seen native code between managed frames. That code may have
//! caught something since, and have called again from the same place: then the stack looks as before. Most such code has returned, or stays.
//! What a look did not see come is not seen to go. So once native code was seen between managed frames, each recount
//! counts as one after a landing before which zeal's pace has left looks out.

use rustc_hash::FxHashMap;
use tally_heap::ObjectRef;

/// The counts that may have been left behind, by object; objects without any are not listed.
#[derive(Debug, Default)]
pub(crate) struct LeftBehind {
    bounds: FxHashMap<ObjectRef, u64>,
    /// Native frames between managed ones at the last recount.
    native_frames: u64,
    /// Native code, not the runtime's own, was between managed frames at a recount.
    has_seen_native_code: bool,
    /// Since the last recount there was an epoch without one.
    has_skipped: bool,
}

impl LeftBehind {
    /// Takes in a recount: of all objects, how much of their counts no object accounts for. `landed`: the program has come back to a
    /// `setjmp` since the last.
    pub(super) fn recounted(&mut self, landed: bool, unaccounted: impl Iterator<Item = (ObjectRef, u64)>) {
        if self.bounds.is_empty() && !landed {
            return;
        }
        let bound = |(object, count): (ObjectRef, u64)| {
            let bound = if landed { count } else { self.of(object).min(count) };
            (bound != 0).then_some((object, bound))
        };
        self.bounds = unaccounted.filter_map(bound).collect();
    }

    /// An epoch of zeal is over without a recount.
    pub(crate) fn recount_is_skipped(&mut self) {
        self.has_skipped = true;
    }

    /// Whether native code may have caught something since the last recount; `native_frames` of its frames are there now. Those of the
    /// runtime, under `calls` calls of finalizers and callbacks, count as well: a callback may have called native code that catches.
    pub(super) fn native_code_may_have_caught(&mut self, native_frames: u64, calls: u32) -> bool {
        let before = std::mem::replace(&mut self.native_frames, native_frames);
        self.has_seen_native_code |= native_frames > 0 && calls == 0;
        let has_skipped = std::mem::take(&mut self.has_skipped);
        before > 0 || self.has_seen_native_code && has_skipped
    }

    /// How much of an object's count may have been left behind.
    pub(super) fn of(&self, object: ObjectRef) -> u64 {
        self.bounds.get(&object).copied().unwrap_or(0)
    }

    /// The objects that something may have been left behind of.
    pub(super) fn objects(&self) -> impl Iterator<Item = ObjectRef> {
        self.bounds.keys().copied()
    }
}
