//! Weak sets: tables of objects by a hash, which do not keep them alive. Interned strings are the use: a text that is asked
//! for again is the object that is there, as long as something else holds that.
//!
//! ```text
//!   set ──► table    a power of two of words, open addressing: 0 free, or 24 bits of the hash and 40 of the object's place
//! ```
//!
//! A member costs its word in the table and the record that any target of a weak slot has: the record says which set it is
//! in, so an object is in one weak set at a time. There is no link for it: where the word stands is found by the hash, which
//! the object itself has, at an offset that the set was told. When the reclaim of a member begins its word goes, before
//! any finalizer runs. `[WEAK]` A set that dies lets its members go in slices. `[BOUND]` Growth is one step, as in other
//! hash tables.
//!
//! A member whose hash has been changed is looked for in the whole table when it dies: no word outlives its object.

use crate::heap::{Heap, HeapEntry};
use crate::object::{ObjectRef, Slot};
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;
use crate::services::special::{LastTable, SET_MAX, SLOT_UNITS, address_of, place_of};
use std::ops::RangeInclusive;

/// In a set: its table.
const TABLE: u64 = 0;
/// Its number among the heap's sets.
const NUMBER: u64 = 8;
/// Where members have their hash.
const HASH_OFFSET: u64 = 16;
/// How many members there are.
const LIVE: u64 = 24;
/// Words of the table that are not free: those of members, and of members that have gone.
const USED: u64 = 32;
/// Of a dying set: so many words of the table are done with.
const DONE: u64 = 40;
/// In no word of the table before that one is a member; one that is added makes it 0.
const FIRST: u64 = 48;

/// The word of a member that has gone: no object's, and of no hash.
const GONE: u64 = 1 << 39;
const PLACE_BITS: u32 = 40;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
/// Words whose members are fetched together when a set dies.
const MEMBERS_AT_ONCE: u64 = 64;
/// Words of the smallest table.
const SMALLEST: u64 = 8;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where the search for a hash begins, in a table of any size, and what the upper bits of its members' words are: not 0.
#[inline(always)]
fn spread(hash: u32) -> (u64, u64) {
    let product = u64::from(hash).wrapping_mul(MULTIPLIER);
    (product >> 32, (product >> 8) & 0xff_ffff | 1)
}

#[inline(always)]
fn table_of(set: ObjectRef) -> Option<ObjectRef> {
    match set.slot(TABLE).read() {
        0 => None,
        // SAFETY: [HEADER] a plain reference of a set, which is not null.
        word => Some(unsafe { ObjectRef::from_address(word) }),
    }
}

/// The word at a place of a table, whose size is a power of two.
#[inline(always)]
fn word_at(table: ObjectRef, mask: u64, at: u64) -> Slot {
    table.slot(8 + (at & mask) * 8)
}

#[inline(always)]
fn mask_of(table: ObjectRef) -> u64 {
    table.slot(0).read() - 1
}

/// The member that a word names.
///
/// # Safety
/// The word is neither free nor of a member that has gone. `[WEAK]`
#[inline(always)]
unsafe fn member_of(word: u64) -> ObjectRef {
    // SAFETY: [WEAK] by the caller's promise: a member has its memory while its word stands.
    unsafe { ObjectRef::from_address(address_of(word & PLACE_MASK)) }
}

fn hash_of(set: ObjectRef, member: ObjectRef) -> u32 {
    let offset = set.slot(HASH_OFFSET).read();
    // SAFETY: [HEADER] the word lies in the member: that was checked when it was added.
    unsafe { *((member.address() + offset) as *const u32) }
}

/// The next word of a hash, from the `at`-th place of its search on, and the place behind it. A free word ends the search; there
/// is always one.
#[inline(always)]
fn next_of_hash(set: ObjectRef, (home, tag): (u64, u64), at: u64) -> Option<(ObjectRef, u64)> {
    let table = table_of(set)?;
    let mask = mask_of(table);
    let mut step = at;
    loop {
        let word = word_at(table, mask, home.wrapping_add(step)).read();
        step = step.wrapping_add(1);
        if word >> PLACE_BITS == tag {
            // SAFETY: [WEAK] a member's word.
            return Some((unsafe { member_of(word) }, step));
        }
        if word == 0 {
            return None;
        }
    }
}

/// Puts a member that the table does not have into it. Returns whether the word was free.
fn enter(table: ObjectRef, hash: u32, member: ObjectRef) -> bool {
    let (mask, (mut at, tag)) = (mask_of(table), spread(hash));
    loop {
        let slot = word_at(table, mask, at);
        let word = slot.read();
        if word == 0 || word == GONE {
            slot.store(tag << PLACE_BITS | place_of(member.address()));
            return word == 0;
        }
        at += 1;
    }
}

/// Where a member's word stands.
fn find(set: ObjectRef, table: ObjectRef, member: ObjectRef) -> Option<u64> {
    let (mask, (home, tag)) = (mask_of(table), spread(hash_of(set, member)));
    let wanted = tag << PLACE_BITS | place_of(member.address());
    for at in home..=home + mask {
        match word_at(table, mask, at).read() {
            word if word == wanted => return Some(at & mask),
            0 => break,
            _ => {}
        }
    }
    // Its hash was changed.
    (0..=mask).find(|&at| word_at(table, mask, at).read() & PLACE_MASK == wanted & PLACE_MASK)
}

impl Heap {
    /// Whether another weak set can be made; collects where dead ones have taken all numbers.
    pub fn makes_room_for_weak_set(heap: HeapEntry) -> bool {
        heap.has_room_for_weak_set() || {
            Heap::collect(heap);
            heap.has_room_for_weak_set()
        }
    }

    /// Whether another weak set can be made as it is.
    pub fn has_room_for_weak_set(&self) -> bool {
        let sets = &self.services.specials.sets;
        sets.len() < SET_MAX as usize || sets.iter().any(|set| set.is_none())
    }

    /// A new, empty weak set, whose members have their hash in the 32 bits at `hash_offset`. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// # Panics
    /// When there are 4,095 sets, which [`makes_room_for_weak_set`](Self::makes_room_for_weak_set) tells.
    pub fn new_weak_set(&mut self, hash_offset: u32) -> Result<ObjectRef, OutOfMemory> {
        let set = self.allocate_cell(builtin::weak_set(), 0)?;
        (8..builtin::WEAK_SET_BYTES).step_by(8).for_each(|word| set.slot(word).store(0));
        let sets = &mut self.services.specials.sets;
        let place = sets.iter().position(|set| set.is_none()).unwrap_or(sets.len());
        assert!(place < SET_MAX as usize, "a heap has at most {SET_MAX} weak sets");
        if place == sets.len() {
            sets.push(None);
        }
        sets[place] = Some(set);
        set.slot(NUMBER).store(place as u64 + 1);
        set.slot(HASH_OFFSET).store(hash_offset.into());
        self.rest(set).set = place as u32 + 1;
        Ok(set)
    }

    /// Why the object cannot be added to the set, if it cannot.
    pub fn weak_set_refuses(&mut self, set: ObjectRef, member: ObjectRef) -> Option<&'static str> {
        let payload = member.type_info().cell_bytes_of(member) - crate::object::HEADER_BYTES;
        let offset = set.slot(HASH_OFFSET).read();
        let of = self.number_of_living_set(member);
        if offset + 4 > payload || !offset.is_multiple_of(4) {
            Some("the object has no hash at the offset that the weak set was told")
        } else if of != 0 && u64::from(of) != set.slot(NUMBER).read() {
            Some("the object is in another weak set")
        } else {
            None
        }
    }

    /// The number of the set that the object is in; 0: none. One that dies loses it now, and not in its turn.
    fn number_of_living_set(&mut self, member: ObjectRef) -> u32 {
        let number = self.set_number_of(member);
        let set = if number == 0 { None } else { self.services.specials.sets[number as usize - 1] };
        match set {
            Some(set) if self.upgrade(set).is_none() => {
                self.leave_set(member);
                0
            }
            _ => number,
        }
    }

    /// Adds an object that [`weak_set_refuses`](Self::weak_set_refuses) nothing of; one that is in the set stays there. A
    /// safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the set is as before then.
    pub fn weak_set_add(&mut self, set: ObjectRef, member: ObjectRef) -> Result<(), OutOfMemory> {
        if self.set_number_of(member) != 0 {
            return Ok(());
        }
        if !has_room(set) {
            self.make_room_in_set(set, member)?;
            // A callback at that safepoint may have added it.
            if self.set_number_of(member) != 0 {
                return Ok(());
            }
        }
        let table = table_of(set).expect("it has room");
        let was_free = enter(table, hash_of(set, member), member);
        set.slot(USED).store(set.slot(USED).read() + u64::from(was_free));
        set.slot(LIVE).store(set.slot(LIVE).read() + 1);
        set.slot(FIRST).store(0);
        let number = self.make_number(member);
        self.services.specials.records[number].set_set(set.slot(NUMBER).read() as u32);
        Ok(())
    }

    /// Gives the set a table with room for one more. Callbacks that run meanwhile may add some.
    #[cold]
    #[inline(never)]
    fn make_room_in_set(&mut self, set: ObjectRef, member: ObjectRef) -> Result<(), OutOfMemory> {
        while !has_room(set) {
            let places = ((set.slot(LIVE).read() + 1) * 7 / 4).next_power_of_two().max(SMALLEST);
            let new =
                self.holding(&[Some(set), Some(member)], |heap| heap.allocate_cell(builtin::weak_set_table(), places))?;
            if (set.slot(LIVE).read() + 1) * 4 > places * 3 {
                continue;
            }
            if let Some(old) = table_of(set) {
                let mask = mask_of(old);
                for word in (0..=mask).map(|at| word_at(old, mask, at).read()).filter(|&word| word != 0 && word != GONE)
                {
                    // SAFETY: [WEAK] a member's word.
                    let member = unsafe { member_of(word) };
                    enter(new, hash_of(set, member), member);
                }
            }
            set.slot(USED).store(set.slot(LIVE).read());
            self.write(set, set.slot(TABLE), new.address());
        }
        Ok(())
    }

    /// The next member that may have this hash, until the next safepoint; `at` is 0 before the first, and the way to
    /// the next afterwards. `None`: there are no more.
    ///
    /// Nothing is called but what does the rest, at the end: so no register is saved where this is a function of its own.
    #[inline(always)]
    pub fn weak_set_probe(&mut self, set: ObjectRef, hash: u32, at: &mut u64) -> Option<ObjectRef> {
        let spread = spread(hash);
        let (member, behind) = next_of_hash(set, spread, *at)?;
        if !self.may_be_had(member) {
            return self.probe_slowly(set, at, spread.0, spread.1);
        }
        *at = behind;
        Some(member)
    }

    /// The same of the [last weak set](Self::is_last_weak_set).
    #[inline(always)]
    pub fn last_weak_set_probe(&mut self, hash: u32, at: &mut u64) -> Option<ObjectRef> {
        let (spread, set) = (spread(hash), self.last_weak_set());
        let (member, behind) = next_of_hash(set, spread, *at)?;
        if !self.may_be_had(member) {
            return self.last_probe_slowly(at, spread.0, spread.1);
        }
        *at = behind;
        Some(member)
    }

    /// Takes no set: with that there would be a register too few.
    #[cold]
    #[inline(never)]
    fn last_probe_slowly(&mut self, at: &mut u64, home: u64, tag: u64) -> Option<ObjectRef> {
        self.probe_slowly(self.last_weak_set(), at, home, tag)
    }

    #[inline(always)]
    fn last_weak_set(&self) -> ObjectRef {
        // SAFETY: [HEADER] the callers know that there is one: it is a weak set until it dies.
        unsafe { ObjectRef::from_address(self.services.specials.last_set.0) }
    }

    /// The same for any member.
    #[cold]
    #[inline(never)]
    fn probe_slowly(&mut self, set: ObjectRef, at: &mut u64, home: u64, tag: u64) -> Option<ObjectRef> {
        while let Some((member, behind)) = next_of_hash(set, (home, tag), *at) {
            *at = behind;
            if let Some(member) = self.upgrade(member) {
                return Some(member);
            }
        }
        None
    }

    /// Whether the word is the weak set that was asked for last, of this heap: one comparison.
    #[inline(always)]
    pub fn is_last_weak_set(&self, word: u64) -> bool {
        self.services.specials.last_set == LastTable(word)
    }

    /// Whether the word is a weak set of this heap, which is the last one then.
    pub fn is_own_weak_set(&mut self, word: u64) -> bool {
        // SAFETY: [HEADER] by the callers' promise a word in the heap range is a reference.
        let Some(set) = (unsafe { ObjectRef::of_word(word) }) else { return false };
        let number = set.slot(NUMBER).read().wrapping_sub(1) as usize;
        let is_own = self.services.specials.sets.get(number) == Some(&Some(set));
        if is_own {
            self.services.specials.last_set = LastTable(word);
        }
        is_own
    }

    /// Removes an object; whether it was a member.
    pub fn weak_set_remove(&mut self, set: ObjectRef, member: ObjectRef) -> bool {
        let is_member = u64::from(self.set_number_of(member)) == set.slot(NUMBER).read();
        if is_member {
            self.leave_set(member);
            self.tidy_special(member);
        }
        is_member
    }

    /// Number of members.
    pub fn weak_set_count(&self, set: ObjectRef) -> u64 {
        set.slot(LIVE).read()
    }

    /// The first member behind a position, until the next safepoint, and its own position; positions begin behind 0. An
    /// addition may change them all.
    pub fn weak_set_next(&mut self, set: ObjectRef, position: u64) -> Option<(u64, ObjectRef)> {
        let table = table_of(set)?;
        let mask = mask_of(table);
        let first = set.slot(FIRST).read();
        let mut is_first = position <= first;
        for at in position.max(first)..=mask {
            let word = word_at(table, mask, at).read();
            if word >> PLACE_BITS != 0 {
                if std::mem::take(&mut is_first) {
                    set.slot(FIRST).store(at);
                }
                // SAFETY: [WEAK] a member's word.
                let member = unsafe { member_of(word) };
                if let Some(member) = self.upgrade(member) {
                    return Some((at + 1, member));
                }
            }
        }
        if is_first {
            set.slot(FIRST).store(mask + 1);
        }
        None
    }

    /// Whether the object is a weak set.
    #[inline]
    pub(crate) fn is_weak_set(&self, object: ObjectRef) -> bool {
        !self.services.specials.sets.is_empty() && builtin::is_weak_set(object)
    }

    /// Whether the object is in a weak set.
    #[inline]
    pub(crate) fn is_in_weak_set(&self, object: ObjectRef) -> bool {
        !self.services.specials.sets.is_empty() && self.set_number_of(object) != 0
    }

    /// The number of the weak set that the object is in; 0: none.
    fn set_number_of(&self, object: ObjectRef) -> u32 {
        self.services.specials.record(self.number_of(object)).map_or(0, |record| record.set_number())
    }

    /// The object is in no weak set any more. Its record stays.
    pub(crate) fn leave_set(&mut self, member: ObjectRef) {
        let number = self.number_of(member);
        let record = &mut self.services.specials.records[number];
        let of = record.set_number();
        record.set_set(0);
        let set = self.services.specials.sets[of as usize - 1].expect("members of a set that has gone were let go");
        let table = table_of(set).expect("it has a member");
        let mask = mask_of(table);
        let at = find(set, table, member).expect("a member's word stands in the table");
        set.slot(LIVE).store(set.slot(LIVE).read() - 1);
        if word_at(table, mask, at + 1).read() != 0 {
            return word_at(table, mask, at).store(GONE);
        }
        // No search passes the free word behind it: it is free, and those of members before it that have gone.
        let mut at = at;
        word_at(table, mask, at).store(GONE);
        while word_at(table, mask, at).read() == GONE {
            word_at(table, mask, at).store(0);
            set.slot(USED).store(set.slot(USED).read() - 1);
            at = at.wrapping_sub(1);
        }
    }

    /// Fetches the headers and records of the members at some places. They are all over the heap: fetched one by one they took most of the
    /// time in which a set of a million ended.
    fn prefetch_members(&self, table: ObjectRef, mask: u64, places: RangeInclusive<u64>) {
        let words = || places.clone().map(|at| word_at(table, mask, at).read()).filter(|word| word >> PLACE_BITS != 0);
        // SAFETY: [WEAK] a member's word.
        let members = || words().map(|word| unsafe { member_of(word) });
        members().for_each(|member| self.prefetch_number(member));
        members().for_each(|member| self.prefetch_first_slot(member));
    }

    /// The weak set dies: its members are in no set any more, as far as `units` go. Whether that was all.
    pub(crate) fn end_weak_set(&mut self, set: ObjectRef, units: &mut i64) -> bool {
        let number = set.slot(NUMBER).read() as usize;
        if self.services.specials.sets.get(number - 1) != Some(&Some(set)) {
            return true;
        }
        if let Some(table) = table_of(set) {
            let mask = mask_of(table);
            let from = set.slot(DONE).read();
            for at in from..=mask {
                if *units <= 0 {
                    return false;
                }
                if (at - from).is_multiple_of(MEMBERS_AT_ONCE) {
                    self.prefetch_members(table, mask, at..=mask.min(at + MEMBERS_AT_ONCE - 1));
                }
                *units -= 1;
                set.slot(DONE).store(at + 1);
                let word = word_at(table, mask, at).read();
                if word >> PLACE_BITS != 0 {
                    *units -= SLOT_UNITS;
                    // SAFETY: [WEAK] a member's word.
                    let member = unsafe { member_of(word) };
                    let number = self.number_of(member);
                    self.services.specials.records[number].set_set(0);
                    word_at(table, mask, at).store(GONE);
                    self.tidy_special(member);
                }
            }
        }
        self.services.specials.sets[number - 1] = None;
        self.services.specials.last_set = LastTable::NONE;
        true
    }
}

/// Whether one more member leaves a quarter of the words free.
#[inline(always)]
fn has_room(set: ObjectRef) -> bool {
    table_of(set).is_some_and(|table| (set.slot(USED).read() + 1) * 4 <= (mask_of(table) + 1) * 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_hash_are_spread_and_no_tag_is_nothing() {
        let homes: std::collections::HashSet<u64> = (0..4096).map(|hash| spread(hash).0 & 8191).collect();
        assert!(homes.len() > 2500, "{}", homes.len());
        assert!((0..100_000).all(|hash| spread(hash * 40_009).1 & 1 == 1));
        let bytes = address_of(place_of(0x2000_0000_0018));
        assert_eq!(bytes, 0x2000_0000_0018);
    }
}
