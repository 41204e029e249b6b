//! A collection, as the heap's blocks, lists and counters see it.
//!
//! A heap of the deferred plan that marks instead of counting has the same ([`plan::deferred::marking`](crate::plan::deferred::marking)),
//! but its survivors stay young: the epoch goes on, and no object becomes mature.
//!
//! ```text
//!   begin_collection      areas of allocation are closed
//!   survive(object)       the mark has come to it: its cell will be live, it is mature
//!   sweep                 the live bits of all blocks are replaced, their holes found again; dead large objects are freed
//! ```

use crate::heap::{Heap, LAST_EPOCH};
use crate::memory::heap_walk::{HeapWalk, next_survivor};
use crate::memory::range::{BLOCK_BYTES, MARK, NEXT_LIVE, block_start};
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
    /// Begins a collection. Until [`sweep`](Self::sweep) no object is allocated, unless the mark goes in slices (`sliced`).
    pub fn begin_collection(&mut self) {
        self.retire_allocation();
        if self.survivors_age() && self.clock.epoch < LAST_EPOCH {
            self.clock.epoch += 1;
            self.context_mut().stamp = self.clock.epoch;
        }
        self.statistics.marks += 1;
        self.end_holds_of_left_calls();
        self.services.specials.mark_begins();
        self.bump.blocks.has_next_live = true;
    }

    /// Notes that a marked object lives on, once: a small one when the mark comes to it, a large one in the sweep.
    #[inline(always)]
    pub fn survive(&mut self, object: ObjectRef, survivors: &mut Survivors) {
        let bytes = object.type_info().cell_bytes_of(object);
        if !object.has(flag::LARGE) {
            let cell = object.address() - HEADER_BYTES;
            // SAFETY: [OWNED] a block of this heap.
            unsafe { NEXT_LIVE.set_cell(cell, cell + bytes) };
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
        NEXT_LIVE.get(object.granule())
    }

    /// Calls `visit` with every survivor so far, and perhaps with some that are added meanwhile; with a marked large
    /// object in any case.
    pub fn for_each_survivor(&mut self, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        for place in 0..self.bump.blocks.owned.len() {
            let start = block_start(self.bump.blocks.owned[place]);
            let mut at = start;
            while let Some(object) = next_survivor(at, start + BLOCK_BYTES) {
                at = object.address() - HEADER_BYTES + object.type_info().cell_bytes_of(object);
                visit(self, object);
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
        let born = self.add_born(&mut survivors);
        self.sweep_large(&mut survivors);
        let new = self.bump.blocks.sweep_all();
        self.bump.aged_bytes = aged_bytes(new, born, self.clock.given_bytes);
        self.bump.floating_bytes = new.saturating_sub(self.bump.aged_bytes).min(born);
        self.keep_hole_open();
        let counted = &mut self.statistics;
        counted.epochs += 1;
        counted.promoted_objects += survivors.young;
        let mut young = 0;
        match survivors.age {
            true => counted.freed_mature_objects = counted.promoted_objects - survivors.objects,
            // All that were mature have died, or are young again.
            false => young = survivors.objects,
        }
        counted.died_young_objects = counted.allocated_objects.saturating_sub(counted.promoted_objects + young);
        (counted.live_objects, counted.live_bytes) = (survivors.objects, survivors.bytes);
        self.clock.allocated_bytes_at_flip = counted.allocated_bytes;
        self.clock.begin_epoch();
        self.judge_fragmentation(survivors.young);
        let freed = self.statistics.freed_objects() - before;
        self.clear_marks();
        freed
    }

    /// Frees the unmarked large objects; the others survive.
    fn sweep_large(&mut self, survivors: &mut Survivors) {
        let mut walk = HeapWalk::default();
        let (small_bytes, zeal) = (survivors.bytes, self.zeal.is_some());
        while let Some(found) = walk.next_large(&self.large) {
            let Some(object) = found else { continue };
            match MARK.get(object.granule()) {
                true => self.survive(object, survivors),
                // Zeal keeps the dead.
                false if zeal => {}
                false => self.free_large(object),
            }
        }
        self.large.mature_bytes = survivors.bytes - small_bytes;
        self.large.end_collection(!survivors.age);
    }

    /// Zeal: poisons the objects that the mark has not reached.
    fn quarantine_unmarked(&mut self) {
        let Some(mut zeal) = self.zeal.take() else { return };
        let dead = zeal.living().into_iter().filter(|object| !MARK.get(object.granule()));
        for object in dead.collect::<Vec<_>>() {
            zeal.quarantine(object, object.type_info().cell_bytes_of(object), self.clock.epoch);
        }
        zeal.forget_young();
        self.zeal = Some(zeal);
    }
}

/// Bytes that live for the first time at the end of a collection, before which so many were allocated: of those that were `born`
/// while its mark ran, which all survive, the same part as of the others.
fn aged_bytes(new: u64, born: u64, given: u64) -> u64 {
    let judged = given.saturating_sub(born);
    let aged = u128::from(new.saturating_sub(born)) * u128::from(given);
    (aged / u128::from(judged.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::aged_bytes;

    #[test]
    fn what_is_born_while_a_mark_runs_is_as_long_lived_as_the_rest() {
        assert_eq!(aged_bytes(300, 0, 1000), 300);
        assert_eq!(aged_bytes(400 + 150, 400, 1000), 250, "a fourth of six hundred");
        assert_eq!(aged_bytes(1000, 1000, 1000), 0, "nothing is known");
    }
}
