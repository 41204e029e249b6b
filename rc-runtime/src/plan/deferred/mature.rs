//! Walking over the mature objects of a heap: over all of them, or in steps with the program running in between.

use crate::heap::Heap;
use crate::memory::heap_walk::{BLOCK_UNITS, HeapWalk, next_live};
use crate::memory::range::{BLOCK_BYTES, HEAP_BASE, block_start};
use crate::object::{HEADER_BYTES, ObjectRef, flag};

/// Where a walk in steps is: in the blocks of small objects, then among the large ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatureWalk {
    /// The place of the block in the list of those that the heap owns, which only grows.
    place: usize,
    /// Bytes of that block that the walk has behind it: an object ended there in `epoch`.
    done: u64,
    epoch: u32,
    large: HeapWalk,
}

impl MatureWalk {
    /// Where the first object may begin that the walk has not come to, in the block that begins at `start`.
    #[inline(always)]
    fn resume(&self, start: u64, epoch: u32) -> u64 {
        if self.epoch == epoch { start + self.done } else { self.resume_after_flip(start) }
    }

    /// Freed memory may have been allocated again, and its object promoted after the flip: an object may lie across the place, and
    /// only the block's start is known to be one's.
    #[cold]
    #[inline(never)]
    fn resume_after_flip(&self, start: u64) -> u64 {
        let place = start + self.done;
        let mut at = start;
        while at < place
            && let Some(object) = next_live(at, place)
            && object.address() - HEADER_BYTES < place
        {
            at = end_of_cell(object);
        }
        at.max(place)
    }
}

impl Heap {
    /// Goes on with a walk: calls `visit` with mature objects of one block, in address order, until it has answered
    /// `units` of work or more, or the block ends; or with one large object. The work, with that of coming to the place, or `None`
    /// when nothing is left.
    pub fn walk_mature(
        &mut self,
        walk: &mut MatureWalk,
        units: i64,
        mut visit: impl FnMut(&mut Heap, ObjectRef) -> i64,
    ) -> Option<i64> {
        let block = self.bump.blocks.owned.get(walk.place).copied();
        // One place calls `visit`, which is inlined there: with a large object the block is an empty one.
        let (start, end, mut large) = match block {
            Some(block) => (block_start(block), block_start(block) + BLOCK_BYTES, None),
            None => {
                let large = walk.large.next_large(&self.large)?;
                (HEAP_BASE, HEAP_BASE, large.filter(|&object| self.is_walked(object)))
            }
        };
        let (mut at, mut spent) = match block {
            Some(_) => (walk.resume(start, self.clock.epoch), BLOCK_UNITS),
            None => (end, 1),
        };
        let units = units.saturating_add(spent);
        while spent < units {
            let next = next_live(at, end);
            at = next.map_or(at, end_of_cell);
            let Some(object) = next.or_else(|| large.take()) else {
                if block.is_some() {
                    *walk = MatureWalk { place: walk.place + 1, large: walk.large, ..MatureWalk::default() };
                }
                return Some(spent);
            };
            spent += visit(self, object);
        }
        if block.is_some() {
            (walk.done, walk.epoch) = (at - start, self.clock.epoch);
        }
        Some(spent)
    }

    /// Dead large objects stay in the table under zeal.
    fn is_walked(&self, large: ObjectRef) -> bool {
        (large.is_mature() || self.marks_instead_of_counting()) && (self.zeal.is_none() || !large.has(flag::DEAD))
    }

    /// Calls `visit` with every mature object of the heap, large ones included.
    pub fn for_each_mature(&mut self, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        let mut walk = MatureWalk::default();
        let mut visit = |heap: &mut Heap, object| {
            visit(heap, object);
            1
        };
        while self.walk_mature(&mut walk, i64::MAX, &mut visit).is_some() {}
    }
}

#[inline(always)]
pub(in crate::plan::deferred) fn end_of_cell(object: ObjectRef) -> u64 {
    object.address() - HEADER_BYTES + object.type_info().cell_bytes_of(object)
}
