//! A heap of the deferred plan that is small marks instead of counting.
//!
//! While a mark of all that lives is a short stop, nothing is promoted: every object stays young, so that no write is
//! logged, nothing is counted, and an epoch ends with a collection as the trace plan has it
//! ([`plan::trace`](crate::plan::trace)). The rules of that plan hold meanwhile ([`Heap::regime`]); compiled code is
//! that of the deferred plan, whose barrier finds no bit set. The driver decides when (`tally-collector`).
//!
//! ```text
//!             begin_counting: all objects are young, as if allocated since the last flip; a flip follows
//!   marking ────────────────────────────────────────────────────────────────────────────────────────► counting
//!           ◄────────────────────────────────────────────────────────────────────────────────────────
//!             begin_marking: between two epochs; counts, logs and bits are forgotten; a collection follows
//! ```
//!
//! | of the heap | marking | counting |
//! |---|---|---|
//! | objects | young, stamped with the epoch, which goes on | mature, or young since the last flip |
//! | live bits | of survivors, built anew by each collection | of mature objects |
//! | unlogged bits, counts | none | of mature objects |
//! | blocks | swept by the collection | touched: the flip arms them, and the sweep behind it finds their holes |
//! | held by the runtime | listed (`trace::Trace`) | by a count each |
//! | with finalizers, special | listed | young ones listed, with all others known by their headers and records |
//! | statistics | all that were promoted are freed: as many died mature, or are young again | |
//!
//! Both ways cost some instructions for each block, large object, and object that the runtime holds. `[BOUND]`

use crate::heap::Heap;
use crate::memory::block_state::state;
use crate::memory::range::{self, BLOCK_BYTES, BUFFERED, LIVE, UNLOGGED, block_info, block_start};
use crate::object::flag;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::plan::bump::block::BlockSpace;

impl Heap {
    /// From now on the heap counts: all objects are young. A flip must follow before the program goes on. A mark may
    /// have been given up halfway.
    pub fn begin_counting(&mut self) {
        self.leave_mark();
        self.bump.blocks.leave_lists();
        let objects = self.large.young.iter();
        objects.for_each(|object| BUFFERED.clear(object.granule()));

        self.services.specials.young = std::mem::take(&mut self.trace.special);
        self.services.finalizers.swap_young(&mut self.trace.finalizable);
        self.large.mature_bytes = 0;
        (self.statistics.live_objects, self.statistics.live_bytes) = (0, 0);
        self.set_marks_instead_of_counting(false);
        self.count_held();
    }

    /// A heap that marks goes on under other rules: all objects are as if allocated since the last flip or collection.
    pub(in crate::plan::deferred) fn leave_mark(&mut self) {
        debug_assert!(self.marks_instead_of_counting());
        self.retire_allocation();
        self.end_holds_of_left_calls();
        self.clear_marks();
        self.bump.blocks.touch_all();
    }

    /// From now on the heap marks: all objects are young. A collection must follow before the program goes on. The passes of
    /// the last flip are done, no mark runs, nothing waits for its death, and the runtime calls no function of the
    /// program.
    pub fn begin_marking(&mut self) {
        self.large.make_young(self.clock.epoch);
        self.forget_epochs();
        self.bump.blocks.forget_counts();
        self.statistics.promoted_objects = self.statistics.freed_mature_objects;
        self.for_each_mature(|heap, object| heap.make_young(object));
    }

    /// The rules of marks hold from here on. What epochs have noted is forgotten, but for counts and bits of the barrier; lists have young
    /// objects alone.
    pub(in crate::plan::deferred) fn forget_epochs(&mut self) {
        debug_assert!(!self.deferred.counting && self.services.finalizers.depth() == 0);
        self.retire_allocation();
        while self.deferred.log.drop_chunk() {}
        for object in std::mem::take(&mut self.deferred.late_queue) {
            // It is dead, and what it refers to may be gone: no walk is to come to it.
            if !object.has(flag::LARGE) {
                let cell = object.address() - HEADER_BYTES;
                // SAFETY: [OWNED] a block of this heap.
                unsafe { LIVE.clear_cell(cell, cell + object.type_info().cell_bytes_of(object)) };
            }
        }
        self.deferred.promotion_queue.clear();
        self.candidates.clear();
        self.suspects = 0;
        self.bump.blocks.forget_candidates();
        // The marks of the last backup mark.
        self.clear_marks();

        self.set_marks_instead_of_counting(true);
        self.services.specials.upgraded.clear();
        self.services.finalizers.done.clear();
        let immortals = &mut self.services.immortals;
        immortals.new.append(&mut immortals.counted);
        immortals.released.clear();
        std::mem::take(&mut self.services.specials.young).into_iter().for_each(|object| self.list_special(object));
        self.services.finalizers.swap_young(&mut self.trace.finalizable);
    }

    fn make_young(&mut self, object: ObjectRef) {
        if object.is_mature() {
            self.list_mature(object);
            self.make_survivor_young(object);
        }
    }

    /// What the runtime holds has a count for each hold.
    fn count_held(&mut self) {
        let mut held = std::mem::take(&mut self.trace.held);
        // One that a call holds stands on both lists, and is let go of once.
        held.retain(|object| !self.services.finalizers.held_beside_lists().any(|other| other == *object));
        held.extend(self.services.finalizers.held());
        for &object in &held {
            object.remove_flags(flag::FOUND);
            self.increment(object);
        }
        held.clear();
        self.trace.held = held;
    }
}

impl BlockSpace {
    /// All blocks that hold objects are as if allocated into since the last flip, and their objects young. No block is current: without
    /// live bits its objects would look like a hole.
    pub(in crate::plan::deferred) fn touch_all(&mut self) {
        self.leave_current();
        self.touched.clear();
        for &block in &self.owned {
            // SAFETY: [OWNED] this heap owns the block.
            let info = unsafe { &*block_info(block) };
            if info.state.get() == state::FREE {
                continue;
            }
            info.state.set(state::TOUCHED);
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { LIVE.block_words(block) }.fill(0);
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { UNLOGGED.block_words(block) }.fill(0);
            self.touched.push(block);
        }
    }

    /// No object is a candidate, and no write is logged.
    fn forget_candidates(&mut self) {
        self.logged.clear();
        for &block in &self.owned {
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { (*block_info(block)).logged.set(0) };
        }
        self.leave_lists();
    }

    /// No object is on a list that has each once.
    fn leave_lists(&self) {
        for &block in &self.owned {
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { BUFFERED.block_words(block) }.fill(0);
        }
    }

    /// No object has a count, and none is armed.
    fn forget_counts(&self) {
        for &block in &self.owned {
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { UNLOGGED.block_words(block) }.fill(0);
            // SAFETY: [OWNED] this heap owns the block.
            unsafe { clear_counts(block) };
        }
    }
}

/// No object of the block has a count.
///
/// # Safety
/// It is a block of a heap of this thread.
pub(in crate::plan::deferred) unsafe fn clear_counts(block: u32) {
    // SAFETY: by the caller's promise, and the counts of such a block are mapped.
    unsafe { std::ptr::write_bytes(range::count_cell(block_start(block)), 0, BLOCK_BYTES as usize / 16) };
}
