//! Walking over the mature objects of a heap: over all of them, or in steps with the program running in between.

use crate::heap::Heap;
use crate::memory::block_state::state;
use crate::memory::range::{BLOCK_BYTES, LIVE, block_info, block_start};
use crate::object::{HEADER_BYTES, ObjectRef, flag};

/// Where a walk in steps is, in the blocks of small objects.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockWalk {
    /// The place of the block in the list of those that the heap owns, which only grows.
    place: usize,
    /// Bytes of that block that the walk has behind it: an object ended there in `epoch`.
    done: u64,
    epoch: u32,
}

impl BlockWalk {
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
            && let Some(object) = next_mature(at, place)
            && object.address() - HEADER_BYTES < place
        {
            at = end_of_cell(object);
        }
        at.max(place)
    }
}

impl Heap {
    /// Goes on with a walk: calls `visit` with mature objects of one block, in address order, until it has answered
    /// `units` of work or more, or the block ends. The work, or `None` when no block is left.
    pub fn walk_mature(
        &mut self,
        walk: &mut BlockWalk,
        units: i64,
        mut visit: impl FnMut(&mut Heap, ObjectRef) -> i64,
    ) -> Option<i64> {
        let &block = self.deferred.blocks.owned.get(walk.place)?;
        let (start, end) = (block_start(block), block_start(block) + BLOCK_BYTES);
        let mut at = walk.resume(start, self.clock.epoch);
        let mut spent = 0;
        while spent < units {
            let Some(object) = next_mature(at, end) else {
                *walk = BlockWalk { place: walk.place + 1, ..BlockWalk::default() };
                return Some(spent);
            };
            at = end_of_cell(object);
            spent += visit(self, object);
        }
        (walk.done, walk.epoch) = (at - start, self.clock.epoch);
        Some(spent)
    }

    /// Calls `visit` with every mature object of the heap, large ones included.
    pub fn for_each_mature(&mut self, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        for place in 0..self.deferred.blocks.owned.len() {
            let block = self.deferred.blocks.owned[place];
            // SAFETY: this heap's block.
            debug_assert_ne!(unsafe { (*block_info(block)).state.get() }, state::LARGE);
            let (mut at, end) = (block_start(block), block_start(block) + BLOCK_BYTES);
            while let Some(object) = next_mature(at, end) {
                at = end_of_cell(object);
                visit(self, object);
            }
        }
        for place in 0..self.large.places() {
            if let Some(object) = self.large.at(place)
                && object.is_mature()
                && (self.zeal.is_none() || !object.has(flag::DEAD))
            {
                visit(self, object);
            }
        }
    }
}

/// The first mature object of a block whose cell begins at `at` or behind; `at` lies in none.
#[inline(always)]
pub(crate) fn next_mature(at: u64, end: u64) -> Option<ObjectRef> {
    // SAFETY: a block of this heap.
    let cell = unsafe { LIVE.next_in_block(at, end) }?;
    // SAFETY: [HEADER] a live bit at a cell's start is a mature object's.
    Some(unsafe { ObjectRef::from_address(cell + HEADER_BYTES) })
}

#[inline(always)]
fn end_of_cell(object: ObjectRef) -> u64 {
    object.address() - HEADER_BYTES + object.type_info().cell_bytes_of(object)
}
