//! Decrements: last flip's roots, the log's old values, and what dies with them. `[ORDER]` `[RECLAIM]`
//!
//! A count that reaches zero puts the object on the free queue; from there its references are released in turn, as many
//! as the slice allows: dropping a list of ten million nodes neither recurses nor stops the program. A large object is
//! released chunk by chunk. What falls to a non-zero count becomes a candidate.
//!
//! While the backup mark discovers, references that vanish with a dead object are shown to it.

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::prefetch_queue::AHEAD;
use crate::slice::CHUNK_UNITS;
use tally_heap::object::flag;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

impl DeferredDriver {
    /// Does up to `units` of work; returns the units left, and whether all decrements are done.
    pub(crate) fn release(&mut self, heap: &mut Heap, mut units: i64) -> (i64, bool) {
        loop {
            if units <= 0 {
                return (units, false);
            }
            if let Some(object) = self.last_late.pop() {
                heap.free(object);
                units -= 2 + heap.large.leaving.take_units();
            } else if let Some(root) = self.next_lapsed() {
                if heap.mark_phase().is_shown_references() {
                    // A mark that began before the flip may not have come to it yet.
                    heap.show_to_mark(root);
                }
                heap.decrement(root);
                units -= 1;
            } else {
                let (left, read) = heap.release_logged(&mut self.last_log, &mut self.release_at, units);
                units = left;
                if read {
                    if !self.last_log.drop_chunk() {
                        return (units, true);
                    }
                    // Giving the chunk back may be a system call.
                    units -= CHUNK_UNITS;
                    // The rest of the log has been read.
                    self.release_at = self.last_log.end();
                }
            }
        }
    }

    /// The next object that was held as by a root of the flip before.
    fn next_lapsed(&mut self) -> Option<ObjectRef> {
        self.last_done.pop().or_else(|| self.last_upgraded.objects.pop()).or_else(|| self.last_roots.objects.pop())
    }

    /// Releases the references of dead objects and frees their memory; sweeps blocks with deaths. Returns the units left.
    pub(crate) fn release_deaths(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
        while units > 0 {
            if let Some((object, chunk)) = self.dying_large.pop() {
                units -= self.release_chunk(heap, object, chunk);
            } else if let Some((object, chunk)) = self.company.pop() {
                units -= self.find_company(heap, object, chunk);
            } else if heap.bump.blocks.grows_for_want_of_sweeps() {
                heap.bump.blocks.sweep_freed_into();
                units -= 8;
            } else if let Some(object) = self.dying_special {
                if heap.deferred.counting && heap.is_key(object) {
                    // Which of its young ephemerons are alive is known when the increments are done.
                    break;
                }
                units -= self.end_dying_special(heap, object, units);
            } else if !heap.deferred.free_queue.is_empty() {
                units = self.release_dead(heap, units);
            } else if heap.bump.blocks.has_freed_into() && self.has_released() {
                heap.bump.blocks.sweep_freed_into();
                units -= 8;
            } else {
                break;
            }
        }
        units
    }

    /// Whether the decrements of the last flip are done. Until then more objects die in the blocks that have had deaths: swept now,
    /// they would be swept again, and again.
    fn has_released(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Try)
    }

    /// Plain objects in bulk, then the one at the end of the queue, plain or not; returns the units left.
    fn release_dead(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
        if !heap.mark_phase().keeps_the_dead() && heap.zeal.is_none() {
            let freed;
            (units, freed) = heap.free_queued(units);
            self.tracer.stops.report.freed_by_count += freed;
        }
        if units > 0
            && let Some(object) = heap.deferred.free_queue.pop()
        {
            let later = heap.deferred.free_queue.len().wrapping_sub(AHEAD);
            if let Some(object) = heap.deferred.free_queue.get(later) {
                object.prefetch();
            }
            units -= self.release_object(heap, object);
        }
        units
    }

    fn release_object(&mut self, heap: &mut Heap, object: ObjectRef) -> i64 {
        if object.has(flag::DEAD) {
            return 1; // a mark has found it dead, and releases its references
        }
        if object.has(flag::SPECIAL) {
            self.dying_special = Some(object);
            return 1;
        }
        if object.has(flag::LARGE | flag::NON_TRIVIAL) {
            return self.release_uncommon(heap, object);
        }
        self.release_small(heap, object)
    }

    /// Weak slots to the object and in it come to an end, as far as the units go; then it is released like others. Its count is
    /// zero until then, so no upgrade yields it. `[WEAK]`
    fn end_dying_special(&mut self, heap: &mut Heap, object: ObjectRef, units: i64) -> i64 {
        let mut left = units;
        if object.has(flag::DEAD) {
            self.dying_special = None;
            return 1;
        }
        let done = heap.begin_reclaim_some(object, &mut left)
            && (object.needs_finalizer() || heap.let_go_weakly(object, &mut left));
        if !done {
            return units - left;
        }
        self.dying_special = None;
        1 + (units - left) + self.release_uncommon(heap, object)
    }

    /// An object that may have a finalizer, or be large.
    fn release_uncommon(&mut self, heap: &mut Heap, object: ObjectRef) -> i64 {
        if object.needs_finalizer() {
            heap.await_finalizer(object);
            self.follow_company(object);
            return 2;
        }
        if object.has(flag::LARGE) {
            self.dying_large.push((object, 0));
            return 1;
        }
        self.release_small(heap, object)
    }

    fn release_small(&mut self, heap: &mut Heap, object: ObjectRef) -> i64 {
        let zeros = heap.deferred.free_queue.len();
        let references = release_part(heap, object, Part::Whole);
        if object.has(flag::FINALIZED) {
            heap.services.finalizers.chained |=
                heap.deferred.free_queue[zeros..].iter().any(|object| object.needs_finalizer());
        }
        heap.reclaim(object);
        self.tracer.stops.report.freed_by_count += 1;
        2 + references
    }

    fn release_chunk(&mut self, heap: &mut Heap, object: ObjectRef, chunk: u64) -> i64 {
        let references = release_part(heap, object, Part::Chunk(chunk));
        if chunk + 1 < heap.large.stamps(object).len() as u64 {
            self.dying_large.push((object, chunk + 1));
        } else {
            heap.reclaim(object);
            self.tracer.stops.report.freed_by_count += 1;
        }
        2 + references + heap.large.leaving.take_units()
    }
}

fn release_part(heap: &mut Heap, object: ObjectRef, part: Part) -> i64 {
    let mut references = 0;
    object.type_info().for_each_reference(object, part, |target| {
        references += 1;
        if heap.mark_phase().is_shown_references() {
            heap.show_to_mark(target);
        }
        heap.decrement(target);
    });
    references
}
