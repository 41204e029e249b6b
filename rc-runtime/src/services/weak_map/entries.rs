//! Entries of a weak map are read, made, removed.

use super::keys::key_of_entry;
use super::table::{BUCKET_MASK, BUCKETS, Bucket, CHANGES, Place, Table, USED, value_of_weak_key, weak_value_of};
use super::{DONE, ENTRY_BYTES, ENTRY_CELL, Entry, FIRST, MODE, NUMBER, WeakMode, object_of};
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot};
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;
use crate::services::special::{LastTable, MapState};
use crate::services::weak::WeakKind;

impl Heap {
    /// A new, empty weak map. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak_map(&mut self, mode: WeakMode) -> Result<ObjectRef, OutOfMemory> {
        let map = self.allocate_cell(builtin::weak_map(), 0)?;
        let number = self.services.specials.next_map_number();
        map.slot(NUMBER).store(number);
        map.slot(MODE).store(mode as u64);
        [USED, BUCKETS, DONE, CHANGES, BUCKET_MASK, FIRST].into_iter().for_each(|word| map.slot(word).store(0));
        self.rest(map).map = number;
        self.services.specials.maps.insert(number, MapState { map: Some(map), dead: 0 });
        Ok(map)
    }

    /// Returns the map's value for `key`, valid until the next safepoint; 0 for none.
    ///
    /// # Safety
    /// Words in the heap range are objects' addresses; `map` is a weak map.
    #[inline(always)]
    pub unsafe fn weak_map_get(&mut self, map: ObjectRef, key: u64) -> u64 {
        if map.slot(MODE).read() == WeakMode::Keys as u64 && map.slot(BUCKETS).read() != 0 {
            // SAFETY: [HEADER] by the caller's promise.
            return unsafe { value_of_weak_key(map, key) };
        }
        // SAFETY: by the caller's promise.
        unsafe { self.weak_map_get_weakly(map, key) }
    }

    /// The same of the [last weak map](Self::is_last_weak_map). The value is a counted reference, and alive, since the caller has the
    /// key. Nothing is called.
    ///
    /// # Safety
    /// There is one; and as for [`weak_map_get`](Self::weak_map_get).
    #[inline(always)]
    pub unsafe fn last_weak_map_get(&self, key: u64) -> u64 {
        // SAFETY: [HEADER] by the caller's promise there is one; it is a map until it dies.
        let map = unsafe { ObjectRef::from_address(self.services.specials.last_map.0) };
        // SAFETY: [HEADER] a map that was asked and has entries has a bucket, and keeps one.
        unsafe { value_of_weak_key(map, key) }
    }

    /// What the [last map with weak values](Self::is_last_map_of_weak_values) has for `key`: a weak slot's word, to be upgraded; 0 for
    /// none. Nothing is called.
    ///
    /// # Safety
    /// There is one; and as for [`weak_map_get`](Self::weak_map_get).
    #[inline(always)]
    pub unsafe fn last_weak_value(&self, key: u64) -> u64 {
        // SAFETY: [HEADER] by the caller's promise there is one; it is a map until it dies.
        let map = unsafe { ObjectRef::from_address(self.services.specials.last_map_of_values.0) };
        // SAFETY: [HEADER] a map that was asked and has entries has a bucket, and keeps one.
        unsafe { weak_value_of(map, key) }
    }

    /// The same of a map with weak values, or without entries.
    ///
    /// # Safety
    /// As for [`weak_map_get`](Self::weak_map_get).
    #[inline(never)]
    pub(crate) unsafe fn weak_map_get_weakly(&mut self, map: ObjectRef, key: u64) -> u64 {
        if map.slot(BUCKETS).read() == 0 {
            return 0;
        }
        // SAFETY: [HEADER] it has a bucket, and the mode.
        let word = unsafe { weak_value_of(map, key) };
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        match unsafe { object_of(word) } {
            Some(value) => self.upgrade(value).map_or(0, ObjectRef::address),
            None => word,
        }
    }

    /// Whether the word is the weak map with weak keys that was asked last, of this heap: one comparison.
    #[inline(always)]
    pub fn is_last_weak_map(&self, word: u64) -> bool {
        self.services.specials.last_map == LastTable(word)
    }

    /// The same of a map with weak values, or with both weak.
    #[inline(always)]
    pub fn is_last_map_of_weak_values(&self, word: u64) -> bool {
        self.services.specials.last_map_of_values == LastTable(word)
    }

    /// The weak map, which is of this heap, is asked.
    pub fn note_last_weak_map(&mut self, map: ObjectRef) {
        if !builtin::is_weak_map(map) || map.slot(BUCKETS).read() == 0 {
            return;
        }
        let last = match WeakMode::of_map(map) {
            WeakMode::Keys => &mut self.services.specials.last_map,
            WeakMode::Values | WeakMode::Both => &mut self.services.specials.last_map_of_values,
        };
        *last = LastTable(map.address());
    }

    /// Lets the map have `value` for `key`; 0 removes the entry. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// # Safety
    /// Words in the heap range are objects' addresses; `map` is a weak map.
    pub unsafe fn weak_map_set(&mut self, map: ObjectRef, key: u64, value: u64) -> Result<(), OutOfMemory> {
        if value == 0 {
            // SAFETY: by the caller's promise.
            unsafe { self.weak_map_remove(map, key) };
            return Ok(());
        }
        let done = map.slot(BUCKETS).read() != 0
            && match WeakMode::of_map(map) {
                // SAFETY: by the caller's promise; the map has that mode and a bucket.
                WeakMode::Keys => unsafe { self.set_at_once(map, WeakMode::Keys, key, value) },
                // SAFETY: by the caller's promise; the map has that mode and a bucket.
                mode => unsafe { self.set_weakly_at_once(map, mode, key, value) },
            };
        // SAFETY: by the caller's promise.
        if done { Ok(()) } else { unsafe { self.weak_map_set_slowly(map, key, value) } }
    }

    /// The same as [`set_at_once`](Self::set_at_once) for maps with weak values.
    #[inline(never)]
    unsafe fn set_weakly_at_once(&mut self, map: ObjectRef, mode: WeakMode, key: u64, value: u64) -> bool {
        match mode {
            // SAFETY: by the caller's promise.
            WeakMode::Both => unsafe { self.set_at_once(map, WeakMode::Both, key, value) },
            // SAFETY: by the caller's promise.
            _ => unsafe { self.set_at_once(map, WeakMode::Values, key, value) },
        }
    }

    /// Lets a map that has a bucket have `value` for `key` if that takes neither more room nor a safepoint. Whether it has.
    ///
    /// # Safety
    /// As for [`weak_map_set`](Self::weak_map_set); the map has that mode and a bucket. `[HEADER]`
    #[inline(always)]
    unsafe fn set_at_once(&mut self, map: ObjectRef, mode: WeakMode, key: u64, value: u64) -> bool {
        // SAFETY: [HEADER] by the caller's promise.
        let at = unsafe { Place::of(map, mode, key) };
        let free = match at.found {
            Ok(entry) => {
                self.write_value(map, entry, value);
                return true;
            }
            Err(free) => free,
        };
        if !self.map_takes(map, at.bucket) {
            return false;
        }
        let Some(object) = self.allocate_entry_at_once(builtin::weak_map_entry(mode), ENTRY_CELL) else { return false };
        self.enter_new(map, (at.bucket, free), Entry { object, mode }, key, value);
        true
    }

    /// An entry without a safepoint between its birth and the end of this: nothing refers to it, and no mark has come to it.
    #[inline(always)]
    fn enter_new(&mut self, map: ObjectRef, at: (Bucket, u64), entry: Entry, key: u64, value: u64) {
        let number = map.slot(NUMBER).read();
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        let key_object = unsafe { object_of(key) };
        // SAFETY: [HEADER] as above.
        let value_object = unsafe { object_of(value) };
        match (entry.mode, key_object) {
            (WeakMode::Keys, Some(object)) if self.enter_member(entry.object, object, number) => entry.key().store(key),
            (WeakMode::Keys, _) => self.write_linked_key(entry, key, number),
            (WeakMode::Values, _) => {
                self.write_first(entry.key(), key);
                if self.enter_first_bond(entry.object, [value_object, None], number) {
                    self.note_told_by_bond(entry.object);
                    entry.value().store(value);
                } else {
                    self.bind_side(entry, (entry.value(), WeakKind::Reference), value, number);
                }
            }
            (WeakMode::Both, _) if self.enter_first_bond(entry.object, [value_object, key_object], number) => {
                entry.key().store(key);
                entry.value().store(value);
            }
            (WeakMode::Both, _) => self.bind_sides(entry, key, value, number),
        }
        if entry.mode == WeakMode::Keys {
            self.write_first(entry.value(), value);
        }
        let dead = self.note_entry_in_bucket(map, at);
        self.write_owned(at.0.object, at.0.place(at.1), entry.object, dead);
    }

    /// The same where room is to be made, or a safepoint comes first.
    #[inline(never)]
    unsafe fn weak_map_set_slowly(&mut self, map: ObjectRef, key: u64, value: u64) -> Result<(), OutOfMemory> {
        let mode = WeakMode::of_map(map);
        // SAFETY: [HEADER] by the caller's promise, as for `value`.
        let key_object = unsafe { object_of(key) };
        // SAFETY: [HEADER] as above.
        let value_object = unsafe { object_of(value) };
        self.holding(&[Some(map), key_object, value_object], |heap| {
            let object = heap.allocate_cell(builtin::weak_map_entry(mode), 0)?;
            let entry = Entry { object, mode };
            for slot in [entry.key(), entry.value()] {
                slot.store(0);
            }
            // Last, since callbacks that run at safepoints insert, too.
            heap.holding(&[Some(object)], |heap| heap.make_room(map, key))?;
            let table = Table::of(map).expect("room was made a moment ago");
            let at = table.place_of(key);
            let free = match at.found {
                Ok(entry) => {
                    // By one of those.
                    heap.write_value(map, entry, value);
                    return Ok(());
                }
                Err(free) => free,
            };
            heap.write_key(map, entry, key);
            heap.write_value(map, entry, value);
            heap.note_entry_in_bucket(map, (at.bucket, free));
            heap.write(at.bucket.object, at.bucket.place(free), object.address());
            Ok(())
        })
    }

    /// Removes the entry of `key`; whether there was one.
    ///
    /// # Safety
    /// Words in the heap range are objects' addresses; `map` is a weak map.
    pub unsafe fn weak_map_remove(&mut self, map: ObjectRef, key: u64) -> bool {
        let Some(entry) = Table::of(map).and_then(|table| table.place_of(key).entry()) else { return false };
        self.write_value(map, entry, 0);
        self.write_key(map, entry, 0);
        self.note_dead_entry(map, 1);
        true
    }

    /// Number of entries.
    pub fn weak_map_count(&self, map: ObjectRef) -> u64 {
        let specials = &self.services.specials;
        let dead = if specials.dead_entries_of_all == 0 { 0 } else { specials.maps[&map.slot(NUMBER).read()].dead };
        map.slot(USED).read() - dead
    }

    /// A position is 0 before the first entry, and else a number of 32 bits for the bucket and one for the place, from 1 on. The
    /// first after `position` at which key and value are alive; 0 when there is none. An insertion may change them all.
    pub fn weak_map_next(&mut self, map: ObjectRef, position: u64) -> u64 {
        let Some(table) = Table::of(map) else { return 0 };
        let first = map.slot(FIRST).read();
        let mut is_first = position <= first;
        let from = position.max(first);
        let (mut number, mut at) = (from >> 32, from & u64::from(u32::MAX));
        while number < table.buckets() {
            let bucket = table.bucket(number);
            while at < bucket.places() {
                let entry = bucket.entry(at).filter(|entry| !entry.is_dead());
                if is_first && entry.is_some() {
                    map.slot(FIRST).store(number << 32 | at);
                    is_first = false;
                }
                at += 1;
                if entry.is_some_and(|entry| self.read_side(entry.key()) != 0 && self.read_side(entry.value()) != 0) {
                    return number << 32 | at;
                }
            }
            (number, at) = (number + 1, 0);
        }
        if is_first {
            map.slot(FIRST).store(number << 32);
        }
        0
    }

    /// The position of the entry of `key`; 0 if there is none that is alive.
    pub fn weak_map_find(&mut self, map: ObjectRef, key: u64) -> u64 {
        let found = Table::of(map).filter(|_| key != 0).and_then(|table| table.find(key));
        let position = found.map_or(0, |(number, at)| (number << 32) | (at + 1));
        let (key, value) = self.weak_map_at(map, position);
        if key != 0 && value != 0 { position } else { 0 }
    }

    /// Key and value at a position, until the next safepoint; 0 where there is none any more.
    pub fn weak_map_at(&mut self, map: ObjectRef, position: u64) -> (u64, u64) {
        let (number, place) = (position >> 32, position & u64::from(u32::MAX));
        let bucket = Table::of(map).filter(|table| number < table.buckets()).map(|table| table.bucket(number));
        let bucket = bucket.filter(|bucket| (1..=bucket.places()).contains(&place));
        match bucket.and_then(|bucket| bucket.entry(place - 1)).filter(|entry| !entry.is_dead()) {
            Some(entry) => (self.read_side(entry.key()), self.read_side(entry.value())),
            None => (0, 0),
        }
    }

    /// The word of a side that is alive. A counted reference is; that an upgrade takes it for the root it will be does no harm.
    pub(in crate::services::weak_map) fn read_side(&mut self, slot: Slot) -> u64 {
        let word = slot.read();
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        match unsafe { object_of(word) } {
            Some(object) => self.upgrade(object).map_or(0, ObjectRef::address),
            None => word,
        }
    }

    fn write_key(&mut self, map: ObjectRef, entry: Entry, key: u64) {
        match entry.mode {
            WeakMode::Values => self.write(entry.object, entry.key(), key),
            WeakMode::Keys => self.write_weak_key(map, entry, key),
            WeakMode::Both => self.bind_side_again(map, entry, (entry.key(), WeakKind::Key), key),
        }
    }

    fn write_weak_key(&mut self, map: ObjectRef, entry: Entry, key: u64) {
        match key_of_entry(entry.object) {
            Some(old) if self.entry_of_member(old) == Some(entry.object) => {
                entry.key().store(0);
                self.leave_map(old);
            }
            Some(_) => self.forget_weak_slot(entry.object, entry.key()),
            None => {}
        }
        self.write_first_weak_key(entry, key, map.slot(NUMBER).read());
        self.note_other_key(entry.object);
        self.tidy_special(entry.object);
    }

    /// The same of an entry with a weak key and none yet.
    fn write_first_weak_key(&mut self, entry: Entry, key: u64, map: u64) {
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        match unsafe { object_of(key) } {
            Some(object) if self.enter_member(entry.object, object, map) => entry.key().store(key),
            _ => self.write_linked_key(entry, key, map),
        }
    }

    /// The same where the key has a record, or is none of the heap's.
    #[inline(never)]
    fn write_linked_key(&mut self, entry: Entry, key: u64, map: u64) {
        entry.key().store(key);
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        if let Some(object) = unsafe { object_of(key) } {
            self.link_side(entry.object, (entry.key(), WeakKind::Key), object, map);
        }
    }

    #[inline(never)]
    fn write_value(&mut self, map: ObjectRef, entry: Entry, value: u64) {
        match entry.mode {
            WeakMode::Keys => self.write(entry.object, entry.value(), value),
            _ => {
                // One that had lost its value is alive again.
                map.slot(FIRST).store(0);
                self.bind_side_again(map, entry, (entry.value(), WeakKind::Reference), value);
            }
        }
    }

    /// Writes a weak side of an entry of a map with weak values, which refers to nothing yet.
    fn bind_side(&mut self, entry: Entry, side: (Slot, WeakKind), word: u64, map: u64) {
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        if let Some(target) = unsafe { object_of(word) }
            && !self.enter_bond(entry.object, side.0, target, map)
        {
            return self.bind_side_by_link(entry.object, side, target, map);
        }
        side.0.store(word);
    }

    /// Both sides of a new entry, of which one may have a record already.
    #[inline(never)]
    fn bind_sides(&mut self, entry: Entry, key: u64, value: u64, map: u64) {
        entry.value().store(0);
        self.bind_side(entry, (entry.key(), WeakKind::Key), key, map);
        self.bind_side(entry, (entry.value(), WeakKind::Reference), value, map);
    }

    #[inline(never)]
    fn bind_side_by_link(&mut self, entry: ObjectRef, side: (Slot, WeakKind), target: ObjectRef, map: u64) {
        // The other side may be the same object, and get a link by this.
        side.0.store(0);
        self.make_number(target);
        side.0.store(target.address());
        self.link_side(entry, side, target, map);
    }

    /// The same of one that may refer to something.
    fn bind_side_again(&mut self, map: ObjectRef, entry: Entry, side: (Slot, WeakKind), word: u64) {
        if side.0.read() != 0 && !self.leave_bond(entry.object, side.0) {
            self.forget_weak_slot(entry.object, side.0);
        }
        self.bind_side(entry, side, word, map.slot(NUMBER).read());
        self.tidy_special(entry.object);
    }

    /// Dead entries of the map have become more, or fewer.
    pub(in crate::services::weak_map) fn note_dead_entry(&mut self, map: ObjectRef, change: i64) {
        self.note_dead_entry_of(map.slot(NUMBER).read(), change);
    }

    pub(in crate::services::weak_map) fn note_dead_entry_of(&mut self, number: u64, change: i64) {
        if let Some(state) = self.services.specials.maps.get_mut(&number) {
            state.dead = state.dead.wrapping_add_signed(change);
            self.services.specials.dead_entries_of_all =
                self.services.specials.dead_entries_of_all.wrapping_add_signed(change);
        }
    }

    /// Bytes of entries that have died and still stand in their maps, and of their places: they are alive, and room for new ones.
    /// The live heap is smaller by so much. (Taken for needed after each mark, they let a map whose dead entries only marks find grow without
    /// bound.) `[BOUND]`
    pub fn dead_entry_bytes(&self) -> u64 {
        self.services.specials.dead_entries_of_all * ENTRY_BYTES
    }

    /// The data that an ephemeron no longer needs once its key is dead: that of a map is an entry, and has a place there.
    pub fn bytes_of_dead_ephemeron(&self, ephemeron: ObjectRef) -> u64 {
        match builtin::mode_of_entry(ephemeron) {
            Some(_) => ENTRY_BYTES,
            None => ephemeron.type_info().cell_bytes_of(ephemeron),
        }
    }

    /// An entry of the map with that number is about to lose a side: it dies now, if it has not before.
    pub(crate) fn note_entry_before_clear(&mut self, entry: ObjectRef, map: u64) {
        if let Some(mode) = builtin::mode_of_entry(entry)
            && !(Entry { object: entry, mode }).is_dead()
        {
            self.note_dead_entry_of(map, 1);
        }
    }
}
