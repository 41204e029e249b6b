//! The keys of a map with weak keys, for those that follow or end them without a link (`special/member.rs`).

use super::table::Table;
use super::{DONE, NUMBER, WeakMode, object_of};
use crate::object::{ObjectRef, Slot};
use crate::services::builtin;

/// The number of a weak map.
pub(crate) fn number_of_map(map: ObjectRef) -> u64 {
    map.slot(NUMBER).read()
}

/// The entry whose key the object is, in a map with weak keys.
pub(crate) fn entry_in(map: ObjectRef, key: ObjectRef) -> Option<ObjectRef> {
    let entry = Table::of(map)?.place_of(key.address()).entry()?;
    (entry.mode == WeakMode::Keys).then_some(entry.object)
}

/// Where an entry with a weak key has that.
#[inline]
pub(crate) fn slot_of_key(entry: ObjectRef) -> Slot {
    entry.slot(WeakMode::Keys.offsets().0)
}

/// The key of an entry with a weak key: an object, with a link or without.
#[inline]
pub(crate) fn key_of_entry(entry: ObjectRef) -> Option<ObjectRef> {
    // SAFETY: [WEAK] the word in the heap range of such an entry is an object whose memory is there.
    unsafe { object_of(slot_of_key(entry).read()) }
}

/// Whether the object is an entry with a weak key that is an object.
pub(crate) fn is_entry_with_key(object: ObjectRef) -> bool {
    builtin::is_weak_key_entry(object) && key_of_entry(object).is_some()
}

/// The entries of a dying map, from where it is done on.
pub(crate) struct MapEntries {
    map: ObjectRef,
    bucket: u64,
    at: u64,
}

impl MapEntries {
    pub(crate) fn of(map: ObjectRef) -> MapEntries {
        let done = map.slot(DONE).read();
        MapEntries { map, bucket: done >> 32, at: done & u64::from(u32::MAX) }
    }

    /// The entry at the next place in use, and its key, if that is weak and the value is not.
    pub(crate) fn next(&mut self) -> Option<(ObjectRef, Option<ObjectRef>)> {
        let table = Table::of(self.map)?;
        while self.bucket < table.buckets() {
            let bucket = table.bucket(self.bucket);
            while self.at < bucket.places() {
                if let Some(entry) = bucket.entry(self.at) {
                    let has_weak_key = entry.mode == WeakMode::Keys;
                    return Some((entry.object, if has_weak_key { key_of_entry(entry.object) } else { None }));
                }
                self.at += 1;
            }
            (self.bucket, self.at) = (self.bucket + 1, 0);
        }
        None
    }

    /// That one is done with.
    pub(crate) fn pass(&mut self) {
        self.at += 1;
        self.map.slot(DONE).store(self.bucket << 32 | self.at);
    }
}
