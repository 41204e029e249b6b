//! A collection, as the heap's blocks, lists and counters see it.
//!
//! A heap of the deferred plan that marks instead of counting has the same ([`plan::deferred::marking`](crate::plan::deferred::marking)),
//! but its survivors stay young: the epoch goes on, and no object becomes mature.
//!
//! ```text
//!   begin_collection      areas of allocation are closed; every live bit is cleared
//!   survive(object)       the mark has come to it: its cell is live, it is mature
//!   sweep                 the holes of all blocks are found again; dead large objects are freed
//! ```

use crate::heap::{Heap, LAST_EPOCH};
use crate::memory::heap_walk::{HeapWalk, next_live};
use crate::memory::range::{BLOCK_BYTES, LIVE, MARK, block_start};
use crate::object::{HEADER_BYTES, ObjectRef, flag};

/// What a mark has reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct Survivors {
    /// Objects.
    pub objects: u64,
    /// Bytes of their cells.
    pub bytes: u64,
    /// How many of them are young: this is their first collection. Not counted where survivors stay young.
    pub young: u64,
    /// Survivors become mature.
    pub age: bool,
}

impl Heap {
    /// Begins a collection. Until [`sweep`](Self::sweep) no object is allocated.
    pub fn begin_collection(&mut self) {
        self.finish_taking_over();
        self.retire_allocation();
        self.leave_youth();
        if self.survivors_age() && self.clock.epoch < LAST_EPOCH {
            self.advance_stamp();
        }
        self.begin_mark();
        for &block in &self.bump.blocks.owned {
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.block_words(block) }.fill(0);
        }
    }

    /// What is allocated from now on has the stamp of another epoch.
    pub(in crate::plan) fn advance_stamp(&mut self) {
        self.clock.epoch += 1;
        self.context_mut().stamp = self.clock.epoch;
    }

    /// A mark begins, in one stop or in slices.
    pub(in crate::plan) fn begin_mark(&mut self) {
        self.statistics.marks += 1;
        self.end_holds_of_left_calls();
        self.services.specials.mark_begins();
        self.sample_for_cycles();
    }

    /// Notes that a marked object lives on, once: a small one when the mark comes to it, a large one in the sweep.
    #[inline(always)]
    pub fn survive(&mut self, object: ObjectRef, survivors: &mut Survivors) {
        let bytes = object.type_info().cell_bytes_of(object);
        if !object.has(flag::LARGE) {
            let cell = object.address() - HEADER_BYTES;
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.set_cell(cell, cell + bytes) };
        }
        survivors.objects += 1;
        survivors.bytes += bytes;
        if survivors.age && !object.is_mature() {
            survivors.young += 1;
            object.add_flags(flag::MATURE);
        }
    }

    /// Whether [`survive`](Self::survive) was called for a small object in this collection.
    #[inline(always)]
    pub fn has_survived(object: ObjectRef) -> bool {
        LIVE.get(object.granule())
    }

    /// Calls `visit` with every survivor so far, and perhaps with some that are added meanwhile; with a marked large
    /// object in any case.
    pub fn for_each_survivor(&mut self, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        for place in 0..self.bump.blocks.owned.len() {
            let start = block_start(self.bump.blocks.owned[place]);
            let mut at = start;
            while let Some(object) = next_live(at, start + BLOCK_BYTES) {
                at = object.address() - HEADER_BYTES + object.type_info().cell_bytes_of(object);
                // Where live bits are kept the dead have some, too.
                if MARK.get(object.granule()) {
                    visit(self, object);
                }
            }
        }
        let mut walk = HeapWalk::default();
        while let Some(found) = walk.next_large(&self.large) {
            if let Some(object) = found.filter(|object| MARK.get(object.granule())) {
                visit(self, object);
            }
        }
    }

    /// Ends a collection: memory between the cells of survivors is free. Returns how many objects died.
    pub fn sweep(&mut self, mut survivors: Survivors) -> u64 {
        let before = self.statistics.freed_objects();
        self.quarantine_unmarked();
        let small_bytes = survivors.bytes;
        self.sweep_large(&mut survivors);
        let large_bytes = survivors.bytes - small_bytes;
        self.bump.blocks.sweep_all();
        self.keep_hole_open();
        let allocated = (self.statistics.allocated_objects, self.statistics.allocated_bytes);
        self.count_survivors(survivors, large_bytes, allocated);
        self.clock.begin_epoch();
        self.judge_fragmentation(survivors.young);
        let freed = self.freed_since(before);
        self.clear_marks();
        freed
    }

    /// Objects that have died since so many had. In a heap that does not count what is allocated inline the difference may be less than none:
    /// then none is known of.
    pub fn freed_since(&self, before: u64) -> u64 {
        self.statistics.freed_objects().saturating_sub(before)
    }

    /// The survivors of a collection are all that is left of so many objects and bytes that were allocated; `large_bytes` are those
    /// of large ones.
    pub(in crate::plan) fn count_survivors(
        &mut self,
        survivors: Survivors,
        large_bytes: u64,
        (objects, bytes): (u64, u64),
    ) {
        self.large.mature_bytes = large_bytes;
        self.large.end_collection(!survivors.age);
        let counted = &mut self.statistics;
        counted.epochs += 1;
        counted.promoted_objects += survivors.young;
        let mut young = 0;
        match survivors.age {
            true => counted.freed_mature_objects = counted.promoted_objects - survivors.objects,
            // All that were mature have died, or are young again.
            false => young = survivors.objects,
        }
        counted.died_young_objects = objects.saturating_sub(counted.promoted_objects + young);
        (counted.live_objects, counted.live_bytes) = (survivors.objects, survivors.bytes);
        self.clock.allocated_bytes_at_flip = bytes;
    }

    /// Frees the unmarked large objects; the others survive.
    fn sweep_large(&mut self, survivors: &mut Survivors) {
        let mut walk = HeapWalk::default();
        while let Some(found) = walk.next_large(&self.large) {
            if let Some(object) = found {
                self.sweep_one_large(object, survivors);
            }
        }
    }

    pub(in crate::plan) fn sweep_one_large(&mut self, object: ObjectRef, survivors: &mut Survivors) {
        if self.is_new(object) {
            return;
        }
        match MARK.get(object.granule()) {
            true => self.survive(object, survivors),
            // Zeal keeps the dead.
            false if self.zeal.is_some() => {}
            false => self.free_large(object),
        }
    }

    /// Zeal: poisons the objects that the mark has not reached.
    pub(in crate::plan) fn quarantine_unmarked(&mut self) {
        let Some(mut zeal) = self.zeal.take() else { return };
        let dead = zeal.living().into_iter().filter(|&object| !MARK.get(object.granule()) && !self.is_new(object));
        for object in dead.collect::<Vec<_>>() {
            zeal.quarantine(object, object.type_info().cell_bytes_of(object), self.clock.epoch);
        }
        zeal.forget_young();
        self.zeal = Some(zeal);
    }
}
