//! The barrier's slow path under the trace plan: what is overwritten is shown to a mark in slices.
//!
//! Compiled code has the fast path of the deferred plan: the unlogged bit of a slot is tested (`plan::deferred::barrier`). Bits are set before the
//! snapshot of a mark in slices and stay afterwards; a write clears those that it meets, of the whole object while a mark runs. So an
//! object is shown once for each mark, a chunk of a large one as well. A heap that only stops the program has no bits set.

use crate::heap::Heap;
use crate::memory::range::{MARK, UNLOGGED};
use crate::object::{ObjectRef, Slot, flag};
use crate::plan::bump::clear_unlogged;
use crate::plan::trace::slices::Stage;
use crate::visit::Part;
use std::ops::Range;

/// Upgrades of unmarked objects after which the collector has its turn, if the program had its own.
const UPGRADES_PER_TURN: u64 = 32;
/// Where this part of all objects was upgraded so, the program's turns end.
const UPGRADED_PART: u64 = 64;

impl Heap {
    /// The unlogged bit of `slot` is set, and it is about to be overwritten.
    #[inline(never)]
    pub(crate) fn show_overwritten(&mut self, object: ObjectRef, slot: Slot) {
        match self.trace.slices.stage {
            Stage::Arms => return,
            Stage::Off | Stage::Sweeps => return UNLOGGED.clear(slot.granule()),
            Stage::Marks | Stage::Judges => {}
        }
        if object.has(flag::LARGE) {
            let chunk = object.type_info().chunk_of(slot.address() - object.address());
            return self.show_chunk(object, chunk);
        }
        self.show_whole(object);
    }

    /// A small object may be written to from now on: what it refers to is shown.
    fn show_whole(&mut self, object: ObjectRef) {
        self.show_part(object, Part::Whole);
        clear_unlogged(object, object.type_info().cell_bytes_of(object));
    }

    /// The same of a chunk of a large object, once for each mark.
    fn show_chunk(&mut self, object: ObjectRef, chunk: u64) {
        if !object.type_info().has_references {
            return; // such an object has one stamp, whatever its length
        }
        let epoch = self.clock.epoch;
        if self.large.stamps(object)[chunk as usize] != epoch {
            self.show_part(object, Part::Chunk(chunk));
            self.large.note_shown(object, chunk, epoch);
        }
    }

    /// `bytes` of the object's payload are about to be overwritten, or to go.
    pub(crate) fn show_bytes(&mut self, object: ObjectRef, bytes: Range<u64>) {
        if !self.shows_overwritten() || bytes.is_empty() || self.is_new(object) {
            return;
        }
        if !object.has(flag::LARGE) {
            return if UNLOGGED.get(object.slot(bytes.start & !7).granule()) {
                self.show_whole(object)
            };
        }
        let info = object.type_info();
        for chunk in info.chunk_of(bytes.start)..=info.chunk_of(bytes.end - 1) {
            self.show_chunk(object, chunk);
        }
    }

    /// `count` words from `target` on, which lie in `object`, are about to be overwritten.
    pub(crate) fn show_words(&mut self, object: ObjectRef, target: Slot, count: u64) {
        let start = target.address() - object.address();
        self.show_bytes(object, start..start + count * 8);
    }

    /// Copies `count` words; the ranges may overlap.
    ///
    /// # Safety
    /// `target` names `count` words of `object`, `source` as many readable words that such fields may hold.
    pub(crate) unsafe fn copy_shown(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        self.show_words(object, target, count);
        // SAFETY: by the caller's promise.
        unsafe { std::ptr::copy(source as *const u64, target.address() as *mut u64, count as usize) };
    }

    /// Writes `word` to `count` words of `object` from `target` on.
    pub(crate) fn fill_shown(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        self.show_words(object, target, count);
        for index in 0..count {
            object.slot(target.address() - object.address() + index * 8).store(word);
        }
    }

    /// What it refers to belongs to the snapshot.
    pub(crate) fn show_part(&mut self, object: ObjectRef, part: Part) {
        object.type_info().for_each_reference(object, part, |target| {
            self.trace.shown += 1;
            self.show_in_snapshot(target);
        });
    }

    /// A root held the object at the snapshot.
    pub fn show_root(&mut self, object: ObjectRef) {
        self.show_in_snapshot(object);
    }

    /// The object was reachable at the snapshot, or is to survive for another reason. Where no mark in slices runs, nothing is
    /// done.
    #[inline]
    pub(crate) fn show_in_snapshot(&mut self, object: ObjectRef) {
        if self.shows_overwritten() && !MARK.get(object.granule()) {
            MARK.set(object.granule());
            self.visit_in_slices(object);
        }
    }

    /// A mark in slices that has come to the ephemeron comes to it again.
    pub(crate) fn visit_ephemeron_again(&mut self, ephemeron: ObjectRef) {
        if self.shows_overwritten() && MARK.get(ephemeron.granule()) {
            self.visit_in_slices(ephemeron);
        }
    }

    fn visit_in_slices(&mut self, object: ObjectRef) {
        if self.trace.slices.judge() {
            // Nothing could be begun anew.
            return self.mark_stack.push(object);
        }
        let most = self.options.list_entries_max.unwrap_or(usize::MAX);
        self.trace.slices.lost |= !self.mark_stack.try_push(object, most);
    }

    /// Objects that may be upgraded while a mark in slices has not come to them, until it goes on without a pause.
    pub fn room_for_upgrades(&self) -> u64 {
        self.statistics.live_objects / UPGRADED_PART
    }

    /// A weak reference yields what the mark has not come to: perhaps nothing else leads to it. After some of those the collector has its turn.
    fn note_upgrade(&mut self) {
        self.trace.slices.upgraded += 1;
        if self.trace.slices.upgraded.is_multiple_of(UPGRADES_PER_TURN) {
            self.clock.note_slice(0);
            self.request_work_at_allocation();
        }
    }

    /// An upgrade while a mark in slices runs: what it yields survives.
    #[inline(never)]
    pub(crate) fn upgrade_in_slices(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        if self.awaits_finalizer(object) || self.trace.slices.judge() && self.is_unmarked(object) {
            return None;
        }
        if self.shows_overwritten() && self.is_unmarked(object) {
            self.note_upgrade();
        }
        self.show_in_snapshot(object);
        Some(object)
    }
}
