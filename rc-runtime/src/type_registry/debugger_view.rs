//! What a debugger must know to read an object's type from memory: `tally-gdb.py` prints objects by it.
//!
//! ```text
//!   object - 4        meta word; `type_mask` of it is the type's id
//!   types + id * 8    address of the type, a `TypeInfo`
//!   + name            address and length of its name
//! ```
//!
//! The compiler chooses the places in a [`TypeInfo`], so they are told here, and nothing of the hot paths is laid out for a reader
//! that seldom comes. The script reads 8 bytes for each of `size`, `stride` and `length_offset`.

use super::TypeInfo;
use crate::memory::range::{self, TYPE_ID_BITS};
use std::mem::offset_of;

/// Places of what a debugger reads.
#[derive(Debug)]
#[repr(C)]
pub struct DebuggerView {
    version: u32,
    type_mask: u32,
    heap_base: u64,
    heap_span: u64,
    types: u64,
    name: u32,
    size: u32,
    stride: u32,
    length_offset: u32,
}

/// Those of this build.
pub const VIEW: DebuggerView = DebuggerView {
    version: 1,
    type_mask: (1 << TYPE_ID_BITS) - 1,
    heap_base: range::HEAP_BASE,
    heap_span: range::HEAP_SPAN,
    types: range::TYPE_TABLE_BASE,
    name: offset_of!(TypeInfo, name) as u32,
    size: offset_of!(TypeInfo, size) as u32,
    stride: offset_of!(TypeInfo, stride) as u32,
    length_offset: offset_of!(TypeInfo, length_offset) as u32,
};

const _: () = {
    assert!(offset_of!(DebuggerView, heap_base) == 8);
    assert!(offset_of!(DebuggerView, name) == 32);
    assert!(offset_of!(DebuggerView, length_offset) == 44);
};

#[cfg(test)]
mod tests {
    /// Rust does not promise it, and the script relies on it.
    #[test]
    fn a_boxed_text_is_its_address_and_its_length() {
        let text: Box<str> = "Node".into();
        let (address, length) = (text.as_ptr() as u64, text.len() as u64);
        // SAFETY: two words, whichever they are.
        let words: [u64; 2] = unsafe { std::mem::transmute(text) };
        assert_eq!(words, [address, length]);
        // SAFETY: the same text.
        drop(unsafe { std::mem::transmute::<[u64; 2], Box<str>>(words) });
    }
}
