//! A weak map grows and shrinks, by a bucket at a time (`weak_map/table.rs`). `[BOUND]`
//!
//! Whatever allocates is a safepoint, and callbacks that run there may change the map: the change to make is looked up
//! anew after each allocation.
//!
//! Under the prompt plan entries keep their counts when they move to another bucket, as elements of storage that is replaced do
//! ([`crate::resize`]).

use super::{
    BUCKET_MASK, BUCKETS, Bucket, CHANGES, DIRECTORY, SMALLEST_BUCKET, Table, USED, USED_OF_BUCKET, bit_of_last,
    bucket_of, buckets_in, directory_of, mask_of, object_at, origin_of_last, place_of, places_for, product_of,
    segment_of,
};
use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;
use crate::services::weak_map::{ENTRIES_PER_BUCKET, FIRST, WeakMode};

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
    pub(in crate::services::weak_map) fn make_room(&mut self, map: ObjectRef, key: u64) -> Result<(), OutOfMemory> {
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

    /// Whether the map needs no change before it takes one more in that bucket, where its key belongs.
    #[inline(always)]
    pub(in crate::services::weak_map) fn map_takes(&self, map: ObjectRef, bucket: Bucket) -> bool {
        let (buckets, live) = (map.slot(BUCKETS).read(), self.weak_map_count(map) + 1);
        let most = buckets * ENTRIES_PER_BUCKET;
        live <= most && (live >= most / 4 || buckets == 1) && bucket.has_room()
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
        let segment = self.allocate_cell(builtin::weak_map_table(), buckets_in(number))?;
        if needed(self) == Need::Segment(number) {
            let directory = directory_of(map).expect("it has a place for the segment");
            self.write(directory, place_of(directory, number), segment.address());
        }
        Ok(())
    }

    /// Lets go of the last segment when the map has less than a quarter of the buckets before it.
    fn drop_segment(&mut self, directory: ObjectRef, buckets: u64) {
        let last = (0..directory.slot(0).read()).rev().find(|&place| object_at(directory, place).is_some());
        if let Some(last) = last.filter(|&last| buckets < buckets_in(last) / 4) {
            self.write(directory, place_of(directory, last), 0);
        }
    }

    /// Splits a bucket, merges two, or makes one anew, as the map needs it.
    fn make_buckets(&mut self, map: ObjectRef, need: Need, needed: impl Fn(&Heap) -> Need) -> Result<(), OutOfMemory> {
        let (changes, sizes) = (map.slot(CHANGES).read(), self.sizes_for(map, need));
        let first = self.new_bucket(map, sizes[0])?;
        let second = match sizes[1] {
            0 => None,
            places => Some(self.holding(&[Some(first.object)], |heap| heap.new_bucket(map, places))?),
        };
        // A callback may have inserted so much that these are too small: searches in them would not end.
        if map.slot(CHANGES).read() != changes {
            let wanted = self.sizes_for(map, need);
            if needed(self) != need || wanted[0] > sizes[0] || wanted[1] > sizes[1] {
                return Ok(());
            }
        }
        let Change { from, to, buckets } = change(map, need);
        let bit = if second.is_some() { bit_of_last(buckets) } else { 0 };
        for number in from.into_iter().flatten() {
            let old = Table::of(map).expect("it has the bucket").bucket(number);
            self.move_entries(map, old, [first, second.unwrap_or(first)], bit);
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
        map.slot(BUCKET_MASK).store(mask_of(buckets));
        note_change(map);
        self.drop_segment(directory, buckets);
        Ok(())
    }

    /// The places of the one or two buckets that a change makes.
    fn sizes_for(&self, map: ObjectRef, need: Need) -> [u64; 2] {
        let Some(table) = Table::of(map) else { return [SMALLEST_BUCKET, 0] };
        let change = change(map, need);
        let from = change.from.into_iter().flatten().map(|number| table.bucket(number));
        if change.to[0] == change.to[1] && self.services.specials.dead_entries_of_all == 0 {
            return [places_for(from.map(|bucket| bucket.used().read()).sum()), 0];
        }
        let used: u64 = from.clone().map(|bucket| bucket.used().read()).sum();
        // More than there are entries: wherever they go, a free place ends each search.
        let half = places_for(used / 2 + used / 32);
        if change.to[0] != change.to[1] && self.services.specials.dead_entries_of_all == 0 {
            return [half; 2];
        }
        let mut entries = [0, 0];
        let bit = if change.to[0] == change.to[1] { 0 } else { bit_of_last(change.buckets) };
        for entry in from.flat_map(Bucket::live) {
            entries[usize::from(product_of(entry.key().read()) & bit != 0)] += 1;
        }
        let second = if change.to[0] == change.to[1] { 0 } else { places_for(entries[1]) };
        [places_for(entries[0]), second]
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

    /// Enters the live entries of a bucket in those that come in its place: in the second of them if their products have the bit.
    #[inline(never)]
    fn move_entries(&mut self, map: ObjectRef, old: Bucket, to: [Bucket; 2], bit: u64) {
        let keeps_counts = self.moves_with_counts(old.object);
        let is_plain = keeps_counts || to.iter().all(|bucket| self.is_written_plainly(bucket.object));
        let all_live = self.services.specials.dead_entries_of_all == 0;
        let places = to.map(Bucket::places);
        let (mut moved, mut moved_to_second) = (0, 0);
        for at in 0..old.places() {
            let Some(entry) = old.entry(at) else { continue };
            debug_assert!(!all_live || !entry.is_dead());
            if !all_live && entry.is_dead() {
                continue;
            }
            let product = product_of(entry.key().read());
            let side = usize::from(product & bit != 0);
            let place = to[side].free_place(product, places[side]);
            if is_plain {
                place.store(entry.object.address());
            } else {
                self.write(to[side].object, place, entry.object.address());
            }
            moved += 1;
            moved_to_second += side as u64;
        }
        let moved = [moved - moved_to_second, moved_to_second];
        (0..2).for_each(|side| to[side].used().store(to[side].used().read() + moved[side]));
        let dead = old.used().read() - moved[0] - moved[1];
        if keeps_counts {
            release_dead_alone(old, dead);
        }
        if dead == 0 {
            return;
        }
        map.slot(USED).store(map.slot(USED).read() - dead);
        self.note_dead_entry(map, -(dead as i64));
    }

    /// An entry is about to be written to a place that is free, or that of a dead one, which is returned.
    #[inline(always)]
    pub(in crate::services::weak_map) fn note_entry_in_bucket(
        &mut self,
        map: ObjectRef,
        (bucket, place): (Bucket, u64),
    ) -> Option<ObjectRef> {
        note_change(map);
        let dead = bucket.entry(place);
        if dead.is_some() {
            self.note_dead_entry(map, -1);
        } else {
            bucket.used().store(bucket.used().read() + 1);
            map.slot(USED).store(map.slot(USED).read() + 1);
        }
        dead.map(|entry| entry.object)
    }
}

/// The live entries of a bucket have gone with their counts: its death releases the dead ones alone.
fn release_dead_alone(old: Bucket, dead: u64) {
    if dead == 0 {
        // It has no elements any more: its death looks at none.
        return old.object.slot(0).store(0);
    }
    for at in 0..old.places() {
        if old.entry(at).is_some_and(|entry| !entry.is_dead()) {
            old.place(at).store(0);
        }
    }
}

/// The buckets that replace others.
struct Change {
    from: [Option<u64>; 2],
    to: [u64; 2],
    /// How many there are then.
    buckets: u64,
}

/// The change to make.
fn change(map: ObjectRef, need: Need) -> Change {
    let Some(table) = Table::of(map) else { return Change { from: [None; 2], to: [0, 0], buckets: 1 } };
    let buckets = table.buckets();
    match need {
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
    }
}

/// An entry has another place, or buckets have changed.
#[inline(always)]
fn note_change(map: ObjectRef) {
    map.slot(FIRST).store(0);
    map.slot(CHANGES).store(map.slot(CHANGES).read() + 1);
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
