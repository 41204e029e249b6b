//! How a special object ends: the steps of `special`'s table, at once and in slices. `[WEAK]` `[BOUND]`

use super::{CONDEMNED, FADES, SLOT_UNITS};
use crate::at_work;
use crate::heap::Heap;
use crate::object::{ObjectRef, flag};
use crate::services::builtin;
use crate::services::weak::WeakKind;
use crate::services::weak::links::Node;

/// As many units as anything may take.
const ALL: i64 = i64::MAX / 2;
/// Units of a weak slot whose holder is told that it was cleared: that is run outside of the slice, but soon after it.
const POST_CLEAR_UNITS: i64 = 32;
/// Slots that may hang on what one verdict finds dead and takes apart at once: 4096 take a tenth of a millisecond.
pub(crate) const SLOTS_AT_ONCE: i64 = 4096;

impl Heap {
    /// The object is dead: its finalizer runs next, or its memory goes. Weak references to it are cleared.
    #[cold]
    pub fn begin_reclaim(&mut self, object: ObjectRef) {
        self.begin_reclaim_some(object, &mut ALL.clone());
    }

    /// The same as far as `units` go; whether that was all. Until it is, no upgrade may yield the object: the caller sees to that.
    pub fn begin_reclaim_some(&mut self, object: ObjectRef, units: &mut i64) -> bool {
        if self.is_in_weak_set(object) {
            if *units <= 0 {
                return false;
            }
            *units -= SLOT_UNITS;
            self.services.specials.cleared += 1;
            self.leave_set(object);
        }
        self.end_bond_of_value(object, units);
        // The record may go with the last of them, if the object refers to itself.
        while let number @ 1.. = self.number_of(object)
            && let node = self.services.specials.records[number].referrers()
            && node.is_some()
        {
            if *units <= 0 {
                return false;
            }
            let holder = self.clear_weak_slot(number, WeakKind::Reference, node);
            *units -= if builtin::is_told_when_cleared(holder) { POST_CLEAR_UNITS } else { SLOT_UNITS };
        }
        true
    }

    /// The same for objects that are found dead together.
    pub fn begin_reclaim_all(&mut self, dead: &[ObjectRef]) {
        dead.iter().for_each(|&object| self.condemn_special(object, true));
        dead.iter().for_each(|&object| self.begin_reclaim(object));
        dead.iter().for_each(|&object| self.condemn_special(object, false));
    }

    /// The same when finalizers come next, and may bring some of them back: an entry of a weak map that has lost its value releases
    /// its key also if it was found dead with that. (It kept its key alive for ever.)
    pub fn begin_reclaim_before_finalizers(&mut self, dead: &[ObjectRef]) {
        self.services.specials.finalizers_follow = true;
        self.begin_reclaim_all(dead);
        self.services.specials.finalizers_follow = false;
    }

    /// The object is one of those whose reclaim begins together, or is no more. A callback that runs when a weak reference is
    /// cleared gets a record for it.
    pub(crate) fn condemn_special(&mut self, object: ObjectRef, condemned: bool) {
        if condemned && builtin::is_told_when_cleared(object) {
            self.special(object).set(CONDEMNED, true);
        } else if let Some(record) = self.special_of(object) {
            record.set(CONDEMNED, condemned);
            self.tidy_special(object);
        }
    }

    /// Objects that are found dead together are freed without finalizers: all that belongs before the first of them is freed.
    #[cold]
    pub fn reclaim_special_all(&mut self, dead: &[ObjectRef]) {
        self.begin_reclaim_all(dead);
        dead.iter().for_each(|&object| self.dismantle(object));
    }

    /// The object's references are about to be released: it has no weak slots any more, and is no ephemeron.
    pub fn dismantle(&mut self, object: ObjectRef) {
        self.dismantle_some(object, &mut ALL.clone());
    }

    /// [`dismantle`](Self::dismantle) as far as `units` go; whether that was all.
    pub(crate) fn dismantle_some(&mut self, object: ObjectRef, units: &mut i64) -> bool {
        if builtin::is_coroutine(object) {
            self.let_go_of_frames(object);
        }
        self.remove_post_clear(object);
        self.unlink_weak(object);
        if self.is_weak_set(object) && !self.end_weak_set(object, units) {
            return false;
        }
        if builtin::is_weak_map(object) && !self.end_weak_map(object, units) {
            return false;
        }
        while let link @ 1.. = self.first_slot(object) {
            if *units <= 0 {
                return false;
            }
            *units -= SLOT_UNITS;
            self.forget_link(link);
        }
        true
    }

    /// The object is dead, and has no finalizer left to run: its weak slots are forgotten, and it is no key any more; as
    /// far as `units` go. Whether that was all.
    #[cold]
    pub fn let_go_weakly(&mut self, object: ObjectRef, units: &mut i64) -> bool {
        self.dismantle_some(object, units) && self.end_key_some(object, units)
    }

    /// Whether more weak slots hang on those of the objects that `dead` names than may be taken apart at once.
    pub fn has_too_many_slots(&mut self, dead: impl Iterator<Item = ObjectRef>) -> bool {
        let mut left = SLOTS_AT_ONCE;
        for object in dead {
            left -= self.slots_of(object, left);
            if left <= 0 {
                return true;
            }
        }
        false
    }

    /// How many weak slots refer to the object or lie in it, members of a weak set and entries of a weak map among them; `most` if there are more.
    pub(crate) fn slots_of(&self, object: ObjectRef, most: i64) -> i64 {
        let members = match () {
            () if self.is_weak_set(object) => self.weak_set_count(object),
            () if builtin::is_weak_map(object) => self.weak_map_count(object),
            () => u64::from(self.is_in_map(object)),
        } as i64;
        if members >= most {
            return most;
        }
        let specials = &self.services.specials;
        let record = specials.records.get(self.number_of(object));
        let (referrers, keys) = record.map(|record| (record.referrers(), record.keys())).unwrap_or_default();
        let (referrers, keys) = (specials.list_from(referrers), specials.list_from(Node::of_link(keys)));
        let slots = specials.slots_from(self.first_slot(object));
        referrers
            .map(|_| ())
            .chain(keys.map(|_| ()))
            .chain(slots.map(|_| ()))
            .take((most - members).max(0) as usize)
            .count() as i64
            + members
    }

    /// The memory of a dead object is about to go.
    #[cold]
    pub fn end_special(&mut self, object: ObjectRef) {
        self.begin_reclaim(object);
        self.let_go_weakly(object, &mut ALL.clone());
        let number = self.number_of(object);
        object.remove_flags(flag::SPECIAL);
        if number == 0 {
            return;
        }
        let record = self.services.specials.records.remove(number);
        self.services.specials.fading -= u32::from(record.has(FADES));
        if record.rest != 0 {
            let rest = self.services.specials.rests.remove(record.rest);
            if rest.map != 0 {
                let state = self.services.specials.maps.remove(&rest.map);
                self.services.specials.dead_entries_of_all -= state.map_or(0, |state| state.dead);
            }
            self.release_external_bytes(rest.external);
            // Its function runs while others are taken apart. `[RECLAIM]`
            at_work::call(|| drop(rest.host));
        }
    }

    /// Prompt plan: the object's reclaim has begun, and goes on in another slice; or has come to its end.
    #[cold]
    pub(crate) fn set_fading(&mut self, object: ObjectRef, fades: bool) {
        if let Some(record) = self.special_of(object)
            && record.has(FADES) != fades
        {
            record.set(FADES, fades);
            match fades {
                true => self.services.specials.fading += 1,
                false => self.services.specials.fading -= 1,
            }
            self.note_what_fades();
        }
    }
}
