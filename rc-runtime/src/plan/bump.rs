//! What the plans share that allocate by bumping a cursor, the deferred and the trace plan: blocks with holes, the room for a
//! cell, and safepoints at which the collector has its turn.
//!
//! Young objects are on no list and have no bit; a sweep finds holes between the live bits of older ones. Which objects have
//! live bits, and when, is the plan's own business.

pub mod block;
pub mod collection;
mod resize;
mod retire;
mod room;
mod safepoint;

use crate::memory::range::UNLOGGED;
use crate::object::{HEADER_BYTES, ObjectRef};
use block::fragments::Fragments;
use block::{BlockSpace, Hole};

/// Where the small objects of a heap lie, and where the next one goes.
#[derive(Debug)]
pub struct BumpSpace {
    /// The blocks.
    pub blocks: BlockSpace,
    /// The hole in which compiled code allocates, and the part of it whose objects were not counted yet.
    pub(in crate::plan) hole: Hole,
    pub(in crate::plan) hole_start: u64,
    /// Where objects go that do not fit there.
    pub(in crate::plan) fragments: Fragments,
    /// Of what was allocated in the last epoch that has ended, most died young.
    pub(in crate::plan) young_leave_room: bool,
}

impl BumpSpace {
    /// Of the heap with that number. Zeal reuses no memory.
    pub(crate) fn new(owner: u32, zeal: bool) -> BumpSpace {
        let mut blocks = BlockSpace::default();
        (blocks.owner, blocks.quarantine) = (owner, zeal);
        BumpSpace { blocks, hole: Hole::NONE, hole_start: 0, fragments: Fragments::default(), young_leave_room: false }
    }
}

/// A small object with a cell of `cell` bytes is logged, shown or young: its slots may be written to.
#[inline(always)]
pub(in crate::plan) fn clear_unlogged(object: ObjectRef, cell: u64) {
    // SAFETY: [OWNED] a block of this heap.
    unsafe { UNLOGGED.clear_touched(object.address(), object.address() + cell - HEADER_BYTES) };
}
