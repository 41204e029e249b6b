//! Cells on their way back: many deaths in a row are in one block, whose entry is changed once for all of them.
//!
//! Filled by `reclaim` and by the trials of `cycle-detector`. Whoever has one empties it before anybody else may look at the
//! block's entry.

use super::CellSpace;
use super::cells::{entry, link};
use crate::block::state;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::range::{BLOCK_BYTES, block_of, block_start};

/// The free cells of one block, while it has more to come.
/// While there is a bin with something in it, its block's entry is out of date.
#[derive(Debug)]
pub struct Bin {
    block: u32,
    used: u16,
    first: u64,
}

impl Default for Bin {
    fn default() -> Self {
        Bin { block: u32::MAX, used: 0, first: 0 }
    }
}

impl Bin {
    /// Takes the cell of a dead object.
    #[inline(always)]
    pub fn take(&mut self, cells: &mut CellSpace, object: ObjectRef) {
        let payload = object.address();
        let block = block_of(payload - HEADER_BYTES);
        if block != self.block {
            self.change_block(block);
        }
        let next = std::mem::replace(&mut self.first, payload);
        link(payload, next);
        self.used -= 1;
        if next == 0 || self.used == 0 {
            self.empty();
            cells.block_has_room(block);
        }
    }

    #[inline(never)]
    fn change_block(&mut self, block: u32) {
        self.empty();
        let entry = entry(block);
        debug_assert!(entry.state == state::CELLS && entry.used > 0);
        let first = if entry.free == 0 { 0 } else { block_start(block) + entry.free as u64 * 8 };
        *self = Bin { block, used: entry.used, first };
    }

    /// Brings the block's entry up to date.
    #[inline(always)]
    pub fn empty(&mut self) {
        if self.block != u32::MAX {
            let entry = entry(self.block);
            (entry.free, entry.used) = (((self.first & (BLOCK_BYTES - 1)) / 8) as u16, self.used);
            self.block = u32::MAX;
        }
    }
}

impl CellSpace {
    /// Frees a block whose `dead` dead objects are all it holds, without a look at its cells; false if it holds more.
    pub fn free_whole(&mut self, block: u32, dead: u32) -> bool {
        let entry = entry(block);
        if entry.state != state::CELLS || u32::from(entry.used) != dead || dead == 0 {
            return false;
        }
        (entry.free, entry.used) = (0, 0);
        self.block_has_room(block);
        true
    }
}
