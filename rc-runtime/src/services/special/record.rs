//! Records of special objects are found, made and tidied.

use super::{
    AWAITS_FINALIZER, CONDEMNED, FADES, KIND, LONE, Rest, Special, number_cell, set_word_in_table, word_in_table,
};
use crate::heap::Heap;
use crate::memory::range;
use crate::object::{ObjectRef, flag};
use crate::services::weak::links::Link;
use crate::services::weak_map::keys::is_entry_with_key;

impl Heap {
    /// The object may have a record from now on, or is one of the built-in types that need none.
    #[inline(always)]
    pub(crate) fn note_special(&mut self, object: ObjectRef) {
        if !object.has(flag::SPECIAL) {
            object.add_flags(flag::SPECIAL);
            self.note_special_birth(object);
        }
    }

    /// The number of the object's record; 0: it has none.
    #[inline]
    pub(crate) fn number_of(&self, object: ObjectRef) -> u32 {
        if !object.has(flag::SPECIAL) {
            return 0;
        }
        // A number that is out of date names a record of another object, or none.
        let number = word_in_table(object);
        if self.services.specials.records.get(number).is_some_and(|record| record.address() == object.address()) {
            number
        } else {
            0
        }
    }

    /// The same; the object has one afterwards.
    #[inline]
    pub(crate) fn make_number(&mut self, object: ObjectRef) -> u32 {
        let number = self.number_of(object);
        if number != 0 {
            return number;
        }
        if object.has(flag::SPECIAL) {
            return self.make_number_of_special(object);
        }
        self.note_special(object);
        self.insert_record(Special::of(object), object)
    }

    #[inline(always)]
    fn insert_record(&mut self, record: Special, object: ObjectRef) -> u32 {
        let number = self.services.specials.records.insert(record);
        set_word_in_table(object, number);
        number
    }

    /// Of an object that was special without a record.
    #[cold]
    #[inline(never)]
    fn make_number_of_special(&mut self, object: ObjectRef) -> u32 {
        let slots = self.lone_slot(object);
        let (entry, map) = (self.entry_of_member(object), self.map_number_of(object));
        let side = self.take_from_bond(object);
        let number = self.insert_record(Special { slots, ..Special::of(object) }, object);
        if let Some(entry) = entry {
            self.link_entry(entry, object, map);
        }
        if let Some((entry, side, map)) = side {
            self.link_side(entry, side, object, map);
        }
        number
    }

    /// The link of the object's only weak slot, if it has one and no record; else 0.
    #[inline]
    pub(in crate::services::special) fn lone_slot(&self, object: ObjectRef) -> u32 {
        if !object.has(flag::SPECIAL) {
            return 0;
        }
        let number = word_in_table(object);
        let link = number & !KIND;
        let is_its = |link: &Link| link.holder_address() == object.address();
        if number & KIND == LONE && self.services.specials.links.get(link).is_some_and(is_its) { link } else { 0 }
    }

    /// The object has no record, and this one weak slot; 0: none any more.
    pub(crate) fn set_lone_slot(&mut self, object: ObjectRef, link: u32) {
        set_word_in_table(object, if link == 0 { 0 } else { LONE | link });
    }

    /// The first link of the weak slots that lie in the object; 0: there is none.
    pub(crate) fn first_slot(&self, object: ObjectRef) -> u32 {
        match self.number_of(object) {
            0 => self.lone_slot(object),
            number => self.services.specials.records[number].slots,
        }
    }

    /// Fetches the number of the object's record or only slot, and its header.
    pub(crate) fn prefetch_number(&self, object: ObjectRef) {
        object.prefetch();
        range::prefetch(number_cell(object) as u64);
    }

    /// Fetches the record or the only slot itself.
    pub(crate) fn prefetch_first_slot(&self, object: ObjectRef) {
        let number = word_in_table(object);
        match number & KIND {
            0 => self.services.specials.records.prefetch(number),
            LONE => self.services.specials.links.prefetch(number & !KIND),
            _ => {}
        }
    }

    /// Fetches the record of what the object's first weak slot refers to.
    pub(in crate::services) fn prefetch_target_of_first_slot(&self, object: ObjectRef) {
        if let Some(link) = self.services.specials.links.get(self.first_slot(object)) {
            self.services.specials.records.prefetch(link.target);
        }
    }

    /// The object that the first weak slot refers to.
    pub(in crate::services) fn target_of_first_slot(&self, object: ObjectRef) -> Option<ObjectRef> {
        self.services.specials.at(self.services.specials.links.get(self.first_slot(object))?.target)
    }

    /// The object's record; it is special from now on.
    pub(crate) fn special(&mut self, object: ObjectRef) -> &mut Special {
        let number = self.make_number(object);
        &mut self.services.specials.records[number]
    }

    /// The record, if there is one.
    pub(crate) fn special_of(&mut self, object: ObjectRef) -> Option<&mut Special> {
        match self.number_of(object) {
            0 => None,
            number => Some(&mut self.services.specials.records[number]),
        }
    }

    /// What few records hold, of the object's, which has it from now on.
    pub(crate) fn rest(&mut self, object: ObjectRef) -> &mut Rest {
        let number = self.make_number(object);
        let record = &mut self.services.specials.records[number];
        if record.rest == 0 {
            record.rest = self.services.specials.rests.insert(Rest::default());
        }
        &mut self.services.specials.rests[record.rest]
    }

    /// The same, if it has it.
    pub(crate) fn rest_of(&mut self, object: ObjectRef) -> Option<&mut Rest> {
        match self.special_of(object)?.rest {
            0 => None,
            rest => Some(&mut self.services.specials.rests[rest]),
        }
    }

    /// Whether the object would be plain if its allocation site were not recorded.
    pub(crate) fn is_special_for_its_site(&self, object: ObjectRef) -> bool {
        let specials = &self.services.specials;
        let number = self.number_of(object);
        specials.records.get(number).is_some_and(|record| {
            let is_plain = !record.has_referrers() && record.keys() == 0 && record.slots == 0 && !record.has(FADES);
            let rest = specials.rests.get(record.rest);
            number != 0 && is_plain && rest.is_some_and(|rest| !rest.is_needed_beside_its_site())
        })
    }

    /// The object is plain again if nothing needs its record.
    pub(crate) fn tidy_special(&mut self, object: ObjectRef) {
        let number = self.number_of(object);
        if number != 0 {
            let specials = &mut self.services.specials;
            let record = &mut specials.records[number];
            if record.rest != 0 && !specials.rests[record.rest].is_needed() {
                specials.rests.remove(std::mem::take(&mut record.rest));
            }
            let (slots, is_needed) = (record.slots, record.is_needed());
            let keeps =
                slots != 0 && (record.has(CONDEMNED | AWAITS_FINALIZER) || !specials.links[slots].may_be_lone());
            if is_needed || keeps {
                return;
            }
            specials.records.remove(number);
            self.set_lone_slot(object, slots);
        }
        let is_linked = crate::services::weak::links::is_linked(object) || is_entry_with_key(object);
        if !is_linked && self.lone_slot(object) == 0 && !self.is_in_map(object) && !self.is_told_by_bond(object) {
            object.remove_flags(flag::SPECIAL);
        }
    }
}
