//! A collection of the trace plan, from the first root to the last hole. The program stands still.
//!
//! 1. Everything that a root holds is marked, and all that it reaches: frames, globals, handles, the host's roots, objects
//!    that the runtime holds for a call, or that are immortal. `[ROOT]`
//! 2. What is not marked is dead. Weak references to it are cleared, before any finalizer runs. `[WEAK]`
//! 3. The dead that have finalizers join those that wait for theirs. These are judged anew, so that owners come first, and
//!    all are marked with all that they reach: they die at a later collection, unless a finalizer has stored them somewhere.
//! 4. Ephemerons whose key is still not marked release their values.
//! 5. The holes of all blocks are found again; no dead object is looked at. `[RECLAIM]`

use super::TraceDriver;
use super::marker::Marker;
use crate::root_source::RootList;
use std::time::Instant;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::range::MARK;
use tally_heap::object::flag;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

impl TraceDriver {
    /// Collects. Returns how many objects died.
    pub(super) fn collect_now(&mut self, heap: &mut Heap) -> u64 {
        let start = Instant::now();
        heap.inspect();
        heap.begin_collection();
        self.stops.report = EpochReport::open(heap);
        let mut marker = Marker::of(heap);
        self.mark_roots(heap, &mut marker);
        marker.finish(heap);

        let (special, dead) = heap.take_special(is_dead);
        let finalizable = heap.take_finalizable();
        heap.queue_found_dead(&finalizable, is_dead);
        heap.set_mark_phase(MarkPhase::Condemns);
        match heap.waiting_for_finalizers().is_empty() {
            true => heap.begin_reclaim_all(&special[..dead]),
            false => heap.begin_reclaim_before_finalizers(&special[..dead]),
        }
        keep_for_finalizers(heap, &mut marker);
        for ephemeron in marker.take_held_back() {
            marker.units += heap.empty_ephemeron(ephemeron) as u64;
        }
        // A finalizer may need some of them.
        let ends = || special[..dead].iter().copied().filter(|&object| is_dead(object));
        ends().for_each(|object| heap.dismantle(object));
        ends().for_each(|object| heap.end_special(object));
        heap.put_special_back(special, is_dead);
        heap.set_mark_phase(MarkPhase::Off);
        let (survivors, units) = marker.end(heap);
        let freed = heap.sweep(survivors);
        heap.put_finalizable_back(finalizable);
        heap.release_finalizers();
        heap.set_poll(heap.zeal.is_some() || heap.services.finalizers.are_ready());
        self.note_collection(heap, freed, units);
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        freed
    }

    /// Marks what roots hold, and what the runtime holds itself.
    fn mark_roots(&mut self, heap: &mut Heap, marker: &mut Marker) {
        let mut roots = RootList::of_live_objects(std::mem::take(&mut self.roots), heap);
        heap.for_each_host_reference(|root| roots.push(heap, root, &|| "a root of the host".to_owned()));
        let slots = heap.for_each_global_reference(|root, global| {
            roots.push(heap, root, &|| format!("global root `{}`", global.name));
        });
        heap.statistics.roots_walked += slots;
        let before = heap.statistics.frames_walked;
        self.stack.visit(heap, &mut roots);
        let statistics = &mut heap.statistics;
        statistics.frames_at_once_max = statistics.frames_at_once_max.max(statistics.frames_walked - before);
        let mut roots = roots.into_objects();
        heap.for_each_held(|held| roots.push(held));
        self.stops.report.roots = roots.len() as u64;
        while let Some(root) = roots.pop() {
            marker.show(heap, root);
        }
        self.roots = roots;
    }

    fn note_collection(&mut self, heap: &mut Heap, freed: u64, units: u64) {
        heap.statistics.mark_units += units;
        self.stops.report.freed_by_mark = freed;
        self.stops.close_report(heap);
        self.trigger.note_collection(heap);
        if let Some(zeal) = &mut heap.zeal {
            zeal.note_round(units);
        }
    }
}

fn is_dead(object: ObjectRef) -> bool {
    !MARK.get(object.granule())
}

/// Objects that wait for their finalizers live on with all that they reach. Each that another of them reaches gets the
/// flag `FOUND`: finalizers that run for owners first leave it to a later collection.
fn keep_for_finalizers(heap: &mut Heap, marker: &mut Marker) {
    let waiting = heap.waiting_for_finalizers().len();
    for place in 0..waiting {
        let object = heap.waiting_for_finalizers()[place];
        object.type_info().for_each_reference(object, Part::Whole, |target| marker.show(heap, target));
    }
    marker.finish(heap);
    for place in 0..waiting {
        let object = heap.waiting_for_finalizers()[place];
        match is_dead(object) {
            true => object.remove_flags(flag::FOUND),
            false => object.add_flags(flag::FOUND),
        }
        marker.show(heap, object);
    }
    marker.finish(heap);
}
