//! Weak sides of entries enter bonds, and leave them. `[WEAK]`

use super::super::{BOND, KIND, SLOT_UNITS, set_word_in_table, word_in_table};
use super::{Bond, MAP_MAX};
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot, flag};
use crate::services::builtin;
use crate::services::weak::WeakKind;
use crate::services::weak_map::sides::{other_side, side_of, weak_sides};

impl Heap {
    /// The number of the bond of which the object is a side without a record; 0: it is none.
    #[inline]
    pub(crate) fn bond_of(&self, object: ObjectRef) -> u32 {
        if !object.has(flag::SPECIAL) {
            return 0;
        }
        let number = word_in_table(object);
        if number & KIND != BOND {
            return 0;
        }
        let number = number & !KIND;
        let entry = self.services.specials.entry_of_bond(number);
        if entry.is_some_and(|entry| side_of(entry, object).is_some()) { number } else { 0 }
    }

    /// The bond of an entry, by its weak side that is in `slot`; 0: that has a link, or is no object.
    fn bond_by_side(&self, entry: ObjectRef, slot: Slot) -> u32 {
        // SAFETY: [WEAK] what a weak map holds is a reference, or no address in the heap.
        let object = unsafe { ObjectRef::of_word(slot.read()) };
        let number = object.map_or(0, |object| self.bond_of(object));
        if number != 0 && self.services.specials.entry_of_bond(number) == Some(entry) { number } else { 0 }
    }

    /// The object becomes a weak side of an entry of the map with that number, which is in `slot` next. Whether it needs no record for it.
    pub(crate) fn enter_bond(&mut self, entry: ObjectRef, slot: Slot, object: ObjectRef, map: u64) -> bool {
        let other = other_side(entry, slot);
        // Both sides of an entry, it would be found as one.
        if map > MAP_MAX || other.is_some_and(|other| other.read() == object.address()) {
            return false;
        }
        if !object.has(flag::SPECIAL) {
            self.note_special(object);
        } else if !self.is_special_without_number(object) {
            return false;
        }
        let number = match other.map_or(0, |other| self.bond_by_side(entry, other)) {
            0 => self.services.specials.bonds.insert(Bond::new(entry, map)),
            number => number,
        };
        set_word_in_table(object, BOND | number);
        if builtin::is_told_when_cleared(entry) {
            self.note_told_by_bond(entry);
        }
        true
    }

    /// The weak sides of a new entry of the map with that number, which are objects, need no record for it; if that is so. Their words are
    /// written next.
    #[inline(always)]
    pub(crate) fn enter_first_bond(&mut self, entry: ObjectRef, sides: [Option<ObjectRef>; 2], map: u64) -> bool {
        // Both sides of an entry, an object would be found as one.
        if map > MAP_MAX || sides[0] == sides[1] {
            return false;
        }
        for object in sides.into_iter().flatten() {
            if object.has(flag::SPECIAL) && !self.is_special_without_number(object) {
                return false;
            }
        }
        let number = BOND | self.services.specials.bonds.insert(Bond::new(entry, map));
        for object in sides.into_iter().flatten() {
            self.note_special(object);
            set_word_in_table(object, number);
        }
        true
    }

    /// An entry that is told of the end of its value has a bond: it is listed, and so is told nothing if it dies together with that.
    #[inline(always)]
    pub(crate) fn note_told_by_bond(&mut self, entry: ObjectRef) {
        self.services.specials.any_told_when_cleared = true;
        self.note_special(entry);
    }

    /// The side of the entry that is in `slot` leaves its bond, if it has no link; its word is null then. Whether that was so. The object stays
    /// special.
    fn take_side(&mut self, entry: ObjectRef, slot: Slot) -> Option<ObjectRef> {
        let number = self.bond_by_side(entry, slot);
        if number == 0 {
            return None;
        }
        // SAFETY: [WEAK] a side that a bond knows is an object.
        let object = unsafe { ObjectRef::from_address(slot.read()) };
        slot.store(0);
        set_word_in_table(object, 0);
        if other_side(entry, slot).is_none_or(|other| self.bond_by_side(entry, other) != number) {
            self.services.specials.bonds.remove(number);
        }
        Some(object)
    }

    /// The weak side of an entry in `slot` refers to nothing any more, if it has no link. Whether that was so.
    pub(crate) fn leave_bond(&mut self, entry: ObjectRef, slot: Slot) -> bool {
        let object = self.take_side(entry, slot);
        object.into_iter().for_each(|object| self.tidy_special(object));
        object.is_some()
    }

    /// An entry of a map with weak values has lost a side, or its map: it has no bond any more, and no link.
    pub(crate) fn lose_sides(&mut self, entry: ObjectRef) {
        for slot in weak_sides(entry).into_iter().flatten().filter(|slot| slot.read() != 0) {
            if !self.leave_bond(entry, slot) {
                self.forget_weak_slot(entry, slot);
                slot.store(0);
            }
        }
    }

    /// Takes an object that gets a record out of its bond: the entry whose side it is, the side, which gets a link, and the number of the map.
    pub(in crate::services::special) fn take_from_bond(
        &mut self,
        object: ObjectRef,
    ) -> Option<(ObjectRef, (Slot, WeakKind), u64)> {
        let number = self.bond_of(object);
        let entry = self.services.specials.entry_of_bond(number)?;
        let map = self.services.specials.bonds[number].map();
        let side = side_of(entry, object)?;
        self.take_side(entry, side.0);
        side.0.store(object.address());
        Some((entry, side, map))
    }

    /// The object is found dead: if it is the value of an entry without a link, that dies with it. One step, whatever is left: the
    /// object does not fade.
    pub(in crate::services::special) fn end_bond_of_value(&mut self, object: ObjectRef, units: &mut i64) {
        self.end_bond(object, WeakKind::Reference, units);
    }

    /// The same when the memory of the object goes, and it is the key.
    pub(crate) fn end_bond_of_key(&mut self, object: ObjectRef, units: &mut i64) {
        self.end_bond(object, WeakKind::Key, units);
    }

    #[inline]
    fn end_bond(&mut self, object: ObjectRef, kind: WeakKind, units: &mut i64) {
        let number = self.bond_of(object);
        let Some(entry) = self.services.specials.entry_of_bond(number) else { return };
        let Some((slot, _)) = side_of(entry, object).filter(|side| side.1 == kind) else { return };
        *units -= SLOT_UNITS;
        self.services.specials.cleared += 1;
        self.note_entry_before_clear(entry, self.services.specials.bonds[number].map());
        self.take_side(entry, slot);
        self.lose_sides(entry);
        if self.is_told(entry) {
            self.queue_post_clear(entry);
        }
        self.tidy_special(entry);
    }

    /// The map of an entry dies: the entry has no bond any more. Whether it had one.
    pub(in crate::services::special) fn note_end_of_bond(&mut self, entry: ObjectRef) -> bool {
        let [value, key] = weak_sides(entry).map(|slot| slot.map_or(0, |slot| self.bond_by_side(entry, slot)));
        let number = value.max(key);
        if number == 0 {
            return false;
        }
        self.note_entry_before_clear(entry, self.services.specials.bonds[number].map());
        self.lose_sides(entry);
        true
    }

    /// Whether the object is an entry that is told of the end of its value, which has no link.
    pub(in crate::services::special) fn is_told_by_bond(&self, object: ObjectRef) -> bool {
        builtin::is_told_when_cleared(object)
            && weak_sides(object).into_iter().flatten().any(|slot| self.bond_by_side(object, slot) != 0)
    }
}
