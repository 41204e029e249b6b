//! The write barrier's slow path under the deferred plan, and the writes that go through it. `[LOG]`
//!
//! The fast path is inline in compiled code: load the word of the unlogged table, test the bit, and store when it is
//! clear. Expected cost of a write that needs no log: 1 load, 1 test, 1 branch, 1 store.
//!
//! When the bit is set the object is mature and this is the first write to it since the flip. Its references, as they
//! are, go to the log. A block that sees its [`HeapOptions::block_log_after`](crate::heap::HeapOptions)th single entry is
//! logged as a whole, in address order: a single entry costs an order of magnitude more than one of a sequential sweep.
//!
//! If the object is pending (the increments of the last flip have not reached it) it is counted first: its words are
//! about to stop being those of the flip. `[PENDING]`

use crate::heap::Heap;
use crate::memory::range::{UNLOGGED, block_info};
use crate::object::{ObjectRef, Slot, flag};
use crate::plan::bump::clear_unlogged;
use crate::plan::deferred::log;
use crate::visit::Part;

impl Heap {
    /// The slot's object is mature and not logged in this epoch: a write must log it first.
    #[inline(always)]
    pub(in crate::plan) fn must_log(slot: Slot) -> bool {
        UNLOGGED.get(slot.granule())
    }

    /// A write to a slot that must log.
    #[inline(always)]
    pub(in crate::plan) fn write_logged(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        self.log_slow(object, slot);
        slot.store(word);
    }

    /// The barrier's slow path: the unlogged bit of `slot` is set, and it is about to be overwritten.
    #[inline(never)]
    pub fn log_slow(&mut self, object: ObjectRef, slot: Slot) {
        if object.has(flag::LARGE) {
            let chunk = object.type_info().chunk_of(slot.address() - object.address());
            return self.log_chunk(object, chunk);
        }
        if self.log_alone(object) == self.options.block_log_after {
            self.log_block(object.block());
        }
        self.note_log_growth();
    }

    /// Logs the object, which is not large, whatever else of its block was. As many of the block have been logged alone.
    #[inline(always)]
    pub(crate) fn log_alone(&mut self, object: ObjectRef) -> u16 {
        self.log_object(object);
        let block = object.block();
        // SAFETY: [OWNED] the block of an object of this heap.
        let info = unsafe { &*block_info(block) };
        if info.logged.get() == 0 {
            self.bump.blocks.logged.push(block);
        }
        info.logged.set(info.logged.get() + 1);
        info.logged.get()
    }

    #[inline(always)]
    pub(in crate::plan) fn log_object(&mut self, object: ObjectRef) {
        debug_assert!(object.is_mature() || object.stamp() == self.clock.epoch - 1, "a young object needs no log");
        if self.deferred.counting && object.stamp() == self.clock.epoch - 1 {
            self.count_pending(object);
        }
        let info = object.type_info();
        if info.simple {
            let fields = info.fixed.as_slice();
            if !log::copy_references(object, fields, self.deferred.log.append(object, Part::Whole, fields.len())) {
                self.deferred.log.shorten(fields.len());
            }
        } else {
            let words = self.deferred.log.append(object, Part::Whole, info.snapshot_words(object, Part::Whole));
            info.take_snapshot(object, Part::Whole, words);
        }
        object.set_stamp(self.clock.epoch);
        clear_unlogged(object, info.cell_bytes_of(object));
    }

    pub(crate) fn log_chunk(&mut self, object: ObjectRef, chunk: u64) {
        if !object.type_info().has_references {
            return; // nothing to log; such an object has one stamp, whatever its length
        }
        let stamp = self.large.stamps(object)[chunk as usize];
        if stamp == self.clock.epoch {
            return;
        }
        if self.deferred.counting && stamp == self.clock.epoch - 1 {
            self.count_pending_chunk(object, chunk);
        }
        let (info, part) = (object.type_info(), Part::Chunk(chunk));
        let words = self.deferred.log.append(object, part, info.snapshot_words(object, part));
        info.take_snapshot(object, part, words);
        self.large.note_logged(object, chunk, self.clock.epoch);
        self.note_log_growth();
    }

    #[inline(always)]
    pub(crate) fn note_log_growth(&mut self) {
        if self.deferred.log.entries >= self.deferred.log_poll_at {
            self.set_poll(true);
        }
    }

    /// The logged form of [`copy_references`](Self::copy_references).
    ///
    /// # Safety
    /// As for that.
    pub(in crate::plan) unsafe fn copy_logged(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        self.log_words(object, target, count);
        // SAFETY: by the caller's promise.
        unsafe { std::ptr::copy(source as *const u64, target.address() as *mut u64, count as usize) };
    }

    /// The logged form of [`fill_references`](Self::fill_references).
    pub(in crate::plan) fn fill_logged(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        self.log_words(object, target, count);
        for index in 0..count {
            object.slot(target.address() - object.address() + index * 8).store(word);
        }
    }

    /// Logs what `count` words from `target` belong to.
    fn log_words(&mut self, object: ObjectRef, target: Slot, count: u64) {
        if count == 0 {
            return;
        }
        if !object.has(flag::LARGE) {
            return if UNLOGGED.get(target.granule()) {
                self.log_slow(object, target)
            };
        }
        let (info, offset) = (object.type_info(), target.address() - object.address());
        for chunk in info.chunk_of(offset)..=info.chunk_of(offset + count * 8 - 8) {
            self.log_chunk(object, chunk);
        }
    }
}
