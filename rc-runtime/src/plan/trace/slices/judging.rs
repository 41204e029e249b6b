//! What a mark in slices has found dead, until it is swept: weak references to it are cleared, its finalizers queued, what they need is kept,
//! ephemerons lose it as their key, and it ends as a special object. Each in steps, with the program running in between. `[WEAK]`
//! `[BOUND]`
//!
//! ```text
//! condemn           no weak slot yields an object that is not marked from here on, nor do finalizers begin
//! clear_weak_some   weak references to the dead
//! note_waiting      objects that waited for their finalizers before, so that none is queued twice
//! queue_some        the dead with finalizers join them; with them registrations are tidied
//! forget_noted      …
//!   (the driver marks what those that wait refer to, then them)
//! empty_ephemeron   of each ephemeron that was held back (`services::ephemeron`)
//! end_some          what is still dead: its weak slots go, and its record
//! ```
//!
//! The barrier goes on showing what is overwritten. The program cannot have an unmarked object, but for values of an ephemeron that
//! gets another key before it is emptied: these are shown, and live on. A key that finalizers need is marked in the end, and an upgrade
//! yields it then.

use super::{Judging, Stage};
use crate::heap::Heap;
use crate::mark_phase::MarkPhase;
use crate::memory::range::{BUFFERED, MARK};
use crate::object::flag;

/// An object that was met in the list of registered ones. Where nothing is counted no object has the flag for another reason.
const LISTED: u32 = flag::ROOTED;
/// Special objects between the one looked at and the one that is fetched meanwhile.
const LISTED_AHEAD: usize = 8;

impl Heap {
    /// All that was reachable at the snapshot is marked: what is not marked is dead.
    pub fn condemn(&mut self) {
        self.set_mark_phase(MarkPhase::Condemns);
        self.trace.slices.stage = Stage::Judges;
        self.trace.slices.judging = Judging::default();
    }

    /// Clears weak references to some dead objects. Returns what that cost; `None` when there are none.
    pub fn clear_weak_some(&mut self, units: i64) -> Option<i64> {
        let object = *self.trace.special.get(self.trace.slices.judging.at)?;
        let mut left = units;
        // The mark bit first: it is at hand, and a header lies anywhere.
        if !MARK.get(object.granule()) && object.has(flag::SPECIAL) && self.is_unmarked(object) {
            self.services.specials.finalizers_follow = self.services.finalizers.due != 0;
            let all = self.begin_reclaim_some(object, &mut left);
            self.services.specials.finalizers_follow = false;
            if !all {
                return Some(1 + units - left);
            }
        }
        self.trace.slices.judging.at += 1;
        Some(1 + units - left)
    }

    /// Begins to look for finalizers.
    pub fn begin_queueing(&mut self) {
        let registered = std::mem::take(&mut self.trace.finalizable);
        self.trace.slices.judging = Judging { registered, ..Judging::default() };
    }

    /// Notes an object that waits for its finalizer. `None` when all are noted.
    pub fn note_waiting_some(&mut self) -> Option<i64> {
        let object = *self.services.finalizers.queue.get(self.trace.slices.judging.at)?;
        object.add_flags(flag::FOUND);
        self.trace.slices.judging.at += 1;
        Some(1)
    }

    /// All that wait are noted.
    pub fn end_noting(&mut self) {
        self.trace.slices.judging.begin_list();
    }

    /// Looks at a registered object: one that is dead, and does not wait, does so from now on. `None` when all were looked at.
    pub fn queue_some(&mut self) -> Option<i64> {
        let judging = &mut self.trace.slices.judging;
        let object = *judging.registered.get(judging.at)?;
        judging.at += 1;
        if !object.needs_finalizer() || object.has(LISTED) {
            return Some(2);
        }
        object.add_flags(LISTED);
        judging.registered[judging.kept] = object;
        judging.kept += 1;
        if self.is_unmarked(object) && !object.has(flag::FOUND) {
            self.note_waiting(object, true);
            self.services.finalizers.queue.push_back(object);
        }
        Some(2)
    }

    /// The list of registered objects has no other ones any more.
    pub fn end_queueing(&mut self) {
        let judging = &mut self.trace.slices.judging;
        judging.registered.truncate(judging.kept);
        judging.begin_list();
    }

    /// Forgets what was noted of an object, of those that are registered and of those that wait. `None` when that was all.
    pub fn forget_noted_some(&mut self) -> Option<i64> {
        let judging = &mut self.trace.slices.judging;
        if let Some(object) = judging.registered.get(judging.at) {
            object.remove_flags(LISTED);
        } else {
            let place = judging.at - judging.registered.len();
            self.services.finalizers.queue.get(place)?.remove_flags(flag::FOUND);
        }
        self.trace.slices.judging.at += 1;
        Some(1)
    }

    /// All that are registered are in their list again.
    pub fn put_registered_back(&mut self) {
        let judging = &mut self.trace.slices.judging;
        judging.begin_list();
        // Those that were registered meanwhile are few.
        let mut registered = std::mem::take(&mut judging.registered);
        registered.extend(std::mem::take(&mut self.trace.finalizable));
        self.trace.finalizable = registered;
    }

    /// Ends some special objects that are dead, and keeps the others in the list. Returns what that cost; `None` when that was all.
    pub fn end_special_some(&mut self, units: i64) -> Option<i64> {
        let judging = &mut self.trace.slices.judging;
        let Some(&object) = self.trace.special.get(judging.at) else {
            self.trace.special.truncate(judging.kept);
            // Asked once more, it leaves those alone that the program has added meanwhile.
            (judging.at, judging.kept) = (usize::MAX, usize::MAX);
            return None;
        };
        if let Some(later) = self.trace.special.get(judging.at + LISTED_AHEAD) {
            later.prefetch_header();
        }
        let mut left = units;
        if object.has(flag::SPECIAL) && self.is_unmarked(object) {
            if !self.begin_reclaim_some(object, &mut left) || !self.let_go_weakly(object, &mut left) {
                return Some(1 + units - left);
            }
            self.end_special(object);
        }
        let judging = &mut self.trace.slices.judging;
        judging.at += 1;
        match object.has(flag::SPECIAL) {
            true => {
                self.trace.special[judging.kept] = object;
                judging.kept += 1;
            }
            false => BUFFERED.clear(object.granule()),
        }
        Some(1 + units - left)
    }
}
