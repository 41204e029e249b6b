//! Weak slots are written, listed and forgotten. `[WEAK]`

use super::super::WeakKind;
use super::{Link, Node, is_linked};
use crate::heap::Heap;
use crate::memory::range::record_cell;
use crate::object::{ObjectRef, Slot, flag};
use crate::services::builtin;

impl Heap {
    /// Enters a slot in its target's list, and in its holder's.
    pub(in crate::services) fn link_weak_slot(
        &mut self,
        holder: ObjectRef,
        slot: Slot,
        target: ObjectRef,
        kind: WeakKind,
    ) {
        self.services.specials.any_told_when_cleared |= builtin::is_told_when_cleared(holder);
        let to = self.make_number(target);
        if slot == holder.slot(0) && builtin::is_weak(holder) {
            self.note_special(holder);
            // SAFETY below: the weak reference leaves the list before its memory goes.
            return self.services.specials.enter(to, kind, Node::of_weak(holder));
        }
        let first = self.first_slot(holder);
        let link = self.services.specials.links.insert(Link::new(holder, slot, to, kind));
        // SAFETY: [MAPPED] the table is mapped wherever objects lie.
        unsafe { *record_cell(slot.address()) = link };
        self.services.specials.enter(to, kind, Node::of_link(link));
        let is_plain = first == 0 && self.number_of(holder) == 0 && !self.is_in_map(holder);
        if is_plain && self.services.specials.links[link].may_be_lone() {
            self.note_special(holder);
            self.set_lone_slot(holder, link);
        } else {
            let of = self.make_number(holder);
            self.services.specials.enter_holder(of, link);
        }
    }

    /// A link leaves its holder's list.
    pub(in crate::services::weak::links) fn leave_holder(&mut self, link: u32) {
        let Link { next_of_holder: next, before_of_holder: before, .. } = self.services.specials.links[link];
        let holder = self.services.specials.links[link].holder();
        match (before, self.number_of(holder)) {
            (0, 0) => self.set_lone_slot(holder, 0),
            (0, number) => self.services.specials.records[number].slots = next,
            (before, _) => self.services.specials.links[before].next_of_holder = next,
        }
        if next != 0 {
            self.services.specials.links[next].before_of_holder = before;
        }
    }

    /// The link of a slot, if it has one.
    pub(in crate::services::weak) fn link_of(&self, holder: ObjectRef, slot: Slot) -> Option<u32> {
        if !holder.has(flag::SPECIAL) {
            return None;
        }
        // SAFETY: [MAPPED] the table is mapped wherever objects lie; a number that is out of date names a link of
        // another slot, or none.
        let number = unsafe { *record_cell(slot.address()) };
        let link = self.services.specials.links.get(number)?;
        (link.slot_address() == slot.address()).then_some(number)
    }

    /// The slot refers to nothing any more; its word stays.
    pub(in crate::services) fn forget_weak_slot(&mut self, holder: ObjectRef, slot: Slot) {
        if slot == holder.slot(0) && builtin::is_weak(holder) {
            self.unlink_weak(holder);
        } else if let Some(link) = self.link_of(holder, slot) {
            self.forget_link(link);
        }
    }

    /// A built-in weak reference refers to nothing any more, if the object is one.
    pub(crate) fn unlink_weak(&mut self, object: ObjectRef) {
        if !is_linked(object) {
            return;
        }
        let slot = object.slot(0);
        // SAFETY: [WEAK] a target has its memory as long as it is listed as one.
        let target = unsafe { ObjectRef::from_address(slot.read()) };
        let number = self.number_of(target);
        self.services.specials.leave(number, WeakKind::Reference, Node::of_weak(object));
        slot.store(0);
        self.tidy_special(target);
        self.tidy_special(object);
    }

    /// The same for a link's slot; its word stays.
    pub(crate) fn forget_link(&mut self, number: u32) {
        let (kind, target) = (self.services.specials.links[number].kind(), self.services.specials.links[number].target);
        let holder = self.services.specials.holder_of(Node::of_link(number));
        let target_object = self.services.specials.at(target);
        self.take_node(target, kind, Node::of_link(number));
        if let Some(target) = target_object {
            self.tidy_special(target);
        }
        self.tidy_special(holder);
    }

    /// Takes a node from its target's list, and its link from the holder's; the holder and the slot.
    pub(in crate::services::weak) fn take_node(
        &mut self,
        target: u32,
        kind: WeakKind,
        node: Node,
    ) -> (ObjectRef, Slot) {
        self.services.specials.leave(target, kind, node);
        match node.link() {
            0 => (node.weak(), node.weak().slot(0)),
            link => {
                let holder = self.services.specials.holder_of(node);
                self.leave_holder(link);
                (holder, self.services.specials.links.remove(link).slot())
            }
        }
    }
}
