//! Counting: the byte table, promotion, and what happens at zero. `[COUNT]` `[ORDER]`
//!
//! Counts stand in a side table, one byte for 16 heap bytes, so that increments and decrements do not touch the
//! objects' lines. 255 is stuck: such an object is left to the backup mark.
//!
//! Expected cost: increment 1 load, 1 add, 1 store and a branch when the count was not zero; decrement the same plus the
//! test of the buffered bit.

use crate::heap::Heap;
use crate::memory::range::{BUFFERED, LIVE, MARK};
use crate::object::{ObjectRef, flag};
use crate::type_registry::TypeInfo;
use crate::visit::Part;

/// A count that no longer changes.
pub const STUCK: u8 = 255;
/// Candidates buffered at most; beyond that they are only counted as suspects.
pub(crate) const CANDIDATES_MAX: usize = 128 << 10;

impl Heap {
    /// Adds one to the object's count; a young object met for the first time is queued for promotion.
    #[inline(always)]
    pub fn increment(&mut self, object: ObjectRef) {
        let count = object.count();
        if count == 0 && !object.is_mature() {
            self.deferred.promotion_queue.push(object);
        }
        object.set_count(count.saturating_add(1));
    }

    /// The same in the pass of increments, which looks at what is queued: a mature object that is about to die is passed over there.
    /// So the header is not waited for here: it is on the way to the cache while other references are counted.
    #[inline(always)]
    pub fn increment_in_pass(&mut self, object: ObjectRef) {
        debug_assert!(self.deferred.counting);
        let count = object.count();
        if count == 0 {
            object.prefetch_header();
            self.deferred.promotion_queue.push(object);
        }
        object.set_count(count.saturating_add(1));
    }

    /// Takes one from the object's count: at zero it is queued to be freed, else it becomes a candidate.
    #[inline(always)]
    pub fn decrement(&mut self, object: ObjectRef) {
        if self.decrement_only(object) {
            self.buffer_candidate(object);
        }
    }

    /// Takes one from the count and queues the object at zero; true when it is still counted.
    #[inline(always)]
    pub fn decrement_only(&mut self, object: ObjectRef) -> bool {
        let count = object.count();
        if count == STUCK {
            // Only a mark can tell whether this was the last reference.
            self.suspects += 1;
            return false;
        }
        if count == 0 {
            self.count_below_zero(object);
        }
        object.set_count(count - 1);
        if count > 1 {
            return true;
        }
        if !object.has(flag::DEAD) {
            self.deferred.free_queue.push(object);
        }
        false
    }

    #[cold]
    fn count_below_zero(&self, object: ObjectRef) -> ! {
        let what = format!("the count of {object:?} ({}) would fall below zero", object.type_info().name);
        crate::fatal::violation("COUNT", self.clock.epoch, &what)
    }

    /// Enters the object into the candidate buffer unless it is there. `[CANDIDATE]`
    #[inline(always)]
    pub(crate) fn buffer_candidate(&mut self, object: ObjectRef) {
        if BUFFERED.get(object.granule()) {
            return;
        }
        if self.candidates.len() >= CANDIDATES_MAX {
            self.suspects += 1;
            return;
        }
        if self.candidates.len() == self.candidates.capacity() && !self.has_room_for_candidates() {
            self.suspects += 1;
            return;
        }
        BUFFERED.set(object.granule());
        self.candidates.push(object);
        self.statistics.candidates += 1;
    }

    /// Makes a young object mature: it is clean, its cell is live. Its references are not counted here.
    #[inline(always)]
    pub fn promote(&mut self, object: ObjectRef, info: &TypeInfo) {
        debug_assert!(!object.is_mature());
        let bytes = info.cell_bytes_of(object);
        object.add_flags(flag::MATURE);
        self.statistics.promoted_objects += 1;
        self.statistics.live_objects += 1;
        self.statistics.live_bytes += bytes;
        if self.mark_phase().keeps_the_dead() {
            MARK.set(object.granule());
        }
        object.set_stamp(0);
        if object.has(flag::LARGE) {
            self.large.mature_bytes += bytes;
            self.deferred.large_promotion.push((object, 0));
        } else {
            let cell = object.address() - crate::object::HEADER_BYTES;
            // SAFETY: [OWNED] a block of this heap.
            unsafe { LIVE.set_cell(cell, cell + bytes) };
        }
    }

    /// Increments everything that `part` of the object refers to; the number of references.
    #[inline(always)]
    pub fn count_references(&mut self, object: ObjectRef, info: &TypeInfo, part: Part) -> i64 {
        let mut references = 0;
        info.for_each_reference(object, part, |target| {
            references += 1;
            self.increment_in_pass(target);
        });
        references
    }

    /// Counts a pending object before its words change: what the passes have not reached yet, the writer does. `[PENDING]`
    #[cold]
    pub fn count_pending(&mut self, object: ObjectRef) {
        let info = object.type_info();
        if object.is_mature() {
            object.set_stamp(0);
        } else {
            self.promote(object, info);
        }
        self.count_references(object, info, Part::Whole);
    }

    /// The same for one chunk of a large object.
    #[cold]
    pub(crate) fn count_pending_chunk(&mut self, object: ObjectRef, chunk: u64) {
        let info = object.type_info();
        if !object.is_mature() {
            self.promote(object, info);
        }
        if self.large.take_pending(object, chunk, self.clock.epoch - 1) {
            self.count_references(object, info, Part::Chunk(chunk));
        }
    }

    /// The object is dead and its references have been decremented: give its memory back, or, while a mark is running,
    /// keep it until the mark ends.
    #[inline(always)]
    pub fn reclaim(&mut self, object: ObjectRef) {
        if self.mark_phase().keeps_the_dead() {
            object.add_flags(flag::DEAD);
            self.deferred.dead_queue.push(object);
        } else {
            self.free(object);
        }
    }

    /// Gives the memory of a dead object back; if the running log names it, later.
    #[inline(always)]
    pub fn free(&mut self, object: ObjectRef) {
        if object.has(flag::LARGE | flag::SPECIAL) {
            return self.free_uncommon(object);
        }
        if object.stamp() != 0 {
            self.deferred.late_queue.push(object);
            return;
        }
        self.note_free(object);
        self.give_back_cell(object);
    }

    #[cold]
    fn free_uncommon(&mut self, object: ObjectRef) {
        if self.is_logged(object) {
            self.deferred.late_queue.push(object);
            return;
        }
        if object.has(flag::SPECIAL) {
            self.end_special(object);
        }
        self.note_free(object);
        if !object.has(flag::LARGE) {
            return self.give_back_cell(object);
        }
        self.large.mature_bytes -= object.type_info().cell_bytes_of(object);
        self.note_death(object);
        if self.zeal.is_none() {
            self.free_large(object);
        }
    }

    /// Whether the running or the unreconciled log has an entry for the object.
    fn is_logged(&mut self, object: ObjectRef) -> bool {
        if object.has(flag::LARGE) {
            return self.large.stamps(object).iter().any(|&stamp| stamp != 0);
        }
        object.stamp() != 0
    }

    #[inline(always)]
    fn note_free(&mut self, object: ObjectRef) {
        self.statistics.live_objects -= 1;
        self.statistics.live_bytes -= object.type_info().cell_bytes_of(object);
        self.statistics.freed_mature_objects += 1;
    }

    #[inline(always)]
    fn note_death(&mut self, object: ObjectRef) {
        object.set_count(0);
        BUFFERED.clear(object.granule());
        if let Some(zeal) = &mut self.zeal {
            zeal.quarantine(object, object.type_info().cell_bytes_of(object), self.clock.epoch);
        }
    }

    fn give_back_cell(&mut self, object: ObjectRef) {
        let bytes = object.type_info().cell_bytes_of(object);
        self.note_death(object);
        let address = object.address();
        let cell = address - crate::object::HEADER_BYTES;
        // SAFETY: [OWNED] a block of this heap.
        unsafe { LIVE.clear_cell(cell, cell + bytes) };
        self.bump.blocks.note_death(crate::memory::range::block_of(cell));
    }

    /// Gives the blocks of a large object back.
    pub(crate) fn free_large(&mut self, object: ObjectRef) {
        self.large.free(object);
        self.note_growth();
    }

    /// A large object that died young goes away without having been counted.
    pub fn free_young_large(&mut self, object: ObjectRef) {
        if let Some(zeal) = &mut self.zeal {
            zeal.quarantine(object, object.type_info().cell_bytes_of(object), self.clock.epoch);
        } else {
            self.free_large(object);
        }
    }

    /// The object is marked and to be visited: at once, or, when there is no room to note that, when all marked objects are.
    #[inline(always)]
    pub fn push_marked(&mut self, object: ObjectRef) {
        let most = self.options.list_entries_max.unwrap_or(usize::MAX);
        if !self.mark_stack.try_push(object, most) {
            self.deferred.mark_overflowed = true;
        }
    }

    /// Lets the list of candidates grow when it is full. False: it has to do without.
    #[cold]
    fn has_room_for_candidates(&mut self) -> bool {
        let most = self.options.list_entries_max.unwrap_or(usize::MAX);
        let more = self.candidates.len().max(1024).min(most.saturating_sub(self.candidates.len()));
        more > 0 && self.candidates.try_reserve_exact(more)
    }

    /// Shows a reference to the running mark: it was there in the mark's snapshot.
    #[inline(always)]
    pub fn show_to_mark(&mut self, object: ObjectRef) {
        // The mark first: most are marked, and the table of bits is a small part of that of counts.
        if !MARK.get(object.granule()) && object.count() != 0 {
            MARK.set(object.granule());
            self.push_marked(object);
        }
    }
}
