//! Where the entries of a weak map stand: linear hashing (Litwin 1980), so that no insertion goes through all of them. `[BOUND]`
//!
//! ```text
//!   map ──► directory ──► segment ──► bucket ──► entry     a bucket is open-addressed, and at most three quarters full
//!                    └──► segment ──► bucket ──► entry
//!                                └──► bucket ──► entry
//! ```
//!
//! A map of *n* buckets, 2ᴸ ≤ *n* < 2ᴸ⁺¹, finds a key's bucket by the last L + 1 bits of its hash, or by L bits where that is none
//! yet. When there are more than [`ENTRIES_PER_BUCKET`] live entries for each bucket, the next bucket in turn is split into itself
//! and a new last one; when there is a quarter of that, the last is merged with the one that it came from. A bucket that is
//! full is made anew without dead entries, as large as it needs to be, whatever keys a program chooses. Each insertion does at most
//! one of either, so it moves some hundred entries. (One table that doubled took 10 to 35 ms for a million.)
//!
//! Segment 0 has bucket 0, and segment *k* the buckets 2ᵏ⁻¹ to 2ᵏ − 1. So no word of a segment is ever copied: a map that doubles takes one
//! segment more. The directory has a word for each segment, and is copied when it doubles: 13 words for a million entries.
//!
//! Whatever allocates is a safepoint, and callbacks that run there may change the map: the change to make is looked up
//! anew after each allocation.

use super::{ENTRIES_PER_BUCKET, Entry, WeakMode};
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot};
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;

/// In a map: its directory.
pub(super) const DIRECTORY: u64 = 0;
/// Places of all buckets that are in use, by dead entries, too.
pub(super) const USED: u64 = 24;
/// How many buckets there are.
pub(super) const BUCKETS: u64 = 32;
/// In a bucket: how many of its places are in use.
const USED_OF_BUCKET: u64 = 8;

const SMALLEST_BUCKET: u64 = 8;

/// The places in the directory and in a bucket for a key.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const BUCKET_BITS_AT: u32 = 24;
const PLACE_BITS_AT: u32 = 52;

/// The bucket of a key among `buckets`.
fn bucket_of(key: u64, buckets: u64) -> u64 {
    let hash = (key >> 3).wrapping_mul(MULTIPLIER) >> BUCKET_BITS_AT;
    let half = 1 << buckets.ilog2();
    match hash & (2 * half - 1) {
        number if number < buckets => number,
        number => number - half,
    }
}

/// The bucket that the last of `buckets` came from.
fn origin_of_last(buckets: u64) -> u64 {
    let last = buckets - 1;
    last - (1 << last.ilog2())
}

/// The segment of a bucket, and its place there.
fn segment_of(bucket: u64) -> (u64, u64) {
    match bucket.checked_ilog2() {
        None => (0, 0),
        Some(bits) => (u64::from(bits) + 1, bucket - (1 << bits)),
    }
}

/// How many buckets there are before a segment: as many as it has itself, but for the first.
fn buckets_before(segment: u64) -> u64 {
    if segment == 0 { 0 } else { 1 << (segment - 1) }
}

/// Places of a bucket with so many entries, and room for one more.
fn places_for(entries: u64) -> u64 {
    ((entries + 1) * 2).next_power_of_two().max(SMALLEST_BUCKET)
}

/// A bucket: the number of its places, how many are in use, the places.
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    pub(super) object: ObjectRef,
    mode: WeakMode,
}

impl Bucket {
    pub(super) fn places(self) -> u64 {
        self.object.slot(0).read()
    }

    fn used(self) -> Slot {
        self.object.slot(USED_OF_BUCKET)
    }

    pub(super) fn place(self, at: u64) -> Slot {
        self.object.slot(16 + at * 8)
    }

    pub(super) fn entry(self, at: u64) -> Option<Entry> {
        // SAFETY: [HEADER] a plain reference of a bucket.
        let object = unsafe { ObjectRef::of_word(self.place(at).read()) }?;
        Some(Entry { object, mode: self.mode })
    }

    fn live(self) -> impl Iterator<Item = Entry> {
        (0..self.places()).filter_map(move |at| self.entry(at)).filter(|entry| !entry.is_dead())
    }

    /// Whether there is a place for one more.
    fn has_room(self) -> bool {
        (self.used().read() + 1) * 4 <= self.places() * 3
    }

    /// The entry of `key`, or the place where it belongs: one of a dead entry, or a free one.
    fn find(self, key: u64) -> Result<Entry, u64> {
        let mask = self.places() - 1;
        let mut at = (key >> 3).wrapping_mul(MULTIPLIER) >> PLACE_BITS_AT & mask;
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

/// The directory of a map that has one.
#[derive(Clone, Copy)]
pub(super) struct Table {
    map: ObjectRef,
    directory: ObjectRef,
    mode: WeakMode,
}

impl Table {
    pub(super) fn of(map: ObjectRef) -> Option<Table> {
        let directory = directory_of(map)?;
        (map.slot(BUCKETS).read() != 0).then(|| Table { map, directory, mode: WeakMode::of_map(map) })
    }

    pub(super) fn buckets(self) -> u64 {
        self.map.slot(BUCKETS).read()
    }

    pub(super) fn bucket(self, number: u64) -> Bucket {
        let (segment, place) = segment_of(number);
        let segment = object_at(self.directory, segment).expect("the directory names the segments of all buckets");
        let object = object_at(segment, place).expect("a segment names its buckets");
        Bucket { object, mode: self.mode }
    }

    fn bucket_of(self, key: u64) -> Bucket {
        self.bucket(bucket_of(key, self.buckets()))
    }

    /// The entry of `key`, or the bucket and the place where it belongs.
    pub(super) fn find(self, key: u64) -> Result<Entry, (Bucket, u64)> {
        let bucket = self.bucket_of(key);
        bucket.find(key).map_err(|place| (bucket, place))
    }
}

fn directory_of(map: ObjectRef) -> Option<ObjectRef> {
    // SAFETY: [HEADER] a plain reference of a map.
    unsafe { ObjectRef::of_word(map.slot(DIRECTORY).read()) }
}

/// The change that one more bucket needs first, beside so many.
fn need_of_split(directory: ObjectRef, buckets: u64) -> Need {
    let (segment, places) = (segment_of(buckets).0, directory.slot(0).read());
    match segment {
        _ if segment >= places => Need::Directory(2 * places),
        _ if object_at(directory, segment).is_none() => Need::Segment(segment),
        _ => Need::Split,
    }
}

/// Returns the entry at a place of a directory or of a segment.
fn object_at(directory: ObjectRef, place: u64) -> Option<ObjectRef> {
    // SAFETY: [HEADER] a plain reference of a directory, or of a segment.
    unsafe { ObjectRef::of_word(place_of(directory, place).read()) }
}

fn place_of(directory: ObjectRef, place: u64) -> Slot {
    directory.slot(8 + place * 8)
}

/// The change that a map needs before it takes one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    /// A directory of so many places.
    Directory(u64),
    /// This segment.
    Segment(u64),
    /// One more bucket.
    Split,
    /// One bucket less.
    Merge,
    /// This bucket is full.
    Room(u64),
}

impl Heap {
    /// The map has a place for `key`, afterwards. A safepoint.
    pub(super) fn make_room(&mut self, map: ObjectRef, key: u64) -> Result<(), OutOfMemory> {
        let mut merges = true;
        loop {
            let needed = |heap: &Heap| heap.map_needs(map, key, merges);
            match needed(self) {
                Need::Nothing => return Ok(()),
                Need::Directory(places) => self.make_directory(map, places, needed)?,
                Need::Segment(number) => self.make_segment(map, number, needed)?,
                need => {
                    self.make_buckets(map, need, needed)?;
                    merges &= need != Need::Merge;
                }
            }
        }
    }

    fn map_needs(&self, map: ObjectRef, key: u64, merges: bool) -> Need {
        let Some(directory) = directory_of(map) else { return Need::Directory(1) };
        let Some(table) = Table::of(map) else { return need_of_split(directory, 0) };
        let (buckets, live) = (table.buckets(), self.weak_map_count(map) + 1);
        if live > buckets * ENTRIES_PER_BUCKET {
            return need_of_split(directory, buckets);
        }
        if merges && buckets > 1 && live < buckets * ENTRIES_PER_BUCKET / 4 {
            return Need::Merge;
        }
        let number = bucket_of(key, buckets);
        if table.bucket(number).has_room() { Need::Nothing } else { Need::Room(number) }
    }

    fn make_directory(
        &mut self,
        map: ObjectRef,
        places: u64,
        needed: impl Fn(&Heap) -> Need,
    ) -> Result<(), OutOfMemory> {
        let directory = self.allocate_cell(builtin::weak_map_table(), places)?;
        if needed(self) != Need::Directory(places) {
            return Ok(());
        }
        if let Some(old) = directory_of(map) {
            for place in 0..old.slot(0).read() {
                let segment = object_at(old, place).map_or(0, ObjectRef::address);
                self.write(directory, place_of(directory, place), segment);
            }
        }
        self.write(map, map.slot(DIRECTORY), directory.address());
        Ok(())
    }

    fn make_segment(&mut self, map: ObjectRef, number: u64, needed: impl Fn(&Heap) -> Need) -> Result<(), OutOfMemory> {
        let segment = self.allocate_cell(builtin::weak_map_table(), buckets_before(number).max(1))?;
        if needed(self) == Need::Segment(number) {
            let directory = directory_of(map).expect("it has a place for the segment");
            self.write(directory, place_of(directory, number), segment.address());
        }
        Ok(())
    }

    /// Lets go of the last segment when the map has less than a quarter of the buckets before it.
    fn drop_segment(&mut self, directory: ObjectRef, buckets: u64) {
        let last = (0..directory.slot(0).read()).rev().find(|&place| object_at(directory, place).is_some());
        if let Some(last) = last.filter(|&last| buckets < buckets_before(last) / 4) {
            self.write(directory, place_of(directory, last), 0);
        }
    }

    /// Splits a bucket, merges two, or makes one anew, as the map needs it.
    fn make_buckets(&mut self, map: ObjectRef, need: Need, needed: impl Fn(&Heap) -> Need) -> Result<(), OutOfMemory> {
        let (sizes, _) = change(map, need);
        let first = self.new_bucket(map, sizes[0])?;
        let second = match sizes[1] {
            0 => None,
            places => Some(self.holding(&[Some(first.object)], |heap| heap.new_bucket(map, places))?),
        };
        // A callback may have inserted so much that these are too small: searches in them would not end.
        let (wanted, change) = change(map, need);
        if needed(self) != need || wanted[0] > sizes[0] || wanted[1] > sizes[1] {
            return Ok(());
        }
        let Change { from, to, buckets } = change;
        for number in from.into_iter().flatten() {
            self.move_entries(
                map,
                number,
                buckets,
                |number| if number == to[0] { first } else { second.unwrap_or(first) },
            );
        }
        let directory = directory_of(map).expect("it is made before any bucket");
        for (number, bucket) in [(to[0], Some(first)), (to[1], second)] {
            if let Some(bucket) = bucket {
                self.write_bucket(directory, number, bucket.object.address());
            }
        }
        for number in buckets..map.slot(BUCKETS).read() {
            self.write_bucket(directory, number, 0);
        }
        map.slot(BUCKETS).store(buckets);
        self.drop_segment(directory, buckets);
        Ok(())
    }

    fn write_bucket(&mut self, directory: ObjectRef, number: u64, bucket: u64) {
        let (segment, place) = segment_of(number);
        let segment = object_at(directory, segment).expect("it is made before its buckets");
        self.write(segment, place_of(segment, place), bucket);
    }

    fn new_bucket(&mut self, map: ObjectRef, places: u64) -> Result<Bucket, OutOfMemory> {
        let object = self.allocate_cell(builtin::weak_map_bucket(), places)?;
        object.slot(USED_OF_BUCKET).store(0);
        Ok(Bucket { object, mode: WeakMode::of_map(map) })
    }

    /// Enters the live entries of a bucket in those that come in its place, by the number that they have among `buckets`.
    fn move_entries(&mut self, map: ObjectRef, number: u64, buckets: u64, to: impl Fn(u64) -> Bucket) {
        let old = Table::of(map).expect("it has the bucket").bucket(number);
        let mut moved = 0;
        for entry in old.live() {
            let key = entry.key().read();
            let new = to(bucket_of(key, buckets));
            let place = new.find(key).err().expect("keys are in the map once");
            self.write(new.object, new.place(place), entry.object.address());
            new.used().store(new.used().read() + 1);
            moved += 1;
        }
        let dead = old.used().read() - moved;
        map.slot(USED).store(map.slot(USED).read() - dead);
        self.note_dead_entry(map, -(dead as i64));
    }

    /// An entry of a key that the map does not have stands at a place where it belongs.
    pub(super) fn enter_in_bucket(&mut self, map: ObjectRef, (bucket, place): (Bucket, u64), entry: Entry) {
        if bucket.entry(place).is_some() {
            self.note_dead_entry(map, -1);
        } else {
            bucket.used().store(bucket.used().read() + 1);
            map.slot(USED).store(map.slot(USED).read() + 1);
        }
        self.write(bucket.object, bucket.place(place), entry.object.address());
    }
}

/// The buckets that replace others.
struct Change {
    from: [Option<u64>; 2],
    to: [u64; 2],
    /// How many there are then.
    buckets: u64,
}

/// The change to make, and the places of its one or two buckets.
fn change(map: ObjectRef, need: Need) -> ([u64; 2], Change) {
    let Some(table) = Table::of(map) else {
        return ([SMALLEST_BUCKET, 0], Change { from: [None; 2], to: [0, 0], buckets: 1 });
    };
    let buckets = table.buckets();
    let change = match need {
        Need::Split => {
            let origin = origin_of_last(buckets + 1);
            Change { from: [Some(origin), None], to: [origin, buckets], buckets: buckets + 1 }
        }
        Need::Merge => {
            let origin = origin_of_last(buckets);
            Change { from: [Some(origin), Some(buckets - 1)], to: [origin, origin], buckets: buckets - 1 }
        }
        Need::Room(number) => Change { from: [Some(number), None], to: [number, number], buckets },
        Need::Nothing | Need::Directory(_) | Need::Segment(_) => unreachable!("changes no bucket"),
    };
    let live = change.from.iter().flatten().flat_map(|&number| table.bucket(number).live());
    let mut entries = [0, 0];
    live.for_each(|entry| {
        let first = bucket_of(entry.key().read(), change.buckets) == change.to[0];
        entries[usize::from(!first)] += 1;
    });
    let second = if change.to[0] == change.to[1] { 0 } else { places_for(entries[1]) };
    ([places_for(entries[0]), second], change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_has_a_place_of_its_own() {
        let mut next = (0, 0);
        for bucket in 0..5000 {
            assert_eq!(segment_of(bucket), next, "bucket {bucket}");
            let (segment, place) = next;
            let last = place + 1 == buckets_before(segment).max(1);
            next = if last { (segment + 1, 0) } else { (segment, place + 1) };
            assert!(!last || buckets_before(segment + 1) == bucket + 1);
        }
    }

    #[test]
    fn only_the_bucket_whose_turn_it_is_gives_keys_to_the_new_one() {
        let keys = || (1..4000_u64).map(|number| number * 24 + ((number % 7) << 33));
        for buckets in 1..200 {
            let origin = origin_of_last(buckets + 1);
            for key in keys() {
                let (before, after) = (bucket_of(key, buckets), bucket_of(key, buckets + 1));
                assert!(before < buckets && (after == before || before == origin && after == buckets), "{buckets}");
            }
        }
        let in_last = keys().filter(|&key| bucket_of(key, 200) == 199).count();
        assert!((5..60).contains(&in_last), "{in_last} of 4000 in one of 200");
    }
}
