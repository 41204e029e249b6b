//! Weak slots are read and upgraded. `[WEAK]`

use super::WeakKind;
use super::links::Node;
use crate::at_work;
use crate::heap::Heap;
use crate::object::{ObjectRef, Slot, flag};
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin::{self, Callback};
use crate::services::special::CONDEMNED;

impl Heap {
    /// Lets `slot` of `holder`, an aligned word that its descriptor does not name, refer to `target` without counting it.
    pub fn write_weak(&mut self, holder: ObjectRef, slot: Slot, target: Option<ObjectRef>, kind: WeakKind) {
        if slot.read() != 0 {
            // One that holds 0 refers to nothing: looking for its link would be a miss, in a table that is written only.
            self.forget_weak_slot(holder, slot);
        }
        slot.store(target.map_or(0, ObjectRef::address));
        if let Some(target) = target {
            self.link_weak_slot(holder, slot, target, kind);
        }
        if kind == WeakKind::Key {
            self.note_other_key(holder);
        }
    }

    /// A new weak reference: an object of a built-in type, whose first word is the slot. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak(&mut self, target: Option<ObjectRef>) -> Result<ObjectRef, OutOfMemory> {
        let info = builtin::weak();
        let weak = self.holding(&[target], |heap| heap.allocate_cell(info, 0))?;
        self.begin_weak(weak, target);
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
        self.begin_weak(weak, Some(target));
        Ok(weak)
    }

    pub(in crate::services::weak) fn begin_weak(&mut self, weak: ObjectRef, target: Option<ObjectRef>) {
        weak.slot(0).store(target.map_or(0, ObjectRef::address));
        if let Some(target) = target {
            self.link_weak_slot(weak, weak.slot(0), target, WeakKind::Reference);
        }
    }

    /// The target of a weak slot, read and upgraded.
    #[inline(always)]
    pub fn read_weak(&mut self, slot: Slot) -> Option<ObjectRef> {
        let word = slot.read();
        // SAFETY: [WEAK] a weak slot's word in the heap range is an object whose memory is there.
        unsafe { ObjectRef::of_word(word) }.and_then(|object| self.upgrade(object))
    }

    /// Returns the target of a weak slot of `holder`; for tests and recounts.
    pub fn weak_target(&self, holder: ObjectRef, slot: Slot) -> Option<ObjectRef> {
        if slot == holder.slot(0) && builtin::is_weak(holder) {
            // SAFETY: [WEAK] the word of a weak reference.
            return unsafe { ObjectRef::of_word(slot.read()) }.filter(|_| holder.has(flag::SPECIAL));
        }
        let link = self.link_of(holder, slot)?;
        self.services.specials.at(self.services.specials.links[link].target)
    }

    /// The slot of a node in a list of a target, whose record has the number: it leaves the list, and its word is cleared. The
    /// holder.
    pub(crate) fn clear_weak_slot(&mut self, target: u32, kind: WeakKind, node: Node) -> ObjectRef {
        self.services.specials.cleared += 1;
        let is_entry = builtin::mode_of_entry(self.services.specials.holder_of(node)).is_some();
        if is_entry {
            let entry = self.services.specials.holder_of(node);
            self.note_entry_before_clear(entry, self.map_by_link(entry));
        }
        let (holder, slot) = self.take_node(target, kind, node);
        match holder.type_info().on_clear() {
            Some(clear) => {
                // SAFETY: the author of the type promised a function that stores to the slot and calls nothing.
                at_work::call(|| unsafe { clear(holder.address() as *mut _, slot.address() as *mut _) });
            }
            None => slot.store(0),
        }
        if is_entry {
            self.lose_sides(holder);
        }
        if kind == WeakKind::Reference && self.is_told(holder) {
            self.queue_post_clear(holder);
        }
        self.tidy_special(holder);
        holder
    }

    /// Whether something is done because a weak reference in the object was cleared: not if the object is part of the garbage
    /// whose reclaim begins, unless a finalizer may bring it back, and it is an entry that keeps a key.
    pub(in crate::services) fn is_told(&mut self, holder: ObjectRef) -> bool {
        builtin::is_told_when_cleared(holder)
            && (!self.is_condemned_too(holder)
                || self.services.specials.finalizers_follow && builtin::callback_of(holder).is_none())
    }

    pub(in crate::services::weak) fn is_condemned_too(&mut self, object: ObjectRef) -> bool {
        let by_mark = self.mark_phase().condemns() && self.is_unmarked(object);
        by_mark || self.special_of(object).is_some_and(|record| record.has(CONDEMNED))
    }
}
