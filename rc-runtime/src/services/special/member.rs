//! Keys of weak maps without a record: an object that is a key of one map and needs no record for anything else. `[WEAK]`
//!
//! ```text
//!   key ── its cell in the table of records ──► number of the map ── the key's hash ──► entry
//!   entry ── its key's word ──► key
//! ```
//!
//! A record and a link take 56 bytes and both ends; the map finds the entry anyway. So the table has the map's number in place of
//! a record's, and the entry is special without being listed: whoever follows an ephemeron reads its key's word. When the key
//! gets a record for another reason, another map among them, the entry gets the link that it would have had. Marks that look for
//! dead objects by their records pass over such a key: every entry that is alive and has a dead key is held back by that mark and emptied.
//! A dead map takes itself out of its keys before anything of it is released, in slices. `[BOUND]`

use super::{KIND, LastTable, MEMBER, SLOT_UNITS, set_word_in_table, word_in_table};
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot, flag};
use crate::services::weak::WeakKind;
use crate::services::weak_map::keys::{MapEntries, entry_in, number_of_map, slot_of_key};

impl Heap {
    /// The number of the map that the cell of a special object names, true or out of date; 0: none.
    #[inline(always)]
    pub(in crate::services::special) fn map_number_of(&self, key: ObjectRef) -> u64 {
        if !key.has(flag::SPECIAL) {
            return 0;
        }
        let number = word_in_table(key);
        if number & KIND == MEMBER { u64::from(number & !KIND) } else { 0 }
    }

    /// The entry whose key the object is, if it has no record.
    #[inline]
    pub(crate) fn entry_of_member(&self, key: ObjectRef) -> Option<ObjectRef> {
        match self.map_number_of(key) {
            0 => None,
            number => entry_in(self.services.specials.maps.get(&number)?.map?, key),
        }
    }

    /// Whether the object is a key without a record.
    #[inline]
    pub(crate) fn is_member(&self, key: ObjectRef) -> bool {
        self.entry_of_member(key).is_some()
    }

    /// The same, or whether it is a weak side of a bond.
    #[inline]
    pub(crate) fn is_in_map(&self, object: ObjectRef) -> bool {
        self.bond_of(object) != 0 || self.is_member(object)
    }

    /// The object becomes the key of an entry of the map with that number, which stands where the map finds it at the next safepoint, or
    /// before. Whether it needs no record for it.
    #[inline(always)]
    pub(crate) fn enter_member(&mut self, entry: ObjectRef, key: ObjectRef, number: u64) -> bool {
        if number > u64::from(!KIND) {
            return false;
        }
        if !key.has(flag::SPECIAL) {
            self.note_special(key);
        } else if !self.is_special_without_number(key) {
            return false;
        }
        self.services.specials.any_keys = true;
        set_word_in_table(key, MEMBER | number as u32);
        // It is not listed: nothing is to be done when it dies before its key.
        entry.add_flags(flag::SPECIAL);
        true
    }

    /// Whether the special object has no record, no weak slot, and is in no weak map.
    #[inline(never)]
    pub(in crate::services::special) fn is_special_without_number(&self, object: ObjectRef) -> bool {
        self.number_of(object) == 0 && self.lone_slot(object) == 0 && !self.is_in_map(object)
    }

    /// The object is the key of no entry any more; it has no record.
    pub(crate) fn leave_map(&mut self, key: ObjectRef) {
        set_word_in_table(key, 0);
        self.tidy_special(key);
    }

    /// The key of an entry has a record from now on: the entry has a link.
    #[cold]
    pub(in crate::services::special) fn link_entry(&mut self, entry: ObjectRef, key: ObjectRef, map: u64) {
        // Special anew, and listed by that.
        entry.remove_flags(flag::SPECIAL);
        self.link_side(entry, (slot_of_key(entry), WeakKind::Key), key, map);
    }

    /// Enters a weak side of an entry in its target's list, and the number of its map in its own record.
    pub(crate) fn link_side(&mut self, entry: ObjectRef, (slot, kind): (Slot, WeakKind), target: ObjectRef, map: u64) {
        self.link_weak_slot(entry, slot, target, kind);
        let map = u32::try_from(map).expect("fewer than four thousand million weak maps were made");
        self.special(entry).set_map_of_entry(map);
    }

    /// The number of the map of an entry of which a side has a link.
    pub(crate) fn map_by_link(&self, entry: ObjectRef) -> u64 {
        let record = self.services.specials.record(self.number_of(entry));
        record.map_or(0, |record| record.map_of_entry().into())
    }

    /// The weak map dies: what its entries refer to weakly knows nothing of them any more, as far as `units` go. Whether that was all.
    pub(crate) fn end_weak_map(&mut self, map: ObjectRef, units: &mut i64) -> bool {
        let number = number_of_map(map);
        if self.services.specials.maps.get(&number).is_none_or(|state| state.map.is_none()) {
            return true;
        }
        let mut entries = MapEntries::of(map);
        while let Some((entry, key)) = entries.next() {
            if *units <= 0 {
                return false;
            }
            *units -= 1;
            entries.pass();
            let by_bond = self.note_end_of_bond(entry);
            if let Some(key) = key
                && self.entry_of_member(key) == Some(entry)
            {
                *units -= SLOT_UNITS;
                self.clear_key_of_member(entry, key);
            } else if by_bond {
                *units -= SLOT_UNITS;
            }
        }
        self.services.specials.maps.entry(number).and_modify(|state| state.map = None);
        self.services.specials.last_map = LastTable::NONE;
        self.services.specials.last_map_of_values = LastTable::NONE;
        true
    }

    /// The entry has no key any more, which had no record.
    pub(crate) fn clear_key_of_member(&mut self, entry: ObjectRef, key: ObjectRef) {
        debug_assert_eq!(self.entry_of_member(key), Some(entry));
        self.services.specials.cleared += 1;
        self.note_entry_before_clear(entry, self.map_number_of(key));
        slot_of_key(entry).store(0);
        self.leave_map(key);
        self.tidy_special(entry);
    }
}
