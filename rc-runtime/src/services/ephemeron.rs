//! Ephemerons: objects whose references are alive only while their key is (Hayes 1997, "Ephemerons: A New Finalization
//! Mechanism").
//!
//! The key is a weak slot of the kind [`Key`](WeakKind::Key); the references are ordinary fields of a type with the
//! flag `TALLY_EPHEMERON`, counted like any others. When the memory of the key goes, they are released, as if null had
//! been written to them.
//!
//! Counting alone keeps a key alive that its own value leads to. Trials see nothing wrong with that, since the
//! ephemeron is alive; they count it as evidence for a mark. A mark knows better:
//!
//! ```text
//!   visit(E), E has a key:   key marked?  follow E : hold E back
//!   visit(K), K is a key:    for each ephemeron E of K that is marked: follow E
//!   at the end:              each held-back ephemeron whose key is not marked loses key and references
//! ```
//!
//! Each ephemeron is followed at most once for itself and once for each of its keys: the time is linear, however they are nested.
//! Every line goes in slices, a key with a million ephemerons, too; what the program changes meanwhile is shown to the mark
//! where it happens ([`Heap::write_weak`]). `[BOUND]`
//!
//! **A reader of a value has its key.** Under the deferred plan a mark may be about to find that key and value are dead.
//! The program then has no reference to the key, unless it makes one of a weak slot, and that shows the key to the
//! mark. So code that reads a value holds the key, or has read the key's slot first ([`Heap::ephemeron_value`]).

use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range::MARK;
use crate::object::{ObjectRef, flag};
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;
use crate::services::special::SLOT_UNITS;
use crate::services::weak::WeakKind;
use crate::services::weak::links::Node;
use crate::services::weak_map::keys::key_of_entry;
use crate::visit::Part;

/// Where the value of a built-in ephemeron stands.
pub const VALUE: u64 = 0;
/// Where its key stands.
pub const KEY: u64 = 8;
/// Ephemerons of one key that a mark visits in one step, about.
const VALUES_AT_ONCE: i64 = 64;
/// Ephemerons that a mark looks at in one step.
pub const EPHEMERONS_AT_ONCE: usize = 64;

impl Heap {
    /// A new ephemeron of the built-in type. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_ephemeron(&mut self, key: ObjectRef, value: Option<ObjectRef>) -> Result<ObjectRef, OutOfMemory> {
        let info = builtin::ephemeron();
        self.holding(&[Some(key), value], |heap| {
            let ephemeron = heap.allocate_cell(info, 0)?;
            heap.write_weak(ephemeron, ephemeron.slot(KEY), Some(key), WeakKind::Key);
            heap.write(ephemeron, ephemeron.slot(VALUE), value.map_or(0, ObjectRef::address));
            Ok(ephemeron)
        })
    }

    /// The value of a built-in ephemeron, until the next safepoint; `None` when its key is dead.
    pub fn ephemeron_value(&mut self, ephemeron: ObjectRef) -> Option<ObjectRef> {
        self.read_weak(ephemeron.slot(KEY))?;
        // SAFETY: [HEADER] a word of a field of that type.
        unsafe { ephemeron.type_info().decode(ephemeron.slot(VALUE).read()) }
    }

    /// Whether a mark must not follow the object now: it is an ephemeron, and a key of it is not marked.
    pub fn is_held_back(&self, object: ObjectRef) -> bool {
        if !object.type_info().ephemeron {
            return false;
        }
        if builtin::is_weak_key_entry(object) {
            return key_of_entry(object).is_some_and(|key| self.is_unmarked(key));
        }
        self.services.specials.slots_from(self.first_slot(object)).any(|link| self.is_dead_key(link))
    }

    /// Whether the link is a key, and the mark has not come to its target. Young objects of the deferred plan are not its concern.
    fn is_dead_key(&self, link: u32) -> bool {
        let link = &self.services.specials.links[link];
        link.is_key() && self.services.specials.at(link.target).is_some_and(|key| self.is_unmarked(key))
    }

    /// A mark has come to `key`: calls `visit` with what its marked ephemerons refer to, of a few of them if there are many. What
    /// that cost, and whether those were all: if not, the mark is to come to the key again. `[BOUND]`
    pub fn visit_values_of_key(&mut self, key: ObjectRef, mut visit: impl FnMut(&mut Heap, ObjectRef)) -> (i64, bool) {
        if !self.services.specials.any_keys {
            return (0, true);
        }
        let number = self.number_of(key);
        if number == 0 {
            return (self.visit_value_of_member(key, visit), true);
        }
        if self.services.specials.records[number].keys() == 0 {
            return (0, true);
        }
        let mark = self.services.specials.marks;
        let reached = self.rest_of(key).map(|rest| std::mem::take(&mut rest.next_ephemeron));
        let mut node = match reached {
            Some((number, node)) if number == mark && node.is_some() => node,
            _ => Node::of_link(self.services.specials.records[number].keys()),
        };
        let mut spent = 0;
        while node.is_some() && spent < VALUES_AT_ONCE {
            let next = self.services.specials.next_of(node);
            let ephemeron = self.services.specials.holder_of(node);
            spent += 1 + self.visit_values_late(ephemeron, &mut visit);
            node = next;
        }
        if node.is_some() {
            self.rest(key).next_ephemeron = (mark, node);
        } else if reached.is_some() {
            self.tidy_special(key);
        }
        (spent, !node.is_some())
    }

    /// The same of a key without a record, which has one ephemeron at most.
    fn visit_value_of_member(&mut self, key: ObjectRef, mut visit: impl FnMut(&mut Heap, ObjectRef)) -> i64 {
        self.entry_of_member(key).map_or(0, |entry| 1 + self.visit_values_late(entry, &mut visit))
    }

    /// Calls `visit` with what an ephemeron refers to, if the mark has come to it before and came to its last key now. What that cost.
    #[inline(always)]
    fn visit_values_late(&mut self, ephemeron: ObjectRef, visit: &mut impl FnMut(&mut Heap, ObjectRef)) -> i64 {
        let mut spent = 0;
        if MARK.get(ephemeron.granule()) && !self.is_held_back(ephemeron) {
            self.services.specials.late_bytes += self.bytes_of_dead_ephemeron(ephemeron);
            ephemeron.type_info().for_each_reference(ephemeron, Part::Whole, |value| {
                spent += 1;
                visit(self, value);
            });
        }
        spent
    }

    /// The keys of an ephemeron; none of another object.
    pub(crate) fn keys_of(&self, object: ObjectRef) -> impl Iterator<Item = ObjectRef> + '_ {
        let is_entry = builtin::is_weak_key_entry(object);
        let first = if object.type_info().ephemeron && !is_entry { self.first_slot(object) } else { 0 };
        let specials = &self.services.specials;
        let keys = specials.slots_from(first).filter(|&link| specials.links[link].is_key());
        let of_entry = if is_entry { key_of_entry(object) } else { None };
        of_entry.into_iter().chain(keys.filter_map(|link| specials.at(specials.links[link].target)))
    }

    /// The ephemerons whose key the object is.
    pub(crate) fn ephemerons_of(&self, key: ObjectRef) -> impl Iterator<Item = ObjectRef> + '_ {
        let specials = &self.services.specials;
        let keys = specials.records.get(self.number_of(key)).map_or(0, |record| record.keys());
        let listed = specials.list_from(Node::of_link(keys)).map(|node| specials.holder_of(node));
        self.entry_of_member(key).into_iter().chain(listed)
    }

    /// The references of the ephemerons whose key the object is; they are released when it goes.
    pub fn values_of_key(&mut self, key: ObjectRef) -> List<ObjectRef> {
        let mut values = List::new();
        for ephemeron in self.ephemerons_of(key) {
            ephemeron.type_info().for_each_reference(ephemeron, Part::Whole, |value| values.push(value));
        }
        values
    }

    /// Deferred plan: how many ephemerons the mark has come to and not looked at yet. See [`look_at_ephemerons`](Self::look_at_ephemerons).
    #[inline]
    pub fn ephemerons_to_look_at(&self) -> usize {
        self.services.specials.held_back.len() - self.services.specials.held_back_at
    }

    /// Deferred plan: looks at some of the ephemerons that the mark has come to. Those with a key that is not marked are held back; the
    /// mark follows the others by `follow`, which returns what that cost. Returns the cost of all; `None` when there are none.
    ///
    /// What an ephemeron needs of its key lies in four places, and each says where the next is. Looked at one by one they took
    /// half of a mark's time. So a mark collects some, and fetches each place for all of them before the next for any.
    pub fn look_at_ephemerons(&mut self, mut follow: impl FnMut(&mut Heap, ObjectRef) -> i64) -> Option<i64> {
        let from = self.services.specials.held_back_at;
        let many = self.ephemerons_to_look_at().min(EPHEMERONS_AT_ONCE);
        if many == 0 {
            return None;
        }
        self.prefetch_keys(&self.services.specials.held_back[from..from + many]);
        let mut spent = many as i64;
        for _ in 0..many {
            let object = self.services.specials.held_back[self.services.specials.held_back_at];
            if object.is_known_dead() {
                self.services.specials.held_back.swap_remove(self.services.specials.held_back_at);
                continue;
            }
            let (values, all) = self.visit_values_of_key(object, Heap::show_to_mark);
            spent += values;
            if all && self.is_held_back(object) {
                self.services.specials.held_back_at += 1;
                continue;
            }
            self.services.specials.held_back.swap_remove(self.services.specials.held_back_at);
            if all {
                spent += follow(self, object);
            } else {
                self.push_marked(object);
            }
        }
        Some(spent)
    }

    /// Deferred plan, once a mark has found what is dead: [empties](Self::empty_ephemeron) some of the ephemerons that it held back.
    /// Returns what that cost; `None` when none is left.
    pub fn empty_ephemerons(&mut self) -> Option<i64> {
        let left = self.services.specials.held_back.len();
        if left == 0 {
            self.services.specials.held_back_at = 0;
            return None;
        }
        let from = left.saturating_sub(EPHEMERONS_AT_ONCE);
        self.prefetch_keys(&self.services.specials.held_back[from..]);
        let mut spent = 0;
        while self.services.specials.held_back.len() > from
            && let Some(ephemeron) = self.services.specials.held_back.pop()
        {
            spent += if ephemeron.is_known_dead() { 1 } else { self.empty_ephemeron(ephemeron) };
        }
        Some(spent)
    }

    /// Fetches what [`is_held_back`](Self::is_held_back) reads of each of the ephemerons, and their values' headers.
    fn prefetch_keys(&self, ephemerons: &[ObjectRef]) {
        ephemerons.iter().for_each(|&ephemeron| self.prefetch_number(ephemeron));
        ephemerons.iter().for_each(|&ephemeron| self.prefetch_first_slot(ephemeron));
        for &ephemeron in ephemerons {
            match builtin::is_weak_key_entry(ephemeron) {
                true => key_of_entry(ephemeron).into_iter().for_each(ObjectRef::prefetch_for_mark),
                false => self.prefetch_target_of_first_slot(ephemeron),
            }
            ephemeron.type_info().for_each_reference(ephemeron, Part::Whole, ObjectRef::prefetch_for_mark);
        }
        let targets = ephemerons.iter().filter_map(|&ephemeron| self.target_of_first_slot(ephemeron));
        targets.for_each(ObjectRef::prefetch_for_mark);
    }

    /// Unmarked objects are known to be dead and unreachable: an ephemeron that the mark held back, and that is alive,
    /// loses keys that are not marked, and its references. What that cost. The program may have run since the mark's end: it
    /// cannot have read the values, since it cannot have the key.
    ///
    /// Deferred plan, not while increments are pending: dead objects are decremented at once, so that counts are right whatever
    /// becomes of it. An ephemeron that was logged since the mark's end keeps its values.
    pub fn empty_ephemeron(&mut self, ephemeron: ObjectRef) -> i64 {
        if !self.is_held_back(ephemeron) {
            return 1;
        }
        let mut spent = 2;
        let info = ephemeron.type_info();
        // A key of an entry that may have no record, which a walk through the records would pass over.
        let key = if builtin::is_weak_key_entry(ephemeron) { key_of_entry(ephemeron) } else { None };
        let key = key.filter(|&key| self.is_member(key));
        if self.keeps_dead_values(ephemeron, &mut spent) {
            key.into_iter().for_each(|key| _ = self.make_number(key));
            return spent;
        }
        if let Some(key) = key {
            self.clear_key_of_member(ephemeron, key);
        }
        let mut link = self.first_slot(ephemeron);
        while link != 0 {
            let next = self.services.specials.slots_from(link).nth(1).unwrap_or(0);
            if self.is_dead_key(link) {
                let target = self.services.specials.links[link].target;
                self.clear_weak_slot(target, WeakKind::Key, Node::of_link(link));
            }
            (link, spent) = (next, spent + 1);
        }
        for slot in info.reference_slots(ephemeron) {
            spent += 2;
            match info.target_of(ephemeron, slot).filter(|&value| self.is_unmarked(value)) {
                Some(value) => self.lose_dead_value(slot, value),
                None => self.empty_slot(ephemeron, slot),
            }
        }
        spent
    }

    /// The ephemerons whose key the object was lose it, and release their references; as far as `units` go. Whether those
    /// were all.
    pub(crate) fn end_key_some(&mut self, key: ObjectRef, units: &mut i64) -> bool {
        if let Some(entry) = self.entry_of_member(key) {
            // One step, whatever is left: the key does not fade.
            *units -= SLOT_UNITS;
            self.clear_key_of_member(entry, key);
            self.release_ephemeron(entry);
        }
        self.end_bond_of_key(key, units);
        while let number @ 1.. = self.number_of(key)
            && let node = Node::of_link(self.services.specials.records[number].keys())
            && node.is_some()
        {
            if *units <= 0 {
                return false;
            }
            *units -= SLOT_UNITS;
            let ephemeron = self.clear_weak_slot(number, WeakKind::Key, node);
            if ephemeron.type_info().ephemeron {
                self.release_ephemeron(ephemeron);
            }
        }
        true
    }

    fn release_ephemeron(&mut self, ephemeron: ObjectRef) {
        if self.mark_phase().condemns() && self.is_unmarked(ephemeron) {
            // It is dead itself, and so may its values be.
            return;
        }
        for slot in ephemeron.type_info().reference_slots(ephemeron) {
            self.empty_slot(ephemeron, slot);
        }
    }

    /// Whether ephemerons have the object as their key: a trial that found it alive may have been misled by one.
    pub fn is_key(&self, object: ObjectRef) -> bool {
        object.has(flag::SPECIAL)
            && (self.services.specials.records.get(self.number_of(object)).is_some_and(|record| record.keys() != 0)
                || self.is_member(object))
    }
}
