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
//!   at the end:              whoever is held back and has a key that is not marked loses key and references
//! ```
//!
//! Each ephemeron is followed at most once for itself and once for each of its keys: the time is linear, however they are nested.
//!
//! **Who reads a value has its key.** Under the deferred plan a mark may be about to find that key and value are dead.
//! The program then has no reference to the key, unless it makes one of a weak slot, and that shows the key to the
//! mark. So a value is read by whoever holds the key, or has read the key's slot first ([`Heap::ephemeron_value`]).

use crate::allocate::OutOfMemory;
use crate::builtin;
use crate::heap::Heap;
use crate::list::List;
use crate::object::{ObjectRef, Slot, flag};
use crate::plan::Plan;
use crate::range::MARK;
use crate::visit::Part;
use crate::weak::WeakKind;

/// Where the value of a built-in ephemeron stands.
pub const VALUE: u64 = 0;
/// Where its key stands.
pub const KEY: u64 = 8;

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
        ephemeron.type_info().decode(ephemeron.slot(VALUE).read())
    }

    /// Whether a mark must not follow the object now: it is an ephemeron, and a key of it is not marked.
    pub fn is_held_back(&self, object: ObjectRef) -> bool {
        let Some(record) = self.specials.records.get(&object).filter(|_| object.type_info().ephemeron) else {
            return false;
        };
        record.slots.iter().any(|&slot| self.dead_key(slot).is_some())
    }

    /// A mark has come to `key`: calls `visit` with what its marked ephemerons refer to.
    pub fn for_each_value_of_key(&mut self, key: ObjectRef, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        let Some(record) = self.special_of(key) else { return };
        if record.ephemerons.is_empty() {
            return;
        }
        let slots = std::mem::take(&mut record.ephemerons);
        let mut values = List::new();
        for slot in &slots {
            let ephemeron = self.specials.slots[slot].holder;
            if MARK.get(ephemeron.address()) && !self.is_held_back(ephemeron) {
                ephemeron.type_info().for_each_reference(ephemeron, Part::Whole, |value| values.push(value));
            }
        }
        self.special(key).ephemerons = slots;
        values.into_iter().for_each(|value| visit(self, value));
    }

    /// What ephemerons refer to whose key the object is, and will let go of when that goes.
    pub fn values_of_key(&mut self, key: ObjectRef) -> List<ObjectRef> {
        let slots = self.special_of(key).map_or(List::new(), |record| record.ephemerons.clone());
        let mut values = List::new();
        for ephemeron in slots.into_iter().map(|slot| self.specials.slots[&slot].holder) {
            ephemeron.type_info().for_each_reference(ephemeron, Part::Whole, |value| values.push(value));
        }
        values
    }

    /// The mark has come to its end, or nearly so: those that it held back, and that have another key or none by now,
    /// are followed after all. True when there are any.
    pub fn follow_released_ephemerons(&mut self) -> bool {
        let held_back = std::mem::take(&mut self.specials.held_back);
        let alive = held_back.into_iter().filter(|object| !object.has(flag::DEAD) && object.count() != 0);
        let (held_back, released): (List<_>, List<_>) = alive.partition(|&object| self.is_held_back(object));
        self.specials.held_back = held_back;
        let any = !released.is_empty();
        released.into_iter().for_each(|object| self.push_marked(object));
        any
    }

    /// The mark has come to its end: those that it held back, and that are alive, lose keys that are not marked, and
    /// their references. Nothing may run between the mark's end and this.
    pub fn empty_ephemerons(&mut self, held_back: List<ObjectRef>) {
        for ephemeron in held_back {
            let alive = match self.plan {
                Plan::Deferred => !ephemeron.has(flag::DEAD) && ephemeron.count() != 0,
                Plan::Prompt => true,
            };
            if !alive || !self.is_held_back(ephemeron) {
                continue;
            }
            let slots = self.special(ephemeron).slots.clone();
            for address in slots {
                if let Some(key) = self.dead_key(address) {
                    self.forget_key(key, address);
                }
            }
            // An unmarked value is dead, and freed without a look at who refers to it; nor is it in any log, whose
            // words are all shown to the mark. What is marked loses a reference in the ordinary way.
            let (dead, alive): (List<Slot>, List<Slot>) =
                ephemeron.type_info().reference_slots(ephemeron).into_iter().partition(|slot| {
                    ephemeron.type_info().decode(slot.read()).is_some_and(|value| self.is_unmarked(value))
                });
            dead.into_iter().for_each(|slot| slot.store(0));
            alive.into_iter().for_each(|slot| self.empty_slot(ephemeron, slot));
        }
    }

    /// The target of a slot that is a key, if the mark has not come to it. Young objects of the deferred plan are not
    /// its concern.
    fn dead_key(&self, slot: u64) -> Option<ObjectRef> {
        let slot = &self.specials.slots[&slot];
        (slot.kind == WeakKind::Key && self.is_unmarked(slot.target)).then_some(slot.target)
    }

    fn is_unmarked(&self, object: ObjectRef) -> bool {
        (self.plan == Plan::Prompt || object.is_mature()) && !MARK.get(object.address())
    }

    /// The slot at `address` has lost its key, whose record need not list it any more.
    fn forget_key(&mut self, key: ObjectRef, address: u64) {
        self.leave_target(key, WeakKind::Key, self.specials.slots[&address].at_target);
        self.clear_weak_slot(address);
    }

    /// The ephemerons whose key the object was lose it, and let go of what they refer to.
    pub(crate) fn end_key(&mut self, key: ObjectRef) {
        let Some(record) = self.special_of(key) else { return };
        for address in std::mem::take(&mut record.ephemerons) {
            let ephemeron = self.clear_weak_slot(address);
            if ephemeron.type_info().ephemeron {
                self.release_ephemeron(ephemeron);
            }
        }
    }

    fn release_ephemeron(&mut self, ephemeron: ObjectRef) {
        if self.specials.mark_condemns && self.is_unmarked(ephemeron) {
            // It is dead itself, and so may its values be.
            return;
        }
        for slot in ephemeron.type_info().reference_slots(ephemeron) {
            self.empty_slot(ephemeron, slot);
        }
    }

    /// Nulls a reference. Deferred plan: not by way of the log: the ephemeron may have died at the last flip, and marks
    /// do not follow what the log says of such. The count that a clean object's reference had goes to the flip's roots,
    /// which let go of it after the next flip; or at once, while the program waits for the whole epoch and has read
    /// nothing since the flip, so that chains of ephemerons die in one.
    ///
    /// An ephemeron that the log names gives that the reference: it let go of it by a write. If it was dead by then, no
    /// mark follows what the log says of it, so its value is held until the log has been read. (Marks condemned it
    /// before, and the log then let go of what was gone.)
    fn empty_slot(&mut self, ephemeron: ObjectRef, slot: Slot) {
        if self.plan == Plan::Prompt {
            return self.write(ephemeron, slot, 0);
        }
        let value = ephemeron.type_info().decode(slot.read());
        let clean = ephemeron.is_mature() && ephemeron.stamp() == 0;
        if !clean {
            let was_counted = |value: &ObjectRef| value.is_mature() && value.count() != 0;
            if ephemeron.count() == 0
                && let Some(value) = value.filter(was_counted)
            {
                self.hold_until_flip(value);
            }
            return self.write(ephemeron, slot, 0);
        }
        slot.store(0);
        let Some(value) = value else { return };
        if self.mark_discovers {
            self.show_to_mark(value);
        }
        if self.specials.mutator_waits && !self.counting {
            return self.decrement(value);
        }
        value.add_flags(flag::ROOTED);
        self.specials.upgraded.push(value);
    }

    /// Whether ephemerons have the object as their key: a trial that found it alive may have been misled by one.
    pub fn is_key(&self, object: ObjectRef) -> bool {
        object.has(flag::SPECIAL)
            && self.specials.records.get(&object).is_some_and(|record| !record.ephemerons.is_empty())
    }
}
