//! Walking over a heap place by place: its blocks of small objects, then the table of its large ones. `[BOUND]`
//!
//! The program runs between two places. A list of blocks only grows meanwhile, and the table keeps its places.

use crate::memory::large::LargeSpace;
use crate::memory::range::{self, LIVE, MARK, NEXT_LIVE};
use crate::object::{HEADER_BYTES, ObjectRef};

/// Units of work of a block, whatever lies in it.
pub const BLOCK_UNITS: i64 = 32;
/// Bytes between an object that a walk comes to and what it asks for meanwhile.
const WALKED_AHEAD: u64 = 512;
/// Vacant places of the table that one step passes, at most.
const VACANT_MAX: usize = 64;

/// Where a walk is: the next block, then the next place of the table.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeapWalk {
    block_at: usize,
    large_at: usize,
}

/// What a step of a walk comes to.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A block of small objects.
    Block(u32),
    /// A large object.
    Large(ObjectRef),
    /// Some places of the table without objects.
    Vacant,
}

impl HeapWalk {
    /// The next place of `blocks` and `large`; `None` when all were visited.
    #[inline(always)]
    pub fn next(&mut self, blocks: &[u32], large: &LargeSpace) -> Option<Place> {
        if let Some(&block) = blocks.get(self.block_at) {
            self.block_at += 1;
            return Some(Place::Block(block));
        }
        self.next_large(large).map(|object| object.map_or(Place::Vacant, Place::Large))
    }

    /// The next of the large objects: none in the places that were passed; `None` when all were visited.
    pub(crate) fn next_large(&mut self, large: &LargeSpace) -> Option<Option<ObjectRef>> {
        let from = self.large_at;
        let end = large.places().min(from + VACANT_MAX);
        let found = (from..end).find_map(|place| Some((place, large.at(place)?)));
        self.large_at = found.map_or(end, |(place, _)| place + 1);
        (from < end).then_some(found.map(|(_, object)| object))
    }
}

impl Place {
    /// Clears the marks of the objects there.
    ///
    /// # Safety
    /// It is a place of a heap of this thread.
    pub unsafe fn clear_marks(self) {
        match self {
            // SAFETY: by the caller's promise.
            Place::Block(block) => unsafe { MARK.block_words(block) }.fill(0),
            Place::Large(object) => MARK.clear(object.granule()),
            Place::Vacant => {}
        }
    }
}

/// The first object of a block that has live bits and whose cell begins at `at` or behind; `at` lies in none. None, and nothing is
/// read, if `at` is not before `end`.
#[inline(always)]
pub(crate) fn next_live(at: u64, end: u64) -> Option<ObjectRef> {
    // SAFETY: [OWNED] a block of this heap.
    let cell = unsafe { LIVE.next_in_block(at, end) }?;
    range::prefetch(cell + WALKED_AHEAD);
    // SAFETY: [HEADER] a live bit at a cell's start is an object's.
    Some(unsafe { ObjectRef::from_address(cell + HEADER_BYTES) })
}

/// The same with the live bits of the next sweep.
#[inline(always)]
pub(crate) fn next_survivor(at: u64, end: u64) -> Option<ObjectRef> {
    // SAFETY: [OWNED] a block of this heap.
    let cell = unsafe { NEXT_LIVE.next_in_block(at, end) }?;
    // SAFETY: [HEADER] such a bit at a cell's start is an object's.
    Some(unsafe { ObjectRef::from_address(cell + HEADER_BYTES) })
}
