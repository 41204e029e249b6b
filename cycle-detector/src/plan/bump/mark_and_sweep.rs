//! A collection, from the first root to the last hole.
//!
//! 1. Everything that a root holds is marked, and all that it reaches: frames, globals, handles, the host's roots, objects
//!    that the runtime holds for a call, or that are immortal. `[ROOT]`
//! 2. What is not marked is dead. Weak references to it are cleared, before any finalizer runs. `[WEAK]`
//! 3. What those reach that wait for their finalizers already is left to a later collection: this may be one inside a finalizer, and an
//!    owner among them may have its turn, and live on, before the next set is put in order. All other dead that have finalizers join
//!    those that wait. These are judged anew, so that owners come first, and
//!    all are marked with all that they reach: they die at a later collection, unless a finalizer has stored them somewhere.
//! 4. Ephemerons whose key is still not marked release their values.
//! 5. The holes of all blocks are found again; no dead object is looked at. `[RECLAIM]`
//!
//! Of the trace plan, where it does not go in slices (`tracer/sliced`), and of a heap of the deferred plan that marks instead of
//! counting. That gives a mark up when it has taken too long, after step 1 or 3. What was found dead by then is dead, and may be
//! found so again. `[BOUND]`

use super::marker::Marker;
use crate::slice::Slice;
use std::ops::Range;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::list::List;
use tally_heap::memory::range::MARK;
use tally_heap::object::flag;
use tally_heap::services::special::SLOT_UNITS;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// What a collection has done.
pub(crate) struct Collected {
    /// So many objects died; `None` if the mark was given up, and nothing was freed.
    pub(crate) freed: Option<u64>,
    /// References followed, and objects visited.
    pub(crate) units: u64,
}

/// Marks what `roots` and the runtime hold, and frees all else, unless the slice ends before all is marked. The
/// collection has begun ([`Heap::begin_collection`]); the list is empty afterwards.
pub(crate) fn mark_and_sweep(heap: &mut Heap, roots: &mut List<ObjectRef>, slice: Slice) -> Collected {
    let mut marker = Marker::of(heap, slice);
    let all = mark(heap, roots, &mut marker);
    roots.clear();
    if all {
        heap.note_cycles_of_sample(dead(heap));
    }
    let units = marker.units;
    let survivors = marker.end(heap);
    let freed = all.then(|| heap.sweep(survivors));
    heap.release_finalizers();
    Collected { freed, units }
}

/// Steps 1 to 4. False when the slice has ended before.
fn mark(heap: &mut Heap, roots: &mut List<ObjectRef>, marker: &mut Marker) -> bool {
    heap.for_each_held(|held| roots.push(held));
    while let Some(root) = roots.pop() {
        marker.show(heap, root);
    }
    marker.finish(heap) && judge(heap, marker)
}

/// Steps 2 to 4, when all that roots reach is marked. False when the slice has ended before.
fn judge(heap: &mut Heap, marker: &mut Marker) -> bool {
    let is_dead = dead(heap);
    // Each special object, and each with a finalizer, is looked at.
    if !marker.spend(2 * heap.trace.listed() as u64) {
        return false;
    }
    let (special, dead) = heap.take_special(is_dead);
    if !marker.spend(dead as u64 * SLOT_UNITS as u64) {
        heap.put_special_back(special, |_| false);
        return false;
    }
    let waited = heap.waiting_for_finalizers().len();
    if !mark_from_waiting(heap, marker, 0..waited) {
        heap.put_special_back(special, |_| false);
        return false;
    }
    let finalizable = heap.take_finalizable();
    heap.queue_found_dead(&finalizable, is_dead);
    heap.set_mark_phase(MarkPhase::Condemns);
    match heap.waiting_for_finalizers().is_empty() {
        true => heap.begin_reclaim_all(&special[..dead]),
        false => heap.begin_reclaim_before_finalizers(&special[..dead]),
    }
    let ended = keep_for_finalizers(heap, marker, waited);
    if ended {
        for ephemeron in marker.take_held_back() {
            marker.units += heap.empty_ephemeron(ephemeron) as u64;
        }
        // A key that waits for its finalizer has a record for that, and so the entry of a dead map has a link.
        let (late, late_dead) = heap.take_special(is_dead);
        // A finalizer may need some of them.
        let ends = || special[..dead].iter().chain(&late[..late_dead]).copied().filter(|&object| is_dead(object));
        ends().for_each(|object| heap.dismantle(object));
        ends().for_each(|object| heap.end_special(object));
        heap.put_special_back(late, is_dead);
        heap.put_special_back(special, is_dead);
    } else {
        heap.put_special_back(special, |_| false);
    }
    heap.set_mark_phase(MarkPhase::Off);
    heap.put_finalizable_back(finalizable);
    ended
}

/// Returns the test for objects that the mark has not reached, and that are not new.
pub(crate) fn dead(heap: &Heap) -> impl Fn(ObjectRef) -> bool + Copy + use<> {
    let new_stamp = heap.trace.new_stamp();
    move |object| !MARK.get(object.granule()) && (object.is_mature() || object.stamp() != new_stamp)
}

/// Objects that wait for their finalizers live on with all that they reach. Each that another of them reaches gets the
/// flag `FOUND`: finalizers that run for owners first leave it to a later collection. What the first `waited` refer to is marked.
/// False when the slice has ended before.
fn keep_for_finalizers(heap: &mut Heap, marker: &mut Marker, waited: usize) -> bool {
    let (waiting, is_dead) = (heap.waiting_for_finalizers().len(), dead(heap));
    if !mark_from_waiting(heap, marker, waited..waiting) {
        return false;
    }
    for place in 0..waiting {
        let object = heap.waiting_for_finalizers()[place];
        match is_dead(object) {
            true => object.remove_flags(flag::FOUND),
            false => object.add_flags(flag::FOUND),
        }
        marker.show(heap, object);
    }
    marker.finish(heap)
}

/// Marks what some of those that wait refer to, and all that it reaches. False when the slice has ended before.
fn mark_from_waiting(heap: &mut Heap, marker: &mut Marker, places: Range<usize>) -> bool {
    for place in places {
        let object = heap.waiting_for_finalizers()[place];
        object.type_info().for_each_reference(object, Part::Whole, |target| marker.show(heap, target));
    }
    marker.finish(heap)
}
