//! Increments: promote what survived, and count what the logged slots hold now. `[COUNT]` `[PENDING]`
//!
//! A pending object still holds the words of the flip (its first writer counts it before changing them, see
//! `tally_heap::plan::deferred::count`), so this pass may stop and go on at any object while the mutator runs.
//!
//! For each log entry the word now in the slot is compared with the word that was there: an unchanged word needs neither
//! increment nor decrement, and its log word becomes null. Changed words are incremented, and the old ones stay in the
//! log, as plain references, for `release`.
//!
//! Promotion follows references from young objects that were counted; a young object that was not counted is never visited.

use crate::plan::deferred::{DeferredDriver, Lapsed};
use crate::slice::{CHUNK_UNITS, OBJECTS_PER_STEP};
use tally_heap::object::flag;
use tally_heap::plan::deferred::log::Entry;
use tally_heap::type_registry::Reading;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// Giving the blocks of a large object back is a system call that takes microseconds.
const YOUNG_LARGE_UNITS: i64 = CHUNK_UNITS / 4;

impl DeferredDriver {
    /// Does up to `units` of work; returns the units left, and whether all increments are done.
    pub(crate) fn reconcile(&mut self, heap: &mut Heap, mut units: i64) -> (i64, bool) {
        loop {
            if units <= 0 {
                return (units, false);
            }
            if !heap.deferred.promotion_queue.is_empty() {
                units = heap.promote_queued(units);
                continue;
            }
            if self.tracer.stack.has_rest() {
                self.walk_on(heap, CHUNK_UNITS as usize);
                units -= CHUNK_UNITS;
                continue;
            }
            if heap.roots_are_uncounted() {
                units -= self.count_roots(heap);
                continue;
            }
            if !heap.mark_phase().is_shown_references() {
                let left = heap.reconcile_plain(&mut self.last_log, &mut self.reconcile_at, units);
                if left < units {
                    units = left;
                    continue;
                }
            }
            if let Some(entry) = self.last_log.next(&mut self.reconcile_at) {
                units -= 2 + entry.words.len() as i64;
                reconcile_entry(heap, entry);
            } else if let Some((object, chunk)) = heap.deferred.large_promotion.pop() {
                units -= promote_chunk(heap, object, chunk);
            } else {
                let (left, done) = heap.judge_young_special(units);
                if done {
                    return (left, true);
                }
                units = left;
            }
        }
    }

    /// Counts some of the roots of the flip, when those of the flip before have lost their flags; returns the cost.
    pub(in crate::plan::deferred) fn count_roots(&mut self, heap: &mut Heap) -> i64 {
        for Lapsed { objects, flagged } in [&mut self.last_upgraded, &mut self.last_roots] {
            if *flagged > 0 {
                let rest = flagged.saturating_sub(OBJECTS_PER_STEP);
                objects[rest..*flagged].iter().for_each(|root| root.remove_flags(flag::ROOTED));
                *flagged = rest;
                return OBJECTS_PER_STEP as i64;
            }
        }
        let end = (self.counted_roots + OBJECTS_PER_STEP).min(self.roots.len());
        let step = &self.roots[self.counted_roots..end];
        step.iter().for_each(|root| root.prefetch());
        for &root in step {
            heap.increment(root);
            root.add_flags(flag::ROOTED);
        }
        self.counted_roots = end;
        heap.set_roots_uncounted(end < self.roots.len());
        2 * OBJECTS_PER_STEP as i64
    }

    /// The increments are done: objects young at the flip and not mature now are dead.
    pub(crate) fn quarantine_the_young(&mut self, heap: &mut Heap) {
        heap.deferred.counting = false;
        let epoch = heap.clock.epoch;
        if let Some(zeal) = &mut heap.zeal {
            zeal.quarantine_young(epoch);
        }
        if heap.options().count_objects {
            let statistics = &mut heap.statistics;
            // Where objects were counted from some call on only, more may have been promoted than were counted.
            statistics.died_young_objects = self.allocated_at_flip.saturating_sub(statistics.promoted_objects);
        }
    }
}

impl DeferredDriver {
    /// Gives back the large objects that died young, then sweeps the blocks that were allocated into; up to `units` of
    /// work; returns the units left, and whether all is done. An object mature here was alive at the flip and has not died since:
    /// deaths as of this flip are found by `release` only.
    pub(crate) fn sweep(&mut self, heap: &mut Heap, mut units: i64) -> (i64, bool) {
        while let Some(object) = heap.large.pending.pop() {
            if !object.is_mature() {
                heap.free_young_large(object);
                units -= YOUNG_LARGE_UNITS + heap.large.leaving.take_units();
            }
            if units <= 0 {
                return (units, false);
            }
        }
        match heap.bump.blocks.sweep_pending(units) {
            Some(left) => (left, false),
            None => (units, true),
        }
    }
}

fn promote_chunk(heap: &mut Heap, object: ObjectRef, chunk: u64) -> i64 {
    let info = object.type_info();
    if chunk + 1 < heap.large.stamps(object).len() as u64 {
        heap.deferred.large_promotion.push((object, chunk + 1));
    }
    if !take_pending(heap, object, Part::Chunk(chunk)) {
        return 1;
    }
    2 + heap.count_references(object, info, Part::Chunk(chunk))
}

/// Whether the entry's part is still pending; it is clean from here on.
fn take_pending(heap: &mut Heap, object: ObjectRef, part: Part) -> bool {
    let pending = heap.clock.epoch - 1;
    match part {
        Part::Whole if object.stamp() == pending => {
            object.set_stamp(0);
            true
        }
        Part::Whole => false,
        Part::Chunk(chunk) => heap.large.take_pending(object, chunk, pending),
    }
}

fn reconcile_entry(heap: &mut Heap, entry: Entry<'_>) {
    let Entry { object, part, words } = entry;
    let info = object.type_info();
    if heap.mark_phase().is_shown_references() && crate::plan::deferred::mark::may_follow_logged_words(object) {
        // The mark may have visited the object while it held something else: its snapshot had these.
        info.for_each_reference_in_snapshot(object, part, words, |target| heap.show_to_mark(target));
    }
    let count_now = take_pending(heap, object, part);
    if words.is_empty() {
        // There was no reference in it.
        if count_now {
            heap.count_references(object, info, part);
        }
        return;
    }
    if matches!(info.reading, Reading::Traced(_)) {
        return reconcile_traced(heap, object, part, words, count_now);
    }
    if let Some(row) = info.words_in_a_row(object, part) {
        for (&now, before) in row.iter().zip(words) {
            // SAFETY: [HEADER] an element that is a plain reference.
            reconcile_word(heap, now, before, count_now, |word| unsafe { ObjectRef::of_word(word) });
        }
        return;
    }
    let mut words = words.iter_mut();
    info.for_each_snapshot_word(object, part, |now| {
        let before = words.next().expect("a word of the entry for each of the object");
        // SAFETY: [HEADER] a word of a field of that type.
        reconcile_word(heap, now, before, count_now, |word| unsafe { info.decode(word) });
    });
}

/// Counts what a word holds now, unless its next writer did, and leaves in the log its old reference, to be released;
/// null if that is the same.
#[inline(always)]
fn reconcile_word(
    heap: &mut Heap,
    now: u64,
    before: &mut u64,
    count_now: bool,
    decode: impl Fn(u64) -> Option<ObjectRef>,
) {
    let unchanged = now == *before;
    if count_now && unchanged {
        *before = 0;
        return;
    }
    *before = decode(*before).map_or(0, ObjectRef::address);
    if unchanged {
        heap.cancel(before);
    } else if count_now && let Some(target) = decode(now) {
        heap.increment_in_pass(target);
    }
}

/// Only the image as a whole can be compared; the references of the old one replace it.
fn reconcile_traced(heap: &mut Heap, object: ObjectRef, part: Part, words: &mut [u64], count_now: bool) {
    let info = object.type_info();
    if count_now {
        let mut at = 0;
        let mut unchanged = true;
        info.for_each_snapshot_word(object, part, |now| {
            unchanged &= now == words[at];
            at += 1;
        });
        if unchanged {
            words.fill(0);
            return;
        }
        heap.count_references(object, info, part);
    }
    let mut old = std::mem::take(&mut heap.deferred.scratch);
    info.for_each_reference_in_snapshot(object, part, words, |target| old.push(target.address()));
    assert!(old.len() <= words.len(), "trace of `{}` reports a word's reference more than once", info.name);
    words.fill(0);
    words[..old.len()].copy_from_slice(&old);
    old.clear();
    heap.deferred.scratch = old;
}
