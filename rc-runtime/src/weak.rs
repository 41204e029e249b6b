//! Weak slots: words of objects that refer without counting. `[WEAK]`
//!
//! A weak slot is any word of an object that its descriptor does not name. Which words are weak slots now, and what
//! they refer to, is known here and nowhere else: the passes never see such a word. When the reclaim of a target
//! begins, its slots are cleared: they become 0, or what the holder's type makes of them
//! ([`TypeInfo::on_clear`](crate::type_registry::TypeInfo)).
//!
//! The key of an ephemeron is such a slot, too; it is cleared later, when the memory of its target goes: a dead key
//! with a finalizer is still one while that runs.
//!
//! **Upgrade** makes a reference of a weak slot's word, or null. Under the prompt plan counts say all: what is not
//! being taken apart may be had, also when it is at zero and waits for the drain. Under the deferred plan the target
//! may have been unreachable at the last flip, while the passes over that are still running: it is counted once more
//! and entered with the flip's roots, so that it survives what they will find, as if a root had held it
//! ([`Specials::upgraded`](crate::special::Specials)). Expected cost: when the target is young or among the flip's
//! roots 20 instructions; the first upgrade of an epoch a push.
//!
//! Both ends of a slot find it in constant time, so that a holder with a million of them, or a target, is no worse than
//! a million holders.

use crate::allocate::OutOfMemory;
use crate::builtin::{self, Callback};
use crate::heap::Heap;
use crate::list::List;
use crate::object::{ObjectRef, Slot, flag, prompt_flag};
use crate::plan::Plan;
use crate::range::MARK;

/// What a slot that does not count is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakKind {
    /// A weak reference.
    Reference,
    /// The key of an ephemeron.
    Key,
}

/// One registered slot.
#[derive(Debug)]
pub struct WeakSlot {
    pub(crate) holder: ObjectRef,
    pub(crate) target: ObjectRef,
    pub(crate) kind: WeakKind,
    /// Its place among the target's referrers, or ephemerons.
    pub(crate) at_target: u32,
    /// Its place among the holder's slots.
    at_holder: u32,
}

impl Heap {
    /// Lets `slot` of `holder`, a word that its descriptor does not name, refer to `target` without counting it.
    pub fn write_weak(&mut self, holder: ObjectRef, slot: Slot, target: Option<ObjectRef>, kind: WeakKind) {
        self.forget_weak_slot(slot);
        slot.store(target.map_or(0, ObjectRef::address));
        let Some(target) = target else { return };
        let at_target = {
            let list = self.special(target).list(kind);
            list.push(slot.address());
            list.len() as u32 - 1
        };
        let slots = &mut self.special(holder).slots;
        slots.push(slot.address());
        let at_holder = slots.len() as u32 - 1;
        let entry = WeakSlot { holder, target, kind, at_target, at_holder };
        self.specials.slots.insert(slot.address(), entry);
    }

    /// A new weak reference: an object of a built-in type, whose first word is the slot. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak(&mut self, target: Option<ObjectRef>) -> Result<ObjectRef, OutOfMemory> {
        let info = builtin::weak();
        let weak = self.holding(&[target], |heap| heap.allocate_cell(info, 0))?;
        self.write_weak(weak, weak.slot(0), target, WeakKind::Reference);
        Ok(weak)
    }

    /// The same with a callback, which is called with the weak reference once that was cleared, if that is alive then.
    /// A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak_with(&mut self, target: ObjectRef, callback: Callback) -> Result<ObjectRef, OutOfMemory> {
        let info = builtin::weak_with_callback();
        let weak = self.holding(&[Some(target)], |heap| heap.allocate_cell(info, 0))?;
        weak.slot(builtin::CALLBACK).store(callback as usize as u64);
        self.write_weak(weak, weak.slot(0), Some(target), WeakKind::Reference);
        Ok(weak)
    }

    /// The target of a weak slot, as a reference like one that was loaded from a field: valid until the next safepoint.
    /// `object` is what the slot's word says; `None` when its reclaim has begun. `[WEAK]`
    #[inline(always)]
    pub fn upgrade(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        match self.plan {
            _ if self.may_be_had(object) => Some(object),
            Plan::Prompt => self.upgrade_watched(object),
            Plan::Deferred => self.upgrade_slow(object),
        }
    }

    /// Whether an upgrade needs no more than the reference.
    #[inline(always)]
    pub(crate) fn may_be_had(&self, object: ObjectRef) -> bool {
        match self.plan {
            Plan::Prompt => !object.has(prompt_flag::DYING | prompt_flag::DEAD) && !self.prompt.watch.is_on,
            Plan::Deferred => {
                object.has(flag::ROOTED) && !self.roots_uncounted
                    || (object.stamp() == self.epoch && !object.is_mature())
            }
        }
    }

    #[inline(never)]
    fn upgrade_slow(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        // Such an object is a key: the other weak slots are null by now. Yielded, it would be finalized under the
        // program's hands.
        if self.special_of(object).is_some_and(|record| record.awaits_finalizer) {
            return None;
        }
        let dead = if object.is_mature() {
            let condemned = self.specials.mark_condemns && !MARK.get(object.address());
            object.has(flag::DEAD) || condemned || object.count() == 0 && !self.is_written_uncounted(object)
        } else {
            !self.counting || self.specials.young_are_judged()
        };
        if dead {
            return None;
        }
        self.hold_until_flip(object);
        Some(object)
    }

    /// Deferred plan: the object is counted once more, and held as by a root of the last flip, until the passes of the next.
    pub(crate) fn hold_until_flip(&mut self, object: ObjectRef) {
        self.increment(object);
        object.add_flags(flag::ROOTED);
        self.specials.upgraded.push(object);
        if self.mark_discovers {
            self.show_to_mark(object);
        }
    }

    /// Whether the object was promoted because it was written to before the increments reached it: it has no count yet,
    /// and lives. What died by counting has none any more, and was not written to since the flip.
    #[cold]
    fn is_written_uncounted(&mut self, object: ObjectRef) -> bool {
        let epoch = self.epoch;
        let written = match object.has(flag::LARGE) {
            true => self.large.stamps(object).contains(&epoch),
            false => object.stamp() == epoch,
        };
        self.counting && written
    }

    /// The target of a weak slot, read and upgraded.
    #[inline(always)]
    pub fn read_weak(&mut self, slot: Slot) -> Option<ObjectRef> {
        let word = slot.read();
        // SAFETY: [WEAK] a weak slot's word in the heap range is an object whose memory is there.
        unsafe { ObjectRef::of_word(word) }.and_then(|object| self.upgrade(object))
    }

    /// Runs `call` with `objects` held as if by roots: what the runtime's own safepoints were given.
    pub(crate) fn holding<T>(&mut self, objects: &[Option<ObjectRef>], call: impl FnOnce(&mut Heap) -> T) -> T {
        let before = self.host_roots.stack.len();
        self.host_roots.stack.extend(objects);
        let prompt = self.plan == Plan::Prompt;
        if prompt {
            objects.iter().flatten().for_each(|object| object.increment_exact());
        }
        let answer = call(self);
        self.host_roots.stack.truncate(before);
        if prompt {
            objects.iter().flatten().for_each(|&object| self.decrement_exact(object));
        }
        answer
    }

    /// The slot refers to nothing any more; its word stays.
    fn forget_weak_slot(&mut self, slot: Slot) {
        if let Some(entry) = self.leave_holder(slot) {
            self.leave_target(entry.target, entry.kind, entry.at_target);
            self.tidy_special(entry.target);
            self.tidy_special(entry.holder);
        }
    }

    /// Takes the slot at a place of its target's list from that.
    pub(crate) fn leave_target(&mut self, target: ObjectRef, kind: WeakKind, at_target: u32) {
        let specials = &mut self.specials;
        let list = specials.records.get_mut(&target).expect("a target is special").list(kind);
        list.swap_remove(at_target as usize);
        if let Some(moved) = list.get(at_target as usize) {
            specials.slots.get_mut(moved).expect("a listed slot").at_target = at_target;
        }
    }

    /// Takes the slot from the table and from its holder's list.
    fn leave_holder(&mut self, slot: Slot) -> Option<WeakSlot> {
        let specials = &mut self.specials;
        let entry = specials.slots.remove(&slot.address())?;
        let list = &mut specials.records.get_mut(&entry.holder).expect("a holder is special").slots;
        list.swap_remove(entry.at_holder as usize);
        if let Some(moved) = list.get(entry.at_holder as usize) {
            specials.slots.get_mut(moved).expect("a listed slot").at_holder = entry.at_holder;
        }
        Some(entry)
    }

    /// What a weak slot refers to; for tests and recounts.
    pub fn weak_target(&self, slot: Slot) -> Option<ObjectRef> {
        self.specials.slots.get(&slot.address()).map(|entry| entry.target)
    }

    /// The slot's target has forgotten it: so do the table and the holder, and its word is cleared.
    pub(crate) fn clear_weak_slot(&mut self, address: u64) -> ObjectRef {
        // SAFETY: a registered slot is a word of its holder, which has its memory as long as it is registered.
        let slot = unsafe { Slot::from_address(address) };
        let entry = self.leave_holder(slot).expect("a listed slot");
        self.note_entry_before_clear(entry.holder);
        match entry.holder.type_info().on_clear() {
            // SAFETY: the author of the type promised a function that stores to the slot and calls nothing.
            Some(clear) => unsafe { clear(entry.holder.address() as *mut _, address as *mut _) },
            None => slot.store(0),
        }
        if entry.kind == WeakKind::Reference
            && builtin::has_errand(entry.holder)
            && !self.is_condemned_too(entry.holder)
        {
            self.add_errand(entry.holder);
        }
        self.tidy_special(entry.holder);
        entry.holder
    }

    /// Whether the object is part of the garbage whose reclaim begins.
    fn is_condemned_too(&mut self, object: ObjectRef) -> bool {
        self.special_of(object).is_some_and(|record| record.condemned)
    }

    /// The object's references are about to be let go of: its weak slots are none any more, and it is no ephemeron.
    pub fn dismantle(&mut self, object: ObjectRef) {
        self.forget_errand(object);
        while let Some(record) = self.special_of(object)
            && let Some(&slot) = record.slots.last()
        {
            // SAFETY: as in `clear_weak_slot`.
            self.forget_weak_slot(unsafe { Slot::from_address(slot) });
        }
    }
}

impl crate::special::Special {
    fn list(&mut self, kind: WeakKind) -> &mut List<u64> {
        match kind {
            WeakKind::Reference => &mut self.referrers,
            WeakKind::Key => &mut self.ephemerons,
        }
    }
}
