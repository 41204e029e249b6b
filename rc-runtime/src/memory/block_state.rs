//! What a block is used for, under both plans, and how its entries in the side tables are cleared when it goes back.

use crate::memory::range::{self, LIVE, UNLOGGED, block_start};

/// States of a block.
pub mod state {
    /// No hole worth using.
    pub const FULL: u8 = 0;
    /// Empty.
    pub(crate) const FREE: u8 = 1;
    /// Has holes, listed.
    pub(crate) const RECYCLABLE: u8 = 2;
    /// Allocated into since the last flip, or still to be swept after it.
    pub(crate) const TOUCHED: u8 = 3;
    /// Something died in it since it was swept.
    pub(crate) const FREED_INTO: u8 = 4;
    /// Part of a large object.
    pub const LARGE: u8 = 5;
    /// Cells of one size, under the prompt plan.
    pub(crate) const CELLS: u8 = 6;
}

/// Zeroes every table entry of a block.
///
/// # Safety
/// The block is the caller's, and holds nothing.
pub unsafe fn clear_tables(block: u32) {
    let (start, end) = (block_start(block), block_start(block + 1));
    // SAFETY: [OWNED] a block of this heap.
    unsafe { LIVE.clear_range(start, end) };
    // SAFETY: [OWNED] a block of this heap.
    unsafe { UNLOGGED.clear_range(start, end) };
    // SAFETY: [OWNED] a block of this heap.
    unsafe { range::MARK.clear_range(start, end) };
    // SAFETY: [OWNED] a block of this heap.
    unsafe { range::BUFFERED.clear_range(start, end) };
    // SAFETY: [OWNED] the block is the caller's; its counts and entry are mapped.
    unsafe {
        std::ptr::write_bytes(range::count_cell(start), 0, ((end - start) >> 4) as usize);
    }
    // SAFETY: [OWNED] the block is this heap's, and holds nothing.
    unsafe { range::clear_block_info(block) };
}
