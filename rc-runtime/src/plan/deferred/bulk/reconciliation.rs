//! The log's two readings in bulk: the references that plain objects hold now are counted, and those in the log are released. `[COUNT]`
//! `[ORDER]`
//!
//! A program that writes at random has a log of objects that lie anywhere, so both loops ask for the memory of entries further on:
//! every word of a log that is not null is the address of an object, or has one in its low 48 bits, and a prefetch of anything else
//! does no harm.

use super::{Shape, for_field_count, make_room, push, reference};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range::{self, BUFFERED};
use crate::object::{ObjectRef, flag};
use crate::plan::deferred::count::STUCK;
use crate::plan::deferred::log::{self, Log, LogCursor};

/// Words of the log between a prefetch and its use.
const AHEAD: usize = 24;

/// Adds one reference; an object without any is promoted. There is room in the queue.
#[inline(always)]
fn count_up(queue: &mut List<ObjectRef>, target: ObjectRef) {
    let count = target.count();
    if count == 0 {
        target.prefetch_header();
        push(queue, target);
    }
    target.set_count(count.saturating_add(1));
}

/// All references of the object are new: the log says that they were null. It is clean from here on.
#[inline(never)]
fn count_all_up(object: ObjectRef, shape: &Shape, queue: &mut List<ObjectRef>) {
    object.set_header(shape.meta, 0);
    for target in shape.fields.iter().filter_map(|&offset| reference(object, offset.into())) {
        count_up(queue, target);
    }
}

impl Heap {
    /// Reconciles entries of whole plain objects from `cursor` on, while `units` last; returns the units left. Stops at an entry of
    /// another kind, or at the end.
    ///
    /// Not while a mark discovers.
    pub fn reconcile_plain(&mut self, log: &mut Log, cursor: &mut LogCursor, mut units: i64) -> i64 {
        debug_assert!(!self.mark_phase().is_shown_references());
        let mut shape = Shape::NONE;
        while units > 0 {
            let words = log.rest(cursor);
            let Some(entry) = words.first().and_then(|&head| log::plain_entry(head)) else { break };
            if !shape.fits(entry.object, entry.object.meta(), flag::MATURE)
                || (entry.words != shape.fields.len() && entry.words != 0)
            {
                break;
            }
            let (left, read) = for_field_count!(
                shape,
                self.reconcile_alike(words, &shape, units),
                self.reconcile_wide(words, &shape, units)
            );
            if read == 0 {
                break;
            }
            units = left;
            cursor.pass(read);
        }
        units
    }

    /// Entries of objects of one shape; the units left, and the words read.
    #[inline(never)]
    fn reconcile_alike<const N: usize>(&mut self, words: &mut [u64], shape: &Shape, units: i64) -> (i64, usize) {
        self.reconcile_with(words, shape, units, &shape.offsets::<N>())
    }

    /// The same for shapes with many fields.
    #[inline(never)]
    fn reconcile_wide(&mut self, words: &mut [u64], shape: &Shape, units: i64) -> (i64, usize) {
        self.reconcile_with(words, shape, units, shape.fields)
    }

    #[inline(always)]
    fn reconcile_with(&mut self, words: &mut [u64], shape: &Shape, mut units: i64, offsets: &[u32]) -> (i64, usize) {
        let fields = offsets.len();
        // Entries of one shape lie as far apart.
        let ahead = (AHEAD / (1 + fields)).max(4) * (1 + fields);
        let pending = self.clock.epoch - 1;
        let mut queue = std::mem::take(&mut self.deferred.promotion_queue);
        let mut at = 0;
        while units > 0 && at < words.len() {
            if let Some(&ahead) = words.get(at + ahead) {
                log::prefetch_header(ahead);
                if fields > 4 {
                    log::prefetch_end(ahead, shape.cell);
                }
            }
            let Some(entry) = log::plain_entry(words[at]) else { break };
            let object = entry.object;
            let header = object.header();
            if (header >> 32) as u32 != shape.meta {
                break;
            }
            make_room(&mut queue, fields);
            if entry.words != fields {
                if entry.words != 0 {
                    break;
                }
                if header as u32 == pending {
                    count_all_up(object, shape, &mut queue);
                }
                at += 1;
                units -= 2 + fields as i64;
                continue;
            }
            let before: &mut [u64] = &mut words[at + 1..at + 1 + fields];
            if header as u32 == pending {
                object.set_header(shape.meta, 0);
                for (before, offset) in before.iter_mut().zip(offsets.iter().map(|&offset| u64::from(offset))) {
                    let now = object.slot(offset).read();
                    if now == *before {
                        *before = 0;
                        continue;
                    }
                    // SAFETY: [HEADER] a reference word of an object.
                    if let Some(target) = unsafe { ObjectRef::of_word(now) } {
                        count_up(&mut queue, target);
                    }
                }
            }
            for (before, offset) in before.iter_mut().zip(offsets.iter().map(|&offset| u64::from(offset))) {
                if !range::in_heap(*before) {
                    *before = 0;
                } else if header as u32 != pending && object.slot(offset).read() == *before {
                    self.cancel(before);
                }
            }
            at += 1 + fields;
            units -= 2 + fields as i64;
        }
        self.deferred.promotion_queue = queue;
        (units, at)
    }

    /// A slot was counted by its next writer, before this entry's turn came, and holds now what it held before: the increment is there, and the
    /// decrement would make a candidate of an object that nothing happened to. Both are taken back here, unless the count is too low to
    /// tell that it has the increment, or stuck. (If the slot held something else at the flip, the object has lost a reference and got it back
    /// since; it is no garbage, and the next flip counts the reference.) `[ORDER]` No count reaches zero.
    #[inline(always)]
    pub fn cancel(&mut self, before: &mut u64) {
        // SAFETY: [HEADER] a slot holds it.
        let Some(object) = (unsafe { ObjectRef::of_word(*before) }) else { return };
        let count = object.count();
        if count > 1 && count != STUCK {
            object.set_count(count - 1);
            *before = 0;
        }
    }

    /// Decrements the references in the log, from `cursor` on, while `units` last; returns the units left, and whether the log is read.
    pub fn release_logged(&mut self, log: &mut Log, cursor: &mut LogCursor, mut units: i64) -> (i64, bool) {
        while units > 0 {
            let rest = log.rest(cursor);
            if rest.is_empty() {
                return (units, true);
            }
            let (start, words) = log::words_of_entry(rest);
            let end = start + words;
            for at in start..end {
                if let Some(&ahead) = rest.get(at + AHEAD)
                    && ahead != 0
                {
                    range::prefetch_count(ahead);
                    BUFFERED.prefetch_of(ahead);
                }
                if rest[at] == 0 {
                    continue;
                }
                // SAFETY: [HEADER] the increments have left references only.
                let object = unsafe { ObjectRef::from_address(rest[at]) };
                let count = object.count();
                if count > 1 && count != STUCK {
                    object.set_count(count - 1);
                    if !BUFFERED.get(object.granule()) {
                        self.buffer_candidate(object);
                    }
                } else {
                    self.decrement(object);
                }
            }
            units -= 1 + words as i64;
            cursor.pass(end);
        }
        (units, false)
    }
}
