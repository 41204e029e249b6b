//! Where the entries of a weak map stand: linear hashing (Litwin 1980), so that no insertion goes through all of them. `[BOUND]`
//!
//! ```text
//!   map ──► directory ──► segment ──► bucket ──► entry     a bucket is open-addressed, and at most thirteen sixteenths full
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
//! Segment *k* has 2ᵏ buckets, from number 2ᵏ − 1 on. So no word of a segment is ever copied: a map that doubles takes one
//! segment more. The directory has a word for each segment, and is copied when it doubles: 13 words for a million entries.
//!
//! How buckets are split, merged and made anew: `growth`.

mod growth;

use super::{Entry, WeakMode};
use crate::object::{ObjectRef, Slot};
use std::num::NonZeroU64;

/// In a map: its directory.
pub(super) const DIRECTORY: u64 = 0;
/// Places of all buckets that are in use, by dead entries, too.
pub(super) const USED: u64 = 24;
/// How many buckets there are.
pub(super) const BUCKETS: u64 = 32;
/// Changes of its places so far.
pub(super) const CHANGES: u64 = 48;
/// The bits of a hash that tell one of its buckets from another: ones.
pub(super) const BUCKET_MASK: u64 = 56;
/// In a bucket: how many of its places are in use.
const USED_OF_BUCKET: u64 = 8;

const SMALLEST_BUCKET: u64 = 8;

/// The bucket and the place in it for a key.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
const BUCKET_BITS_AT: u32 = 24;
const PLACE_BITS_AT: u32 = 32;

/// The product that has the places of a key, in the directory and in a bucket.
#[inline(always)]
fn product_of(key: u64) -> u64 {
    (key >> 3).wrapping_mul(MULTIPLIER)
}

/// The bits that tell one of so many buckets from another.
#[inline(always)]
fn mask_of(buckets: u64) -> u64 {
    (2 << (63 - (buckets | 1).leading_zeros())) - 1
}

/// The bucket of a key among `buckets`, of which there is one at least.
#[inline(always)]
fn bucket_of(key: u64, buckets: u64) -> u64 {
    bucket_among(product_of(key), buckets, mask_of(buckets))
}

#[inline(always)]
fn bucket_among(product: u64, buckets: u64, mask: u64) -> u64 {
    match product >> BUCKET_BITS_AT & mask {
        number if number < buckets => number,
        number => number & mask >> 1,
    }
}

/// The bucket that the last of `buckets` came from.
fn origin_of_last(buckets: u64) -> u64 {
    let last = buckets - 1;
    last - (1 << last.ilog2())
}

/// The bit of a product that tells the keys of the last of `buckets` from those of the one that it came from.
fn bit_of_last(buckets: u64) -> u64 {
    1 << BUCKET_BITS_AT << (buckets - 1).ilog2()
}

/// The segment of a bucket, and its place there.
#[inline(always)]
fn segment_of(bucket: u64) -> (u64, u64) {
    let number = bucket + 1;
    // SAFETY: no bucket has the number `u64::MAX`.
    let segment = u64::from(unsafe { NonZeroU64::new_unchecked(number) }.ilog2());
    (segment, number ^ 1 << segment)
}

/// How many buckets a segment has: one more than there are before it.
fn buckets_in(segment: u64) -> u64 {
    1 << segment
}

/// Places of a bucket with so many entries, and room for as many more.
fn places_for(entries: u64) -> u64 {
    ((entries + 1) * 5 / 2).max(SMALLEST_BUCKET)
}

/// Where among so many places the search for a product begins: fewer than 2³².
#[inline(always)]
fn home(product: u64, places: u64) -> u64 {
    ((product >> PLACE_BITS_AT) * places) >> 32
}

/// The place behind one.
#[inline(always)]
fn next_place(at: u64, places: u64) -> u64 {
    if at + 1 == places { 0 } else { at + 1 }
}

/// A bucket: the number of its places, how many are in use, the places.
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    pub(super) object: ObjectRef,
    pub(super) mode: WeakMode,
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

    #[inline(always)]
    pub(super) fn entry(self, at: u64) -> Option<Entry> {
        Some(Entry { object: object_in(self.place(at))?, mode: self.mode })
    }

    fn live(self) -> impl Iterator<Item = Entry> {
        (0..self.places()).filter_map(move |at| self.entry(at)).filter(|entry| !entry.is_dead())
    }

    /// Whether there is a place for one more.
    pub(super) fn has_room(self) -> bool {
        (self.used().read() + 1) * 16 <= self.places() * 13
    }

    /// The entry of `key` and its place, or the place where it belongs: one of a dead entry, or a free one.
    #[inline(always)]
    fn find(self, key: u64, product: u64) -> Result<(Entry, u64), u64> {
        let places = self.places();
        let mut at = home(product, places);
        let mut free = None;
        loop {
            match self.entry(at) {
                None => return Err(free.unwrap_or(at)),
                Some(entry) if entry.is_dead() => free = free.or(Some(at)),
                Some(entry) if entry.key().read() == key => return Ok((entry, at)),
                Some(_) => {}
            }
            at = next_place(at, places);
        }
    }

    /// Where the entry of a key that the bucket does not have may stand, if no entry of it has died.
    #[inline(always)]
    fn free_place(self, product: u64, places: u64) -> Slot {
        let mut at = home(product, places);
        while self.place(at).read() != 0 {
            at = next_place(at, places);
        }
        self.place(at)
    }

    /// The value of `key`; 0 for none.
    #[inline(always)]
    fn value_of(self, key: u64) -> u64 {
        let places = self.places();
        let mut at = home(product_of(key), places);
        while let Some(entry) = self.entry(at) {
            // One that is dead has lost its key, or its value.
            if entry.key().read() == key && entry.value().read() != 0 {
                return entry.value().read();
            }
            at = next_place(at, places);
        }
        0
    }
}

/// The directory of a map that has one.
#[derive(Clone, Copy)]
pub(super) struct Table {
    map: ObjectRef,
    directory: ObjectRef,
    pub(super) mode: WeakMode,
}

impl Table {
    #[inline(always)]
    pub(super) fn of(map: ObjectRef) -> Option<Table> {
        let directory = directory_of(map)?;
        (map.slot(BUCKETS).read() != 0).then(|| Table { map, directory, mode: WeakMode::of_map(map) })
    }

    pub(super) fn buckets(self) -> u64 {
        self.map.slot(BUCKETS).read()
    }

    #[inline(always)]
    pub(super) fn bucket(self, number: u64) -> Bucket {
        let (segment, place) = segment_of(number);
        let segment = object_at(self.directory, segment).expect("the directory names the segments of all buckets");
        let object = object_at(segment, place).expect("a segment names its buckets");
        Bucket { object, mode: self.mode }
    }

    /// Bucket and place of the entry of `key`, if it has one.
    pub(super) fn find(self, key: u64) -> Option<(u64, u64)> {
        let number = bucket_of(key, self.buckets());
        let (_, at) = self.bucket(number).find(key, product_of(key)).ok()?;
        Some((number, at))
    }

    #[inline(always)]
    fn bucket_of(self, key: u64) -> Bucket {
        self.bucket(bucket_of(key, self.buckets()))
    }

    /// Where the entry of `key` stands, or belongs.
    #[inline(always)]
    pub(super) fn place_of(self, key: u64) -> Place {
        Place::in_bucket(self.bucket_of(key), key, product_of(key))
    }
}

/// Where the entry of a key stands in a map, or belongs.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) bucket: Bucket,
    /// The entry of the key, or the place of a dead one or a free one.
    pub(super) found: Result<Entry, u64>,
}

impl Place {
    #[inline(always)]
    fn in_bucket(bucket: Bucket, key: u64, product: u64) -> Place {
        Place { bucket, found: bucket.find(key, product).map(|(entry, _)| entry) }
    }

    /// The place of a key in a map of that mode.
    ///
    /// # Safety
    /// The map has a bucket. `[HEADER]`
    #[inline(always)]
    pub(super) unsafe fn of(map: ObjectRef, mode: WeakMode, key: u64) -> Place {
        let product = product_of(key);
        // SAFETY: by the caller's promise.
        Place::in_bucket(unsafe { bucket_in(map, mode, product) }, key, product)
    }

    #[inline(always)]
    pub(super) fn entry(self) -> Option<Entry> {
        self.found.ok()
    }
}

/// The bucket of a product in a map of that mode. What a look-up costs is what this costs, so it takes for granted what the map has from
/// the first bucket on.
///
/// # Safety
/// The map has a bucket. `[HEADER]`
#[inline(always)]
unsafe fn bucket_in(map: ObjectRef, mode: WeakMode, product: u64) -> Bucket {
    let number = bucket_among(product, map.slot(BUCKETS).read(), map.slot(BUCKET_MASK).read());
    let (segment, place) = segment_of(number);
    // SAFETY: [HEADER] plain references: the directory has a segment for each bucket, and the segment has the bucket.
    let at = |object: ObjectRef, offset| unsafe { ObjectRef::from_address(object.slot(offset).read()) };
    let object = at(at(at(map, DIRECTORY), 8 + segment * 8), 8 + place * 8);
    Bucket { object, mode }
}

/// The value of a key in a map with weak keys; 0 for none, also of no key: a dead entry has no value.
///
/// # Safety
/// The map has a bucket. `[HEADER]`
#[inline(always)]
pub(super) unsafe fn value_of_weak_key(map: ObjectRef, key: u64) -> u64 {
    // SAFETY: [HEADER] by the caller's promise.
    unsafe { bucket_in(map, WeakMode::Keys, product_of(key)) }.value_of(key)
}

/// The word that a map with weak values, or with both weak, has for a key; 0 for none, also of no key.
///
/// # Safety
/// The map has a bucket, and such a mode. `[HEADER]`
#[inline(always)]
pub(super) unsafe fn weak_value_of(map: ObjectRef, key: u64) -> u64 {
    // SAFETY: [HEADER] by the caller's promise; the entries of both modes have their words in one order.
    unsafe { bucket_in(map, WeakMode::Values, product_of(key)) }.value_of(key)
}

/// The object that a plain reference of a map, a directory, a segment or a bucket refers to.
#[inline(always)]
fn object_in(slot: Slot) -> Option<ObjectRef> {
    match slot.read() {
        0 => None,
        // SAFETY: [HEADER] a plain reference that is not null.
        word => Some(unsafe { ObjectRef::from_address(word) }),
    }
}

#[inline(always)]
fn directory_of(map: ObjectRef) -> Option<ObjectRef> {
    object_in(map.slot(DIRECTORY))
}

/// Returns the entry at a place of a directory or of a segment.
#[inline(always)]
fn object_at(directory: ObjectRef, place: u64) -> Option<ObjectRef> {
    object_in(place_of(directory, place))
}

fn place_of(directory: ObjectRef, place: u64) -> Slot {
    directory.slot(8 + place * 8)
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
            next = if place + 1 == buckets_in(segment) { (segment + 1, 0) } else { (segment, place + 1) };
        }
    }

    #[test]
    fn only_the_bucket_whose_turn_it_is_gives_keys_to_the_new_one() {
        let keys = || (1..4000_u64).map(|number| number * 24 + ((number % 7) << 33));
        for buckets in 1..200 {
            let origin = origin_of_last(buckets + 1);
            for key in keys() {
                let (before, after) = (bucket_of(key, buckets), bucket_of(key, buckets + 1));
                let has_bit = product_of(key) & bit_of_last(buckets + 1) != 0;
                assert!(before != origin || has_bit == (after == buckets), "{buckets}");
                assert!(before < buckets && (after == before || before == origin && after == buckets), "{buckets}");
            }
        }
        let in_last = keys().filter(|&key| bucket_of(key, 200) == 199).count();
        assert!((5..60).contains(&in_last), "{in_last} of 4000 in one of 200");
    }
}
