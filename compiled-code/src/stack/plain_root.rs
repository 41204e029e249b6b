//! A root that is one word, and the object in it, if the word lies in the heap.

use tally_heap::memory::range;
use tally_heap::{ObjectRef, Slot};

/// Calls `found` with the object that the root at `slot` holds.
#[inline(always)]
pub(crate) fn visit_plain_root(slot: u64, mut found: impl FnMut(ObjectRef)) {
    // SAFETY: [ROOT] the stack map says that the slot is a word of the frame, and the frame is active.
    let word = unsafe { Slot::from_address(slot) }.read();
    if range::in_heap(word) {
        // SAFETY: [ROOT] a word of a root slot that lies in the heap is an object.
        found(unsafe { ObjectRef::from_address(word) });
    }
}
