//! The objects of a trial: which may be followed, which judged, and the trial table's notes on each.

use tally_heap::memory::block_state::state;
use tally_heap::memory::list::List;
use tally_heap::memory::range::{block_info, prefetch_count, trial_cell};
use tally_heap::object::flag;
use tally_heap::{Heap, ObjectRef};

/// Which objects a trial may follow.
pub(super) struct Cohort {
    /// The candidate's block.
    pub(super) home: u32,
    /// Its age.
    pub(super) age: u32,
    /// It is the whole heap.
    pub(super) all: bool,
}

impl Cohort {
    /// Whether the target's block is as old as the candidate's; large objects are in no cohort. Told from the block
    /// table alone, because most references that leave a ring lead to cold memory.
    #[inline(always)]
    pub(super) fn has(&self, target: ObjectRef) -> bool {
        let block = target.block();
        if block == self.home {
            return true;
        }
        // SAFETY: [OWNED] the block of an object of this heap.
        let info = unsafe { &*block_info(block) };
        info.state.get() != state::LARGE && (self.all || info.age.get() == self.age)
    }
}

/// In the trial table: 0 is no node, others are one more than the references to it from inside the subgraph, and this
/// is a node that something outside holds.
pub(super) const LIVE: u8 = 255;
/// Counts beyond this are not judged: the table could not hold them.
pub(super) const COUNT_MAX: u8 = 253;

/// Clean, counted, alive: its count belongs to the words of the last flip.
pub(super) fn may_be_judged(object: ObjectRef) -> bool {
    let count = object.count();
    object.stamp() == 0 && count != 0 && count <= COUNT_MAX && !object.has(flag::DEAD)
}

pub(super) fn cell_of(object: ObjectRef) -> u8 {
    // SAFETY: the trial table of the reserved range is mapped.
    unsafe { *trial_cell(object.address()) }
}

pub(super) fn set_cell(object: ObjectRef, cell: u8) {
    // SAFETY: [MAPPED] the trial table of the reserved range is mapped.
    unsafe { *trial_cell(object.address()) = cell }
}

/// Pushes unless that would take memory; false then.
pub(super) fn push_within(list: &mut List<ObjectRef>, object: ObjectRef) -> bool {
    let has_room = list.len() < list.capacity();
    if has_room {
        // SAFETY: just looked.
        unsafe { list.push_within(object) };
    }
    has_room
}

/// A reference from a dead cycle to a survivor goes away; whether that leaves a doubt. The survivor becomes no candidate:
/// rings that hang on a large live heap would make all of that a candidate, ring after ring. (As a suspect each, rings
/// that die old started a mark of the live heap, which was in vain and a fifth of the run.)
pub(super) fn release_survivor(heap: &mut Heap, target: ObjectRef) -> bool {
    if heap.mark_phase().is_shown_references() {
        heap.show_to_mark(target);
    }
    heap.decrement_only(target)
}

/// Asks for the headers of candidates whose turn comes soon, and for the counts of what those with the next turns refer
/// to: most are not in the cache.
#[inline(always)]
pub(super) fn prefetch_next(heap: &Heap) {
    if let [.., far, _, _, _, near, _, _, _] = heap.candidates[..]
        && heap.owns(near)
    {
        far.prefetch();
        // Two words of this heap, whatever they mean by now.
        prefetch_count(near.slot(0).read());
        prefetch_count(near.slot(8).read());
    }
}

/// Whether a candidate can be no part of a garbage cycle, or no longer.
pub(super) fn is_out_of_question(candidate: ObjectRef) -> bool {
    candidate.count() == 0
        || candidate.has(flag::DEAD | flag::ROOTED | flag::IMMORTAL)
        || !candidate.type_info().may_be_cyclic
}
