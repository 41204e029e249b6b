//! Address-taken roots: stores of compiled code to roots of older frames, through out-parameters. `[ROOT]`
//!
//! A frame counts what its roots hold at its own safepoints. When a callee stores to one of them by its address, no count
//! says so until then. So compiled code names each such slot as it stores there, and the runtime *holds* what it finds in
//! it, by one count of its own, until the slot's frame is gone or the slot holds something else:
//!
//! | when | done |
//! |---|---|
//! | a store | the slot is noted, if it may hold a reference now or something is held for it |
//! | a drain | the objects in noted slots are held. Holds of frames that are gone end, and those of the running frame whose slot has changed |
//!
//! Only the running frame and callees that name it change a slot, so nothing else has to be looked at: a drain costs the references
//! stored since the last, and the slots of one frame. Holds are sorted by address, those of the newest frames last. While there
//! are any, each safepoint drains.
//!
//! A slot may be a word of a larger root, and tagged: what any type of the program would take it for is held. A slot that is no root after all (memory of native code, passed to the same function) is held in the same way.

mod note;

use crate::memory::list::List;
use crate::object::{ObjectRef, Slot};

/// Noted slots that are looked at without waiting for a drain.
const NOTED_MAX: usize = 1024;

/// Stores to address-taken roots, and the objects held for them.
#[derive(Debug, Default)]
pub struct AddressTaken {
    noted: List<u64>,
    /// Slots with what they held when they were looked at, the highest address first.
    held: List<(u64, ObjectRef)>,
}

impl AddressTaken {
    /// Objects that are held on behalf of a slot.
    pub fn held(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.held.iter().map(|&(_, object)| object)
    }

    /// Whether an object is held for the slot.
    fn holds_for(&self, slot: u64) -> bool {
        self.held.binary_search_by(|&(other, _)| slot.cmp(&other)).is_ok()
    }

    /// Whether the next drain has something to do here.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        !self.noted.is_empty() || !self.held.is_empty()
    }
}

fn word(slot: u64) -> u64 {
    // SAFETY: a word of this thread's stack, above where it is in use from.
    unsafe { Slot::from_address(slot) }.read()
}
