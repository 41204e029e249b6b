//! The nursery: cells handed out since the last batch, and the blocks they lie in. `[CANDIDATE]`
//!
//! A fresh object is *settled*: no decrement of it is noted, so that compiled code never leaves its inline path for an object
//! that dies soon, nor for one that is being built. Instead all objects of the blocks in `young` are candidates together:
//! when enough was handed out, the driver judges them as one *batch* (`tally_collector::plan::prompt::batch`).
//!
//! ```text
//! settled, neither CANDIDATE nor ACYCLIC       young; its block is on the list, and says so in its entry
//! not settled                                  grown up: a decrement to non-zero makes it a candidate, but not that of a root
//! settled, CANDIDATE, bit in BUFFERED          a candidate
//! settled, CANDIDATE, no bit                   given up until the next mark
//! ```
//!
//! A free cell's count byte says settled, as its next object wants it. So a block whose list is taken over becomes young *again*,
//! with the old objects among its cells. Where only few cells are free this would not pay: those few are handed out grown up,
//! and listed (`alone`), since a root may release them before anything is judged: each is judged by itself with the batch.
//!
//! With a pause goal a batch takes a bounded number of blocks, those that are young for the longest time; the others are
//! old for as long as that is judged, and belong to the next. (While a mark proves, no batch is judged, and four
//! hundred blocks have been young afterwards.)
//!
//! A batch is judged with a walk of the stack. Where that is deep a batch is larger, so that the walks stay a part of the whole.
//!
//! Expected cost: two stores a block; a batch that is not judged one pass over the count bytes of its blocks, 2 KiB each.

use super::CellSpace;
use super::cells::entry;
use super::count::{FRESH, SETTLED};
use crate::memory::block_state::state;
use crate::memory::list::List;
use crate::memory::range::{BLOCK_BYTES, MARK, block_of, block_start, count_cell};
use crate::memory::size_class::{class_cell, first_payload};
use crate::object::{HEADER_BYTES, ObjectRef, prompt_flag};
use std::sync::atomic::Ordering;

/// Bytes of cells handed out that make a batch: with the tables beside them they fit the second-level cache of most processors.
pub(crate) const BATCH_BYTES: u64 = 512 << 10;
/// Bytes of cells that are a backlog, whose batches are judged with time for the program in between; and those that wait no longer.
const PILE_BYTES: u64 = 2 * BATCH_BYTES;
const PATIENCE_BYTES: u64 = 64 * BATCH_BYTES;
/// Bytes of cells handed out for each frame of the stack that the next batch walks: they cost ten times what a frame does.
const BYTES_PER_FRAME: u64 = 128;
/// A block with less than this part free is not young when its list is taken over.
const SPARSE: u64 = 4;

/// The blocks that are judged together.
#[derive(Debug)]
pub struct YoungBlocks {
    /// All that are young; those behind the first `judged` are not until [`end_batch`](CellSpace::end_batch).
    pub blocks: List<u32>,
    /// How many, from the first, are judged.
    pub judged: usize,
    /// About as many cells were handed out in those.
    pub cells: u64,
    /// So many members they have at most.
    pub members_max: u64,
}

/// The blocks of the next batch.
#[derive(Debug, Default)]
pub struct Nursery {
    blocks: List<u32>,
    /// Bytes of cells handed out since the last batch, and of large objects.
    bytes: u64,
    /// Cells handed out since the last batch, and, about, in blocks that it has left.
    pub cells: u64,
    /// No object is born young: without trials there is no batch.
    pub off: bool,
    /// Number of the batch, in its last bits.
    pub number: u16,
    /// Cells that were handed out grown up since the last batch, and their classes; some may be free again, or part of others.
    alone: List<(ObjectRef, u8)>,
    /// Bytes that make a batch where the stack is deep.
    deep: u64,
}

/// The cells of a block that have headers.
#[derive(Debug, Clone, Copy)]
pub struct Carved {
    /// Payload of the first.
    first: u64,
    /// Bytes from one to the next.
    cell: u64,
    /// How many.
    count: u64,
}

impl Nursery {
    /// Whether a batch is full.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.bytes >= BATCH_BYTES && self.bytes >= self.deep
    }

    /// Whether so much is young that it takes several batches, and not so much that these must not wait for the program.
    pub fn is_backlog(&self) -> bool {
        (PILE_BYTES.max(2 * self.deep)..PATIENCE_BYTES.max(4 * self.deep)).contains(&self.bytes)
    }

    /// A large object was allocated. No batch judges it, but large objects make rounds due as small ones do: for
    /// what it holds and what holds it, and since a mark is started by a round.
    pub(super) fn note_large(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// The stack was walked: so many frames and slots. The next batch is so large that another walk costs a small part of it.
    pub fn set_depth(&mut self, walked: u64) {
        self.deep = walked * BYTES_PER_FRAME;
    }

    /// Cells that were handed out grown up since the last batch; some may be free again, or part of others.
    pub fn alone(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.alone.iter().map(|&(cell, _)| cell)
    }
}

impl CellSpace {
    /// `new` cells of a block, linked from `first` on, are handed out; of `among` that are carved.
    #[inline(always)]
    pub(super) fn are_born(&mut self, block: u32, first: u64, new: u64, among: u64) {
        if self.born_marked {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { CellSpace::mark_list(first) };
        }
        let entry = entry(block);
        entry.age.set(self.nursery.number);
        self.nursery.bytes += new * class_cell(entry.class.get() as u32);
        if !entry.young.get() {
            if self.nursery.off || new * SPARSE < among {
                return self.born_grown_up(first);
            }
            entry.young.set(true);
            self.nursery.blocks.push(block);
        }
        self.nursery.cells += new;
    }

    /// Marks all cells that are linked from `first` on.
    ///
    /// # Safety
    /// The list is one of a heap of this thread, or null.
    #[cold]
    pub unsafe fn mark_list(first: u64) {
        for_each_linked(first, |cell| MARK.set(cell.granule()));
    }

    #[inline(never)]
    fn born_grown_up(&mut self, first: u64) {
        let class = entry(block_of(first)).class.get();
        for_each_linked(first, |cell| {
            cell.set_count(FRESH & !SETTLED);
            self.nursery.alone.push((cell, class));
        });
    }

    /// Objects that were handed out grown up since the last batch, and are left.
    pub fn take_alone(&mut self) -> List<ObjectRef> {
        let is_left = |&(cell, class): &(ObjectRef, u8)| {
            let entry = entry(cell.block());
            // SAFETY: [OWNED] a block of this heap.
            let end = unsafe { CellSpace::carved(cell.block()) }.end();
            let is_cell =
                entry.class.get() == class && entry.owner.load(Ordering::Relaxed) == self.owner && cell.address() < end;
            is_cell && cell.meta() != 0 && !cell.has(prompt_flag::DEAD)
        };
        let alone = std::mem::take(&mut self.nursery.alone);
        alone.into_iter().filter(is_left).map(|(cell, _)| cell).collect()
    }

    /// Whether the object lies in a block of the batch.
    #[inline(always)]
    pub fn is_young(object: ObjectRef) -> bool {
        entry(block_of(object.address())).young.get()
    }

    /// The batch in which cells of the object's block were handed out last, in 16 bits.
    #[inline(always)]
    pub fn age_of(object: ObjectRef) -> u16 {
        entry(block_of(object.address())).age.get()
    }

    /// Whether a block of the batch is judged now, with all that say so.
    ///
    /// # Safety
    /// The block was taken by a heap of this thread.
    pub unsafe fn set_young(block: u32, young: bool) {
        entry(block).young.set(young);
    }

    /// Begins a batch, of a bounded number of blocks or of all; [`end_batch`](Self::end_batch) must follow. Bounded, it has
    /// at least as many as the depth of the stack asks for.
    pub fn batch(&mut self, bounded: bool) -> YoungBlocks {
        let nursery = &mut self.nursery;
        nursery.number = nursery.number.wrapping_add(1);
        let blocks = std::mem::take(&mut nursery.blocks);
        let all = blocks.len().max(1) as u64;
        let for_depth = nursery.deep.saturating_mul(all) / nursery.bytes.max(1);
        let most = if bounded { for_depth.max(BATCH_BYTES / BLOCK_BYTES) as usize } else { usize::MAX };
        let judged = blocks.len().min(most);
        let rest = &blocks[judged..];
        // SAFETY: [OWNED] a block of this heap.
        rest.iter().for_each(|&block| unsafe { CellSpace::set_young(block, false) });
        let cells = nursery.cells;
        nursery.bytes = nursery.bytes * rest.len() as u64 / all;
        nursery.cells = cells * rest.len() as u64 / all;
        let members_max = match rest.is_empty() {
            true => cells,
            // SAFETY: [OWNED] a block of this heap.
            false => blocks[..judged].iter().map(|&block| unsafe { CellSpace::carved(block) }.count).sum(),
        };
        YoungBlocks { cells: cells - nursery.cells, members_max, judged, blocks }
    }

    /// The survivors of the blocks that were judged have grown up. The cells left of those on the context's `lists` are born
    /// into the next batch, to which the other blocks belong.
    pub fn end_batch(&mut self, young: YoungBlocks, lists: &[u64]) {
        let YoungBlocks { mut blocks, judged, .. } = young;
        let rest = &blocks[judged..];
        let is_left = |first: &u64| *first != 0 && !rest.contains(&block_of(*first));
        let (left, alone): (List<u64>, List<u64>) =
            lists.iter().copied().filter(is_left).partition(|&first| entry(block_of(first)).young.get());
        for first in alone {
            let class = entry(block_of(first)).class.get();
            for_each_linked(first, |cell| self.nursery.alone.push((cell, class)));
        }
        // SAFETY: [OWNED] a block of this heap.
        rest.iter().for_each(|&block| unsafe { CellSpace::set_young(block, true) });
        blocks.drain(..judged).for_each(|block| entry(block).young.set(false));
        self.nursery.blocks = blocks;
        for first in left {
            for_each_linked(first, |cell| cell.set_count(FRESH));
            let block = block_of(first);
            entry(block).young.set(true);
            self.nursery.blocks.push(block);
        }
    }

    /// All objects of a block grow up. Its free cells stay as they are, but those on the context's lists.
    ///
    /// # Safety
    /// The block was taken by a heap of this thread.
    pub unsafe fn grow_up(block: u32) {
        let entry = entry(block);
        if entry.state.get() == state::CELLS && entry.used.get() == entry.carved.get() {
            // SAFETY: [OWNED] the bytes behind this heap's block.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(count_cell(block_start(block)), BLOCK_BYTES as usize / 16) };
            return bytes.iter_mut().for_each(|byte| *byte &= !SETTLED);
        }
        // SAFETY: [OWNED] a block of this heap.
        unsafe { CellSpace::carved(block) }.cells().filter(|cell| cell.meta() != 0).for_each(ObjectRef::unsettle);
    }

    /// Where a block's cells lie; none if it is no block of cells.
    ///
    /// # Safety
    /// The block was taken by a heap of this thread.
    pub unsafe fn carved(block: u32) -> Carved {
        let entry = entry(block);
        let (count, class) =
            if entry.state.get() == state::CELLS { (entry.carved.get(), entry.class.get() as u32) } else { (0, 0) };
        Carved { first: block_start(block) + first_payload(class), cell: class_cell(class), count: count as u64 }
    }
}

fn for_each_linked(first: u64, mut visit: impl FnMut(ObjectRef)) {
    let mut cell = first;
    while cell != 0 {
        // SAFETY: [FREE] a free cell; its payload word is the next one.
        let free = unsafe { ObjectRef::from_address(cell) };
        visit(free);
        cell = free.slot(0).read();
    }
}

impl Carved {
    /// Where the last one ends; 0 if there is none.
    #[inline(always)]
    pub fn end(self) -> u64 {
        if self.count == 0 { 0 } else { self.first + self.count * self.cell }
    }

    /// Every cell in address order; those with a meta of 0 are free.
    #[inline(always)]
    pub fn cells(self) -> impl Iterator<Item = ObjectRef> {
        debug_assert!(self.cell >= HEADER_BYTES);
        // SAFETY: [FREE] carved cells have headers; a meta of 0 says free, and then it is not used as an object.
        (0..self.count).map(move |index| unsafe { ObjectRef::from_address(self.first + index * self.cell) })
    }
}
