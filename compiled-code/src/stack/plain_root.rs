//! A word without a type, and the object in it, if the word lies in the heap: a root, or a word of an object that nothing describes.

use std::ffi::c_void;
use tally_heap::descriptor::TraceVisit;
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

/// The trace function of objects that nothing describes: visits each word that holds an address in the heap range.
pub(crate) unsafe extern "C" fn visit_words(words: *const u64, count: u64, visit: TraceVisit, context: *mut c_void) {
    for index in 0..count as usize {
        // SAFETY: `count` words are readable, and `visit` takes each object found, by the contract of trace
        // functions.
        let word = unsafe { *words.wrapping_add(index) };
        if range::in_heap(word) {
            // SAFETY: `count` words are readable, and `visit` takes each object found, by the contract of trace
            // functions.
            unsafe { visit(word as *mut c_void, context) };
        }
    }
}
