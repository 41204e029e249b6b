//! Cells on their way back: many deaths in a row are in one block, whose entry is changed once for all of them.
//!
//! Filled by `reclaim` and by the trials of `tally-collector`. Its owner empties it before other code may look at the
//! block's entry.

use super::CellSpace;
use super::cells::{entry, link};
use crate::memory::block_state::state;
use crate::memory::range::{BLOCK_BYTES, block_of};
use crate::object::{HEADER_BYTES, ObjectRef};

/// The free cells of one block, while it has more to come.
/// While there is a bin with something in it, its block's entry is out of date.
#[derive(Debug, Default)]
pub struct Bin {
    /// Where the block begins; 0 = there is none.
    start: u64,
    /// Payload of its first free cell.
    first: u64,
    used: u32,
}

impl Bin {
    /// Takes the cell of a dead object.
    #[inline(always)]
    pub fn take(&mut self, cells: &mut CellSpace, object: ObjectRef) {
        *self = std::mem::take(self).with(cells, object);
    }

    /// The bin with the cell of a dead object; by value, so that a loop has it in registers.
    #[inline(always)]
    pub(super) fn with(mut self, cells: &mut CellSpace, object: ObjectRef) -> Bin {
        let payload = object.address();
        let start = (payload - HEADER_BYTES) & !(BLOCK_BYTES - 1);
        if start != self.start {
            self = self.change_block(cells, start);
        }
        link(payload, self.first);
        self.first = payload;
        self.used -= 1;
        if self.used == 0 {
            self.empty();
            cells.block_is_free(block_of(start));
        }
        self
    }

    #[inline(always)]
    fn change_block(mut self, cells: &mut CellSpace, start: u64) -> Bin {
        self.empty();
        let entry = entry(block_of(start));
        debug_assert!(entry.state.get() == state::CELLS && entry.used.get() > 0);
        let first = if entry.free.get() == 0 { 0 } else { start + entry.free.get() as u64 * 8 };
        if !entry.listed.get() {
            cells.block_has_room(block_of(start));
        }
        Bin { start, first, used: entry.used.get().into() }
    }

    /// Brings the block's entry up to date.
    #[inline(always)]
    pub fn empty(&mut self) {
        if self.start != 0 {
            let entry = entry(block_of(self.start));
            entry.free.set(((self.first & (BLOCK_BYTES - 1)) / 8) as u16);
            entry.used.set(self.used as u16);
            self.start = 0;
        }
    }
}

impl CellSpace {
    /// Frees a block whose `dead` dead objects are all it holds, without a look at its cells; false if it holds more.
    ///
    /// # Safety
    /// The block is one of this heap, and the program refers to nothing in it.
    pub unsafe fn free_whole(&mut self, block: u32, dead: u32) -> bool {
        let entry = entry(block);
        if entry.state.get() != state::CELLS || u32::from(entry.used.get()) != dead || dead == 0 {
            return false;
        }
        entry.free.set(0);
        entry.used.set(0);
        self.block_is_free(block);
        true
    }
}
