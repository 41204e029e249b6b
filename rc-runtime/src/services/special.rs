//! Special objects: the records of the few objects that need more than a header.
//!
//! An object with the flag `SPECIAL` may have a record; all others cost nothing, neither memory nor an instruction: where a pass
//! looks at `LARGE` or at an object's shape anyway, it looks at this flag by the same test. The record is made on first use, and
//! goes when nothing needs it any more or with the object's memory. A table beside the heap has its number
//! (`record_cell`), so that it is found by a load, and nothing is ever hashed or moved. Four kinds of objects are special
//! without a record: a weak reference of the built-in type, whose links are in its payload ([`crate::services::weak`]); an object that
//! has one weak slot and nothing else: the table has the number of that slot's link; a key of one weak map: the table has the
//! number of the map (`special/member.rs`); and a value of one entry of a weak map: the table has the number of a bond
//! (`special/bond.rs`).
//!
//! The end of a special object, under both plans:
//!
//! | step | called by | does |
//! |---|---|---|
//! | [`Heap::begin_reclaim`](crate::Heap::begin_reclaim) | the pass that found it dead, before its finalizer; again if it is still dead after that | weak references to it are cleared |
//! | [`Heap::dismantle`](crate::Heap::dismantle) | the pass that releases its references, after its finalizer | its own weak slots are forgotten |
//! | `Heap::end_special` | `free`, with its memory | ephemerons lose it as their key |
//!
//! Each step costs a few units of work for each slot. Deaths in slices take [`Heap::begin_reclaim_some`](crate::Heap::begin_reclaim_some) and
//! [`Heap::let_go_weakly`](crate::Heap::let_go_weakly) instead, which stop when the units are used up and go on at the next call; the object keeps its
//! memory until then, and no upgrade yields it. `[BOUND]` `[WEAK]` A verdict on many objects takes the first step for all of
//! them before any finalizer runs: [`Heap::begin_reclaim_all`](crate::Heap::begin_reclaim_all).

mod bond;
mod end;
mod member;
mod record;

use crate::memory::list::List;
use crate::memory::range::{HEAP_BASE, HEAP_SPAN, record_cell};
use crate::memory::record_slab::{LAST_NUMBER, Record, Slab};
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::plan::deferred::young_special::Judgement;
use crate::services::post_clear_queue::PostClearQueue;
use crate::services::weak::links::{Link, Node};
use bond::{Bond, MAP_MAX};
use rustc_hash::FxHashMap;

/// Units of a weak slot: its record, its neighbours' and those of target and holder may all be in memory that is not in the cache,
/// where a plain reference is next to others: two microseconds. A slice looks at the clock after a number of units; with one unit
/// for a slot it did so after several milliseconds.
pub const SLOT_UNITS: i64 = 24;

/// The record of one special object.
///
/// ```text
/// object_and_node   bits 0 to 39: the object's place; 40 to 63: the lower bits of `referrers`
/// node_and_flags    bits 0 to 15: its upper bits; 16 to 19: flags; 20 to 31: the number of the weak set that it is in
/// ```
#[derive(Debug, Default)]
pub struct Special {
    object_and_node: u64,
    node_and_flags: u32,
    /// The first key slot that refers to it: the link's number. Of an entry of a weak map, which is no key: the number of its map.
    keys_or_map: u32,
    /// The first weak slot or key in it: the link's number.
    pub(crate) slots: u32,
    /// The number of what few of the records hold.
    rest: u32,
}

const _: () = assert!(std::mem::size_of::<Special>() == 24);

/// Bits of an object's place in the heap range, in words, and of a node.
const PLACE_BITS: u32 = 40;
const _: () = assert!(HEAP_SPAN >> 3 < 1 << (PLACE_BITS - 1));

/// In a record: its reclaim begins together with that of others.
pub(crate) const CONDEMNED: u32 = 1 << 16;
/// Its reclaim has begun: it was found dead, and its finalizer is to run.
pub(crate) const AWAITS_FINALIZER: u32 = 1 << 17;
/// Prompt plan: its reclaim has begun, and goes on in the next slice.
pub(crate) const FADES: u32 = 1 << 18;

/// It is an entry of a weak map.
const IS_ENTRY: u32 = 1 << 19;

/// In a record: where the number of a weak set begins, and the highest.
const SET_BITS_AT: u32 = 20;
pub(crate) const SET_MAX: u32 = (1 << (32 - SET_BITS_AT)) - 1;

/// In the table of numbers: which kind of number stands there.
const KIND: u32 = !LAST_NUMBER;
/// Of an object that has no record and is a weak side of one entry of a weak map: what follows is the number of that bond.
const BOND: u32 = 1 << 30;
/// Of an object that has no record and one weak slot: what follows is the number of that link.
const LONE: u32 = 2 << 30;
/// Of an object that has no record and is the key of one entry of a weak map: what follows is the number of the map.
const MEMBER: u32 = 3 << 30;

/// The part of a record that even fewer objects need.
#[derive(Debug, Default)]
pub struct Rest {
    /// Which registration of a finalizer its own is, for types whose finalizers run in reverse order; 0: none.
    pub(crate) registration: u64,
    /// Bytes that it owns outside the heap.
    pub(crate) external: u64,
    /// A value of the host that is dropped with its memory.
    pub(crate) host: Option<crate::services::external::HostValue>,
    /// Its number, of a weak map; 0: it is none.
    pub(crate) map: u64,
    /// Its number, of a weak set; 0: it is none.
    pub(crate) set: u32,
    /// Its place in the post-clear queue.
    pub(crate) post_clear: Option<u64>,
    /// Of a key that the mark with this number visits: the ephemeron that is next.
    pub(crate) next_ephemeron: (u64, Node),
    /// The number of its allocation site; 0: it was not sampled.
    pub(crate) site: u32,
    free: u32,
}

/// The address of a weak set or map; [`NONE`](Self::NONE), which is no address, for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastTable(pub(crate) u64);

impl LastTable {
    pub(crate) const NONE: LastTable = LastTable(u64::MAX);
}

impl Default for LastTable {
    fn default() -> LastTable {
        LastTable::NONE
    }
}

/// What the heap knows of a weak map.
#[derive(Debug)]
pub(crate) struct MapState {
    /// The map, until it is taken apart.
    pub(crate) map: Option<ObjectRef>,
    /// Its entries that have died and still stand in its table.
    pub(crate) dead: u64,
}

impl Record for Special {
    fn link(&mut self) -> &mut u32 {
        &mut self.rest
    }
}

impl Record for Rest {
    fn link(&mut self) -> &mut u32 {
        &mut self.free
    }
}

impl Special {
    fn of(object: ObjectRef) -> Special {
        Special { object_and_node: place_of(object.address()), ..Special::default() }
    }

    /// Whether anything but its slots needs it.
    fn is_needed(&self) -> bool {
        self.has_referrers() || self.keys() != 0 || self.rest != 0 || self.has(FADES)
    }

    /// The object's address; 0: no record.
    fn address(&self) -> u64 {
        address_of(self.object_and_node & ((1 << PLACE_BITS) - 1))
    }

    /// The object that it is about; `None` of a free place.
    pub fn object(&self) -> Option<ObjectRef> {
        // SAFETY: [HEADER] an object's address as long as the record is one, or 0.
        unsafe { ObjectRef::of_word(self.address()) }
    }

    /// Whether weak references to it exist, or it is in a weak set.
    pub fn has_referrers(&self) -> bool {
        self.referrers().is_some() || self.set_number() != 0
    }

    /// The first key slot that refers to it: the link's number; 0: there is none.
    #[inline(always)]
    pub(crate) fn keys(&self) -> u32 {
        if self.has(IS_ENTRY) { 0 } else { self.keys_or_map }
    }

    pub(crate) fn set_keys(&mut self, link: u32) {
        debug_assert!(!self.has(IS_ENTRY));
        self.keys_or_map = link;
    }

    /// The number of the map of an entry that has a link; 0: none.
    fn map_of_entry(&self) -> u32 {
        if self.has(IS_ENTRY) { self.keys_or_map } else { 0 }
    }

    fn set_map_of_entry(&mut self, map: u32) {
        self.set(IS_ENTRY, true);
        self.keys_or_map = map;
    }

    /// The number of the weak set that it is in; 0: none.
    pub(crate) fn set_number(&self) -> u32 {
        self.node_and_flags >> SET_BITS_AT
    }

    /// It is in the weak set with that number, or in none.
    pub(crate) fn set_set(&mut self, number: u32) {
        debug_assert!(number <= SET_MAX);
        self.node_and_flags = self.node_and_flags & ((1 << SET_BITS_AT) - 1) | number << SET_BITS_AT;
    }

    /// Weak references to it.
    pub(crate) fn referrers(&self) -> Node {
        Node::of_bits(self.object_and_node >> PLACE_BITS | (self.node_and_flags as u64 & 0xffff) << (64 - PLACE_BITS))
    }

    pub(crate) fn set_referrers(&mut self, node: Node) {
        let (place, flags) = (self.object_and_node & ((1 << PLACE_BITS) - 1), self.node_and_flags & !0xffff);
        self.object_and_node = place | node.bits() << PLACE_BITS;
        self.node_and_flags = flags | (node.bits() >> (64 - PLACE_BITS)) as u32;
    }

    pub(crate) fn has(&self, flags: u32) -> bool {
        self.node_and_flags & flags != 0
    }

    pub(crate) fn set(&mut self, flag: u32, on: bool) {
        self.node_and_flags = if on { self.node_and_flags | flag } else { self.node_and_flags & !flag };
    }
}

/// Where in the heap range an address is, in words; 0 for none.
pub(crate) fn place_of(address: u64) -> u64 {
    if address == 0 { 0 } else { (address - HEAP_BASE) >> 3 }
}

/// The address of a place.
pub(crate) fn address_of(place: u64) -> u64 {
    if place == 0 { 0 } else { HEAP_BASE + (place << 3) }
}

impl Rest {
    fn is_needed(&self) -> bool {
        self.site != 0 || self.is_needed_beside_its_site()
    }

    fn is_needed_beside_its_site(&self) -> bool {
        let hosts = self.external != 0 || self.host.is_some();
        hosts
            || self.registration != 0
            || self.post_clear.is_some()
            || self.map != 0
            || self.set != 0
            || self.next_ephemeron.1.is_some()
    }
}

/// The records of one heap.
#[derive(Debug, Default)]
pub struct Specials {
    pub(crate) records: Slab<Special>,
    rests: Slab<Rest>,
    /// Weak slots of objects that are not weak references of the built-in types.
    pub(crate) links: Slab<Link>,
    /// Entries of maps with weak values whose sides have no record.
    pub(crate) bonds: Slab<Bond>,
    /// Deferred plan: became special in the running epoch, before they were mature.
    pub(crate) young: List<ObjectRef>,
    /// The same, of the epoch before.
    pub(crate) pending: List<ObjectRef>,
    pub(crate) judgement: Judgement,
    /// The weak maps by number.
    pub(crate) maps: FxHashMap<u64, MapState>,
    /// The sum of those.
    pub(crate) dead_entries_of_all: u64,
    /// The number that a map got last.
    map_number: u64,
    /// The weak sets, by number, from 1 on.
    pub(crate) sets: List<Option<ObjectRef>>,
    /// The weak set, the map with weak keys and the map with weak values that were asked last, until they die: one comparison
    /// says that such a one is of this heap.
    pub(crate) last_set: LastTable,
    pub(crate) last_map: LastTable,
    pub(crate) last_map_of_values: LastTable,
    /// The work to do when the collector has returned.
    pub(crate) post_clear: PostClearQueue,
    /// There was a weak reference whose holder is told that it was cleared. Until then it is not asked which objects are found dead
    /// together.
    pub(crate) any_told_when_cleared: bool,
    /// There was a key of an ephemeron. Until then a mark does not ask which ephemerons an object is the key of: the answer lies in
    /// memory that is not in the cache.
    pub(crate) any_keys: bool,
    /// Deferred plan: objects that weak slots have yielded since the last flip, each with a count, as if they had been
    /// roots of it.
    pub upgraded: List<ObjectRef>,
    /// Finalizers of objects found dead now come before their end, and may bring some of them back.
    pub finalizers_follow: bool,
    /// Deferred plan: ephemerons that the running mark has come to: those that it must not follow yet, and behind them those that
    /// it has not looked at.
    pub held_back: List<ObjectRef>,
    /// So many of those, from the first, it has looked at.
    pub held_back_at: usize,
    /// Bytes of ephemerons that the running mark has followed because it came to their keys later; since finalizers were looked for,
    /// if it has done that: these die with keys that only finalizers need.
    pub late_bytes: u64,
    /// Weak slots, keys and places in weak sets that were cleared so far, because what they referred to was dead.
    pub cleared: u64,
    /// Numbers the marks: where a mark is in the list of a key's ephemerons is nothing to another.
    pub(crate) marks: u64,
    /// Objects that fade.
    pub(crate) fading: u32,
}

impl Specials {
    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of all records, with those of weak slots; without the hosts' memory.
    pub fn bytes(&self) -> u64 {
        self.records.bytes() + self.rests.bytes() + self.links.bytes() + self.bonds.bytes()
    }

    /// The same of those in use, without the free places beside them: for those that ask often.
    pub fn used_bytes(&self) -> u64 {
        u64::from(self.records.len()) * size_of::<Special>() as u64
            + u64::from(self.links.len()) * size_of::<Link>() as u64
            + u64::from(self.bonds.len()) * size_of::<Bond>() as u64
    }

    /// Weak slots and keys in objects that are no built-in weak references, those of a bond as one.
    pub fn slots(&self) -> u32 {
        self.links.len() + self.bonds.len()
    }

    /// Every object that has a record.
    pub fn objects(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        (1..=self.records.last()).filter_map(|number| self.at(number))
    }

    /// The object whose record has that number, if one has.
    pub fn at(&self, number: u32) -> Option<ObjectRef> {
        self.records.get(number).and_then(Special::object)
    }

    /// The record with that number, which may be free.
    pub fn record(&self, number: u32) -> Option<&Special> {
        self.records.get(number)
    }

    /// The number of the allocation site of the object with that record; 0: it was not sampled, or the place is free: there the word is a
    /// link.
    pub(crate) fn site_of(&self, record: &Special) -> u32 {
        if record.rest == 0 || record.object().is_none() { 0 } else { self.rests[record.rest].site }
    }

    /// No record has a higher number.
    pub fn last(&self) -> u32 {
        self.records.last()
    }

    /// A key has lost an ephemeron: a mark that was to visit that next goes on with the one behind it.
    pub(crate) fn pass_over_in_mark(&mut self, key: u32, node: Node, next: Node) {
        let rest = self.records[key].rest;
        if rest != 0 && self.rests[rest].next_ephemeron.1 == node {
            self.rests[rest].next_ephemeron.1 = next;
        }
    }

    /// A mark begins, or begins anew.
    pub fn mark_begins(&mut self) {
        self.marks += 1;
        self.held_back.clear();
        self.held_back_at = 0;
        self.late_bytes = 0;
    }

    /// At a flip: the young become pending.
    pub fn flip(&mut self) {
        debug_assert!(self.pending.is_empty());
        std::mem::swap(&mut self.young, &mut self.pending);
        self.judgement = Judgement::Waits;
    }

    /// A number for a weak map. They are used again, the oldest first: bonds and records have few bits for them. No entry of a map that has
    /// gone is left when as many maps were made since.
    pub(crate) fn next_map_number(&mut self) -> u64 {
        let most = if self.maps.len() as u64 > MAP_MAX / 2 { u32::MAX.into() } else { MAP_MAX };
        loop {
            self.map_number = self.map_number % most + 1;
            if !self.maps.contains_key(&self.map_number) {
                return self.map_number;
            }
        }
    }

    /// Whether the young objects of the last flip are judged: those not mature by now are dead. `[WEAK]`
    #[inline(always)]
    pub(crate) fn young_are_judged(&self) -> bool {
        self.judgement != Judgement::Waits
    }
}

fn number_cell(object: ObjectRef) -> *mut u32 {
    record_cell(object.address() - HEADER_BYTES)
}

/// What stands in the table for a special object: a kind and a number, which may be out of date.
#[inline(always)]
fn word_in_table(object: ObjectRef) -> u32 {
    // SAFETY: [MAPPED] the table is mapped wherever objects lie.
    unsafe { *number_cell(object) }
}

#[inline(always)]
fn set_word_in_table(object: ObjectRef, word: u32) {
    // SAFETY: [MAPPED] the table is mapped wherever objects lie.
    unsafe { *number_cell(object) = word };
}
