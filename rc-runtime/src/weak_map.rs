//! Weak maps: from objects to objects, by identity, whose entries go with their keys, with their values, or with either.
//!
//! ```text
//!   map ──► table ──► entry     one of the three below; a table is open-addressed, and twice as long as it has entries, or longer
//! ```
//!
//! | mode | entry | goes |
//! |---|---|---|
//! | weak keys | an ephemeron | when the memory of its key goes: after the key's finalizer |
//! | weak values | counts its key, refers weakly to its value | when the reclaim of its value begins: before the value's finalizer |
//! | both | refers weakly to both | with whichever is first |
//!
//! An entry that has lost one side is dead: it is passed over, its place is used again, and a table that fills up is
//! made anew without such. So the time of all operations together is linear in their number. Objects never move: the
//! hash is the address. Keys and values outside the heap never go away. What a map knows of its dead entries stands
//! with the heap's records, by the map's number, since an entry may outlive its map.
//!
//! Who looks a key up has it, and by that its value ([`crate::ephemeron`]).

use crate::allocate::OutOfMemory;
use crate::builtin;
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot};
use crate::weak::WeakKind;

/// What goes with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WeakMode {
    /// An entry lives as long as its key.
    Keys = 1,
    /// An entry lives as long as its value.
    Values = 2,
    /// An entry lives as long as both.
    Both = 3,
}

const TABLE: u64 = 0;
const NUMBER: u64 = 8;
const MODE: u64 = 16;
/// Places of the table that are in use, by dead entries, too.
const USED: u64 = 24;
/// In an entry: the number of its map.
const ENTRY_NUMBER: u64 = 16;
const SMALLEST_TABLE: u64 = 8;

impl WeakMode {
    /// The mode with that number.
    pub fn of(number: u32) -> Option<WeakMode> {
        [WeakMode::Keys, WeakMode::Values, WeakMode::Both].into_iter().find(|&mode| mode as u32 == number)
    }

    /// Where key and value of an entry stand: a counted one first.
    fn offsets(self) -> (u64, u64) {
        if self == WeakMode::Keys { (8, 0) } else { (0, 8) }
    }

    fn of_map(map: ObjectRef) -> WeakMode {
        WeakMode::of(map.slot(MODE).read() as u32).expect("a map has a mode from birth")
    }
}

/// An entry, and how it is read.
#[derive(Clone, Copy)]
struct Entry {
    object: ObjectRef,
    mode: WeakMode,
}

impl Entry {
    fn key(self) -> Slot {
        self.object.slot(self.mode.offsets().0)
    }

    fn value(self) -> Slot {
        self.object.slot(self.mode.offsets().1)
    }

    fn is_dead(self) -> bool {
        (self.mode != WeakMode::Values && self.key().read() == 0)
            || (self.mode != WeakMode::Keys && self.value().read() == 0)
    }
}

/// The table of a map that has one.
#[derive(Clone, Copy)]
struct Table {
    object: ObjectRef,
    mode: WeakMode,
}

impl Table {
    fn of(map: ObjectRef) -> Option<Table> {
        let object = map.type_info().decode(map.slot(TABLE).read())?;
        Some(Table { object, mode: WeakMode::of_map(map) })
    }

    fn places(self) -> u64 {
        self.object.slot(0).read()
    }

    fn place(self, at: u64) -> Slot {
        self.object.slot(8 + at * 8)
    }

    fn entry(self, at: u64) -> Option<Entry> {
        let object = self.object.type_info().decode(self.place(at).read())?;
        Some(Entry { object, mode: self.mode })
    }

    /// The entry of `key`, or the place where it belongs: one of a dead entry, or a free one.
    fn find(self, key: u64) -> Result<Entry, u64> {
        let mask = self.places() - 1;
        let mut at = (key >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & mask;
        let mut free = None;
        loop {
            match self.entry(at) {
                None => return Err(free.unwrap_or(at)),
                Some(entry) if entry.is_dead() => free = free.or(Some(at)),
                Some(entry) if entry.key().read() == key => return Ok(entry),
                Some(_) => {}
            }
            at = (at + 1) & mask;
        }
    }
}

/// Whether the map's table has a place for one more.
fn has_room(map: ObjectRef) -> bool {
    Table::of(map).is_some_and(|table| (map.slot(USED).read() + 1) * 4 <= table.places() * 3)
}

/// The object that a word refers to: not null, and not outside the heap.
pub fn object_of(word: u64) -> Option<ObjectRef> {
    // SAFETY: [HEADER] the callers' words are references, or point outside the heap.
    unsafe { ObjectRef::of_word(word) }
}

impl Heap {
    /// A new, empty weak map. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak_map(&mut self, mode: WeakMode) -> Result<ObjectRef, OutOfMemory> {
        let map = self.allocate_cell(builtin::weak_map(), 0)?;
        self.specials.maps_made += 1;
        let number = self.specials.maps_made;
        map.slot(NUMBER).store(number);
        map.slot(MODE).store(mode as u64);
        map.slot(USED).store(0);
        self.rest(map).map = number;
        self.specials.dead_entries.insert(number, 0);
        Ok(map)
    }

    /// What the map has for `key`, until the next safepoint; 0: nothing.
    pub fn weak_map_get(&mut self, map: ObjectRef, key: u64) -> u64 {
        match Table::of(map).map(|table| table.find(key)) {
            Some(Ok(entry)) => self.read_side(entry.value()),
            _ => 0,
        }
    }

    /// Lets the map have `value` for `key`; 0 removes the entry. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn weak_map_set(&mut self, map: ObjectRef, key: u64, value: u64) -> Result<(), OutOfMemory> {
        if value == 0 {
            self.weak_map_remove(map, key);
            return Ok(());
        }
        let mode = WeakMode::of_map(map);
        if let Some(Ok(entry)) = Table::of(map).map(|table| table.find(key)) {
            self.write_value(entry, value);
            return Ok(());
        }
        self.holding(&[Some(map), object_of(key), object_of(value)], |heap| {
            let object = heap.allocate_cell(builtin::weak_map_entry(mode), 0)?;
            let entry = Entry { object, mode };
            object.slot(ENTRY_NUMBER).store(map.slot(NUMBER).read());
            for slot in [entry.key(), entry.value()] {
                slot.store(0);
            }
            // Last, since callbacks that run at safepoints insert, too.
            if !has_room(map) {
                heap.holding(&[Some(object)], |heap| heap.make_room(map))?;
            }
            let table = Table::of(map).expect("room was made a moment ago");
            let place = match table.find(key) {
                Err(place) => place,
                Ok(entry) => {
                    // By one of those.
                    heap.write_value(entry, value);
                    return Ok(());
                }
            };
            heap.write_key(entry, key);
            heap.write_value(entry, value);
            match table.entry(place) {
                Some(_) => heap.note_dead_entry(map.slot(NUMBER).read(), -1),
                None => map.slot(USED).store(map.slot(USED).read() + 1),
            }
            heap.write(table.object, table.place(place), object.address());
            Ok(())
        })
    }

    /// Removes the entry of `key`; whether there was one.
    pub fn weak_map_remove(&mut self, map: ObjectRef, key: u64) -> bool {
        let Some(Ok(entry)) = Table::of(map).map(|table| table.find(key)) else { return false };
        self.write_value(entry, 0);
        self.write_key(entry, 0);
        self.note_dead_entry(map.slot(NUMBER).read(), 1);
        true
    }

    /// Number of entries.
    pub fn weak_map_count(&self, map: ObjectRef) -> u64 {
        map.slot(USED).read() - self.specials.dead_entries[&map.slot(NUMBER).read()]
    }

    /// Positions are numbers from 1 on: the first after `position` at which key and value are alive; 0 when there is
    /// none. An insertion may change them all.
    pub fn weak_map_next(&mut self, map: ObjectRef, position: u64) -> u64 {
        let Some(table) = Table::of(map) else { return 0 };
        let alive = |heap: &mut Heap, at: u64| {
            let entry = table.entry(at).filter(|entry| !entry.is_dead());
            entry.is_some_and(|entry| heap.read_side(entry.key()) != 0 && heap.read_side(entry.value()) != 0)
        };
        (position..table.places()).find(|&at| alive(self, at)).map_or(0, |at| at + 1)
    }

    /// Key and value at a position, until the next safepoint; 0 where there is none any more.
    pub fn weak_map_at(&mut self, map: ObjectRef, position: u64) -> (u64, u64) {
        let table = Table::of(map).filter(|table| (1..=table.places()).contains(&position));
        match table.and_then(|table| table.entry(position - 1)).filter(|entry| !entry.is_dead()) {
            Some(entry) => (self.read_side(entry.key()), self.read_side(entry.value())),
            None => (0, 0),
        }
    }

    /// The word of a side that is alive. A counted reference is; that an upgrade takes it for the root it will be does no harm.
    fn read_side(&mut self, slot: Slot) -> u64 {
        let word = slot.read();
        match object_of(word) {
            Some(object) => self.upgrade(object).map_or(0, ObjectRef::address),
            None => word,
        }
    }

    fn write_key(&mut self, entry: Entry, key: u64) {
        match entry.mode {
            WeakMode::Values => self.write(entry.object, entry.key(), key),
            _ => self.write_side(entry.object, entry.key(), key, WeakKind::Key),
        }
    }

    fn write_value(&mut self, entry: Entry, value: u64) {
        match entry.mode {
            WeakMode::Keys => self.write(entry.object, entry.value(), value),
            _ => self.write_side(entry.object, entry.value(), value, WeakKind::Reference),
        }
    }

    fn write_side(&mut self, entry: ObjectRef, slot: Slot, word: u64, kind: WeakKind) {
        self.write_weak(entry, slot, object_of(word), kind);
        slot.store(word);
    }

    fn note_dead_entry(&mut self, number: u64, change: i64) {
        if let Some(dead) = self.specials.dead_entries.get_mut(&number) {
            *dead = dead.wrapping_add_signed(change);
        }
    }

    /// A weak slot of `holder` is about to be cleared: if that is an entry, it dies now, if it has not before.
    pub(crate) fn note_entry_before_clear(&mut self, holder: ObjectRef) {
        if let Some(mode) = builtin::mode_of_entry(holder)
            && !(Entry { object: holder, mode }).is_dead()
        {
            self.note_dead_entry(holder.slot(ENTRY_NUMBER).read(), 1);
        }
    }

    /// Length of a table for the entries that are alive, and one more.
    fn places_wanted(&self, map: ObjectRef) -> u64 {
        ((self.weak_map_count(map) + 1) * 2).next_power_of_two().max(SMALLEST_TABLE)
    }

    /// The table has a free place for one more, afterwards. A safepoint.
    fn make_room(&mut self, map: ObjectRef) -> Result<(), OutOfMemory> {
        let object = loop {
            let places = self.places_wanted(map);
            let object = self.allocate_cell(builtin::weak_map_table(), places)?;
            if has_room(map) {
                return Ok(()); // a callback inserted, and made room
            }
            if self.places_wanted(map) <= places {
                break object;
            }
            // It inserted so much that this table is too small: searches in it would not end.
        };
        let new = Table { object, mode: WeakMode::of_map(map) };
        let mut used = 0;
        if let Some(old) = Table::of(map) {
            for at in 0..old.places() {
                if let Some(entry) = old.entry(at).filter(|entry| !entry.is_dead()) {
                    let place = new.find(entry.key().read()).err().expect("keys are in the table once");
                    self.write(object, new.place(place), entry.object.address());
                    used += 1;
                }
            }
        }
        map.slot(USED).store(used);
        self.specials.dead_entries.insert(map.slot(NUMBER).read(), 0);
        self.write(map, map.slot(TABLE), object.address());
        Ok(())
    }
}
