//! Weak maps: from objects to objects, by identity, whose entries go with their keys, with their values, or with either.
//!
//! ```text
//!   map ──► directory ──► segment ──► bucket ──► entry     one of the three below; where an entry stands: `weak_map/table.rs`
//! ```
//!
//! | mode | entry | goes |
//! |---|---|---|
//! | weak keys | an ephemeron; its key needs no link and no record (`special/member.rs`) | when the memory of its key goes: after the key's finalizer |
//! | weak values | counts its key, refers weakly to its value, which needs none either (`special/bond.rs`) | when the reclaim of its value begins: before the value's finalizer |
//! | both | refers weakly to both, in the same way | with whichever is first |
//!
//! An entry that has lost one side is dead: it is passed over, its place is used again, and a bucket that fills up is
//! made anew without such. So the time of all operations together is linear in their number, and none takes long. Objects never move: the
//! hash is the address. Keys and values outside the heap never go away. What a map knows of its dead entries stands
//! with the heap's records, by the map's number, since an entry may outlive its map.
//!
//! Code that looks up a key holds it, and by that its value ([`crate::services::ephemeron`]).

mod entries;
pub(crate) mod keys;
pub(crate) mod sides;
mod table;

use crate::object::{HEADER_BYTES, ObjectRef, Slot};

/// What goes with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WeakMode {
    /// An entry lives as long as its key.
    Keys = 1,
    /// An entry lives as long as its value.
    Values = 2,
    /// An entry lives as long as both.
    Both = 3,
}

/// Live entries for each bucket, when the next one is split.
pub const ENTRIES_PER_BUCKET: u64 = 256;

const NUMBER: u64 = 8;
const MODE: u64 = 16;
/// Of a dying map: so far its keys are keys no more. A position, as `weak_map_next` has it.
const DONE: u64 = 40;
/// No entry before that place is alive. A position, which an entry that becomes alive makes 0: so whoever removes the first one again and
/// again does not pass all that were removed.
const FIRST: u64 = 64;
/// Cell of an entry.
const ENTRY_CELL: u64 = HEADER_BYTES + 16;
/// The same, and two words of a bucket: that is two to four fifths full.
const ENTRY_BYTES: u64 = ENTRY_CELL + 2 * 8;

impl WeakMode {
    /// The mode with that number.
    pub fn of(number: u32) -> Option<WeakMode> {
        [WeakMode::Keys, WeakMode::Values, WeakMode::Both].into_iter().find(|&mode| mode as u32 == number)
    }

    /// Where key and value of an entry stand: a counted one first.
    #[inline(always)]
    fn offsets(self) -> (u64, u64) {
        if self == WeakMode::Keys { (8, 0) } else { (0, 8) }
    }

    #[inline(always)]
    fn of_map(map: ObjectRef) -> WeakMode {
        match map.slot(MODE).read() {
            1 => WeakMode::Keys,
            2 => WeakMode::Values,
            _ => WeakMode::Both,
        }
    }
}

/// An entry, and how it is read.
#[derive(Clone, Copy)]
struct Entry {
    object: ObjectRef,
    mode: WeakMode,
}

impl Entry {
    fn key(self) -> Slot {
        self.object.slot(self.mode.offsets().0)
    }

    fn value(self) -> Slot {
        self.object.slot(self.mode.offsets().1)
    }

    fn is_dead(self) -> bool {
        (self.mode != WeakMode::Values && self.key().read() == 0)
            || (self.mode != WeakMode::Keys && self.value().read() == 0)
    }
}

/// The object that a word refers to: not null, and not outside the heap.
///
/// # Safety
/// A word in the heap range is an object's address. `[HEADER]`
pub unsafe fn object_of(word: u64) -> Option<ObjectRef> {
    // SAFETY: [HEADER] the callers' words are references, or point outside the heap.
    unsafe { ObjectRef::of_word(word) }
}
