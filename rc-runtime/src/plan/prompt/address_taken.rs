//! Address-taken roots: stores of compiled code to roots of older frames, through out-parameters. `[ROOT]`
//!
//! A frame counts what its roots hold at its own safepoints. When a callee stores to one of them by its address, no count
//! says so until then. So compiled code names each such slot as it stores there, and the runtime *holds* what it finds in
//! it, by one count of its own, until the slot's frame is gone or the slot holds something else:
//!
//! | when | done |
//! |---|---|
//! | a store | the slot is noted |
//! | a drain | the objects in noted slots are held. Holds of frames that are gone end, and those of the running frame whose slot has changed |
//!
//! Only the running frame and callees that name it change a slot, so nothing else has to be looked at: a drain costs the references
//! stored since the last, and the slots of one frame. Holds are sorted by address, those of the newest frames last. While there
//! are any, each safepoint drains.
//!
//! A slot that is no root after all (memory of native code, passed to the same function) is held in the same way.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range;
use crate::object::{ObjectRef, Slot};

/// Noted slots that are looked at without waiting for a drain.
const NOTED_MAX: usize = 1024;

/// Stores to address-taken roots, and the objects held for them.
#[derive(Debug, Default)]
pub struct Lent {
    noted: List<u64>,
    /// Slots with what they held when they were looked at, the highest address first.
    held: List<(u64, ObjectRef)>,
}

impl Lent {
    /// Objects that are held on behalf of a slot.
    pub fn held(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.held.iter().map(|&(_, object)| object)
    }

    /// Whether the next drain has something to do here.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        !self.noted.is_empty() || !self.held.is_empty()
    }
}

impl Heap {
    /// A reference may have been stored to `slot`, a word of this thread's stack, whose frames in use begin at `sp`.
    pub fn note_lent_store(&mut self, slot: u64, sp: u64) {
        let noted = &mut self.prompt.lent.noted;
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
    pub(super) fn settle_lent(&mut self) {
        let context = self.context_mut();
        // Without compiled code on the stack there are no roots.
        let (sp, fp) = if context.exit_pc == 0 { (u64::MAX, u64::MAX) } else { (context.exit_sp, context.exit_fp) };
        self.hold_noted(sp);
        let mut place = self.prompt.lent.held.len();
        while place > 0 {
            place -= 1;
            let (slot, object) = self.prompt.lent.held[place];
            if slot >= sp && slot > fp {
                break;
            }
            if slot < sp || word(slot) != object.address() {
                self.prompt.lent.held.remove(place);
                self.decrement_exact(object);
            }
        }
    }

    /// Holds what the noted slots at `sp` and above hold.
    fn hold_noted(&mut self, sp: u64) {
        let mut noted = std::mem::take(&mut self.prompt.lent.noted);
        for slot in noted.drain(..).filter(|&slot| slot >= sp) {
            let (found, held) = (self.held_in(slot), &mut self.prompt.lent.held);
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
        self.prompt.lent.noted = noted;
    }

    /// The object of this heap that a slot holds. Its frame may have gone since it was noted, and the word be anything.
    fn held_in(&self, slot: u64) -> Option<ObjectRef> {
        let address = word(slot);
        if address & 7 != 0 || !range::in_heap(address) || !range::is_reserved(address) {
            return None;
        }
        // SAFETY: not null, and looked up before it is taken for an object.
        let found = unsafe { ObjectRef::from_address(address) };
        self.is_still_there(found).then_some(found)
    }
}

fn word(slot: u64) -> u64 {
    // SAFETY: a word of this thread's stack, above where it is in use from.
    unsafe { Slot::from_address(slot) }.read()
}
