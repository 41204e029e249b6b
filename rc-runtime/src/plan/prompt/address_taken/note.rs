//! Compiled code has stored to a root whose address was taken. `[ROOT]`

use super::{NOTED_MAX, word};
use crate::heap::Heap;
use crate::memory::range;
use crate::object::ObjectRef;

impl Heap {
    /// A reference may have been stored to `slot`, a word of this thread's stack, whose frames in use begin at `sp`.
    pub fn note_address_taken_store(&mut self, slot: u64, sp: u64) {
        self.refresh_pointer_masks();
        // Most of what goes to out-parameters are numbers and native addresses.
        if !self.may_refer(word(slot)) && !self.prompt.address_taken.holds_for(slot) {
            return;
        }
        let noted = &mut self.prompt.address_taken.noted;
        if noted.last() != Some(&slot) {
            noted.push(slot);
        }
        if noted.len() == NOTED_MAX {
            self.hold_noted(sp);
        }
        self.context_mut().pending = 1;
    }

    /// A drain: holds the references stored since the last drain, and releases those that are no longer stored.
    #[cold]
    pub(in crate::plan::prompt) fn settle_address_taken(&mut self) {
        let context = self.context_mut();
        // Without compiled code on the stack there are no roots.
        let (sp, fp) = if context.exit_pc == 0 { (u64::MAX, u64::MAX) } else { (context.exit_sp, context.exit_fp) };
        self.hold_noted(sp);
        let mut place = self.prompt.address_taken.held.len();
        while place > 0 {
            place -= 1;
            let (slot, object) = self.prompt.address_taken.held[place];
            if slot >= sp && slot > fp {
                break;
            }
            if slot < sp || !self.may_mean(word(slot), object) {
                self.prompt.address_taken.held.remove(place);
                self.decrement_exact(object);
            }
        }
    }

    /// Whether slots were noted, or objects are held for some.
    pub fn has_address_taken_stores(&self) -> bool {
        self.prompt.address_taken.is_due()
    }

    /// The frames of all noted slots stop, or are gone: nothing is held for them any more.
    pub fn end_address_taken_stores(&mut self) {
        self.prompt.address_taken.noted.clear();
        while let Some((_, object)) = self.prompt.address_taken.held.pop() {
            self.decrement_exact(object);
        }
    }

    /// Holds what the noted slots at `sp` and above hold.
    pub(in crate::plan::prompt::address_taken) fn hold_noted(&mut self, sp: u64) {
        self.refresh_pointer_masks();
        let mut noted = std::mem::take(&mut self.prompt.address_taken.noted);
        for slot in noted.drain(..).filter(|&slot| slot >= sp) {
            let (found, held) = (self.held_in(slot), &mut self.prompt.address_taken.held);
            let place = held.partition_point(|&(other, _)| other > slot);
            let before = held.get(place).filter(|&&(other, _)| other == slot).map(|&(_, object)| object);
            if found == before {
                continue;
            }
            match (found, before) {
                (Some(object), Some(_)) => held[place] = (slot, object),
                (Some(object), None) => held.insert(place, (slot, object)),
                (None, _) => _ = held.remove(place),
            }
            if let Some(object) = found {
                object.increment_exact();
            }
            if let Some(object) = before {
                self.decrement_exact(object);
            }
        }
        self.prompt.address_taken.noted = noted;
    }

    /// The object of this heap that a slot holds, by any of the ways in which the program's types read a word: nobody says by which
    /// this one is read. Its frame may have gone since it was noted, and the word be anything.
    pub(in crate::plan::prompt::address_taken) fn held_in(&self, slot: u64) -> Option<ObjectRef> {
        let word = word(slot);
        self.masks().find_map(|mask| self.object_here(word & mask))
    }

    /// Whether a word may stand for that object.
    fn may_mean(&self, word: u64, object: ObjectRef) -> bool {
        self.masks().any(|mask| word & mask == object.address())
    }

    /// Whether any type of the program would take the word for a reference.
    fn may_refer(&self, word: u64) -> bool {
        self.masks().any(|mask| range::in_heap(word & mask))
    }

    fn masks(&self) -> impl Iterator<Item = u64> {
        std::iter::once(u64::MAX).chain(self.prompt.pointer_masks.iter().copied())
    }

    fn object_here(&self, address: u64) -> Option<ObjectRef> {
        if address & 7 != 0 || !range::in_heap(address) || !range::is_reserved(address) {
            return None;
        }
        // SAFETY: not null, and looked up before it is taken for an object.
        let found = unsafe { ObjectRef::from_address(address) };
        self.is_still_there(found).then_some(found)
    }
}
