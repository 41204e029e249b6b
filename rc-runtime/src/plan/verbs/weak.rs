//! Verbs: to read weak slots, and to clear references of ephemerons. `[WEAK]`

use crate::heap::Heap;
use crate::object::{FlagTest, ObjectRef, Slot, flag, prompt_flag};
use crate::plan::Plan;

impl Heap {
    /// Returns the target of a weak slot, as a reference like one that was loaded from a field: valid until the next
    /// safepoint. `object` is the object that the slot's word names; `None` when its reclaim has begun. `[WEAK]`
    #[inline(always)]
    pub fn upgrade(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        if self.may_be_had(object) {
            return Some(object);
        }
        match self.regime() {
            Plan::Deferred => self.upgrade_slow(object),
            Plan::Prompt => self.upgrade_watched(object),
            Plan::Trace => self.upgrade_in_slices(object),
        }
    }

    /// Whether an upgrade needs no more than the reference, and that is seen at once: by the object's flags, or its age.
    #[inline(always)]
    pub fn may_be_had(&self, object: ObjectRef) -> bool {
        let yields = self.yields.is_passed_by(object);
        debug_assert!(!yields || self.is_had_by_flags(object), "what yields {object:?} was noted wrong");
        yields
            || match self.regime() {
                Plan::Deferred => self.is_younger_than_flip(object),
                Plan::Prompt | Plan::Trace => false,
            }
    }

    /// Notes by which flags [`may_be_had`](Self::may_be_had) knows an object: called when anything of this changes.
    pub(crate) fn note_what_yields(&mut self) {
        self.yields = match self.regime() {
            Plan::Deferred if !self.roots_are_uncounted() => FlagTest { flags: flag::ROOTED, wanted: flag::ROOTED },
            Plan::Prompt if !self.prompt.touched.asks_at_upgrades => {
                FlagTest { flags: prompt_flag::DYING | prompt_flag::DEAD, wanted: 0 }
            }
            // Only one with a finalizer waits for that.
            Plan::Trace if !self.shows_overwritten() => FlagTest { flags: flag::NON_TRIVIAL, wanted: 0 },
            Plan::Deferred | Plan::Prompt | Plan::Trace => FlagTest::NONE,
        };
    }

    /// The same by the plan's rules, which that notes.
    fn is_had_by_flags(&self, object: ObjectRef) -> bool {
        match self.regime() {
            Plan::Deferred => self.is_rooted(object),
            Plan::Prompt => self.is_whole_and_unwatched(object),
            Plan::Trace => !self.shows_overwritten() && !self.awaits_finalizer(object),
        }
    }

    /// Notes another phase of the mark: upgrades may have to check more than before.
    pub(crate) fn note_mark_phase(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.note_what_fades(),
        }
    }

    /// Notes that the program has given an ephemeron another key, or none: a mark that has visited it and held it
    /// back visits it again.
    pub(crate) fn note_other_key(&mut self, ephemeron: ObjectRef) {
        if !ephemeron.type_info().ephemeron {
            return;
        }
        match self.regime() {
            Plan::Deferred => self.show_ephemeron_again(ephemeron),
            Plan::Prompt => self.watch_ephemeron(ephemeron),
            Plan::Trace => self.visit_ephemeron_again(ephemeron),
        }
    }

    /// Whether an ephemeron whose key a mark has found dead keeps its values for now. Adds the cost of the test to
    /// `spent`.
    pub(crate) fn keeps_dead_values(&mut self, ephemeron: ObjectRef, spent: &mut i64) -> bool {
        match self.regime() {
            Plan::Deferred => self.keeps_logged_values(ephemeron, spent),
            Plan::Prompt | Plan::Trace => false,
        }
    }

    /// Nulls a reference of an ephemeron to a value that a mark has found dead: nothing is shown to that mark.
    pub(crate) fn lose_dead_value(&mut self, slot: Slot, value: ObjectRef) {
        slot.store(0);
        match self.regime() {
            Plan::Deferred => self.decrement(value),
            Plan::Prompt => value.decrement_dead(),
            Plan::Trace => {}
        }
    }

    /// Nulls a reference of an ephemeron whose key is dead.
    pub(crate) fn empty_slot(&mut self, ephemeron: ObjectRef, slot: Slot) {
        match self.regime() {
            Plan::Deferred => self.empty_slot_past_the_log(ephemeron, slot),
            Plan::Prompt => self.write(ephemeron, slot, 0),
            Plan::Trace => slot.store(0),
        }
    }
}
