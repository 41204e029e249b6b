//! The mark that stops the world.

use super::super::marker::Marker;
use super::{BYTES_PER_OBJECT, CountedMarks, sweep, unmarked_with_finalizer};
use crate::collection_log::Kind;
use crate::evidence::Facts;
use crate::plan::prompt::PromptDriver;
use std::time::Instant;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::list::List;
use tally_heap::memory::range::MARK;
use tally_heap::object::prompt_flag;
use tally_heap::{Heap, ObjectRef};

impl PromptDriver {
    /// Whether suspects and growth together say that a mark would pay.
    pub(in crate::plan::prompt) fn counted_mark_is_due(&mut self, heap: &Heap) -> bool {
        let (live, epoch) = (heap.kept_bytes(), heap.options().epoch_bytes);
        let facts = Facts { live, epoch, suspects: heap.suspects, in_doubt: false };
        let CountedMarks { evidence, cap, .. } = &mut self.counted_marks;
        heap.options().eager_marks || cap.is_exceeded(heap) || !self.trials.catches_up() && evidence.is_enough(facts)
    }

    /// Marks, and frees unmarked objects. Returns the number of objects freed.
    pub(crate) fn prompt_mark(&mut self, heap: &mut Heap) -> u64 {
        let start = Instant::now();
        self.replace_sliced_mark(heap);
        self.open_round(heap, Kind::Mark);
        heap.statistics.marks += 1;
        self.counted_marks.cap.note_start(heap);
        self.counted_marks.evidence.note_start(std::mem::take(&mut heap.suspects));
        let mut marker = std::mem::take(&mut self.counted_marks.marker);
        heap.services.specials.mark_begins();
        self.mark_roots(heap, &mut marker);
        let mut units = marker.finish(heap);
        // Those whose finalizers wait already are as good as dead, and so is what only dying objects hold.
        marker.count_bytes();
        heap.services.finalizers.queue.iter().for_each(|&object| marker.show(object));
        heap.prompt.for_each_dying_reference(|object| marker.show(object));
        units += marker.finish(heap);
        let waiting = marker.take_counted_bytes();
        let is_dead =
            |object: &ObjectRef| !MARK.get(object.granule()) && !object.has(prompt_flag::DEAD | prompt_flag::DYING);
        let specials = &heap.services.specials;
        let special: List<ObjectRef> = specials.objects().chain(specials.objects_of_bonds()).filter(is_dead).collect();
        let finalizable = unmarked_with_finalizer(heap);
        heap.set_mark_phase(MarkPhase::Condemns);
        match finalizable.is_empty() {
            true => heap.begin_reclaim_all(&special),
            false => heap.begin_reclaim_before_finalizers(&special),
        }
        if !finalizable.is_empty() {
            marker.count_bytes();
        }
        for &object in &finalizable {
            marker.show(object);
        }
        units += marker.finish(heap);
        let mut awaited = waiting + marker.counted_bytes();
        for ephemeron in marker.take_held_back() {
            if !heap.is_held_back(ephemeron) {
                // Its keys wait for finalizers.
                awaited += heap.bytes_of_dead_ephemeron(ephemeron);
            }
            units += heap.empty_ephemeron(ephemeron);
        }
        heap.statistics.mark_units += units as u64;
        marker.reset();
        self.counted_marks.marker = marker;
        special.into_iter().filter(is_dead).for_each(|object| heap.dismantle(object));
        heap.set_mark_phase(MarkPhase::Off);
        // What is alive is counted by a walk over the classes, for the answer to a question.
        let before = self.counted_marks.unproved.asks_for_stop().then(|| heap.counted_live_bytes());
        let freed = sweep(heap);
        let gone = before.map_or(0, |before| before.saturating_sub(heap.counted_live_bytes()));
        self.counted_marks.unproved.note_stop(gone + awaited);
        for object in finalizable {
            object.increment_exact();
            heap.services.finalizers.queue.push_back(object);
        }
        heap.statistics.cyclic_garbage_objects += freed;
        self.stops.report.freed_by_mark = freed;
        heap.clear_marks();
        self.held.note(heap);
        heap.prompt.passed_over = Default::default();
        self.learn_from_mark(heap, freed, awaited, false);
        self.close_round(heap);
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        freed
    }

    /// But for what waits for its finalizer, and what dying objects hold: there may be millions of those, each of them with a
    /// count for it.
    pub(in crate::plan::prompt) fn mark_roots(&mut self, heap: &mut Heap, marker: &mut Marker) {
        marker.most = heap.options().list_entries_max;
        self.find_held(heap);
        self.held.objects().iter().for_each(|&root| marker.show(root));
        let mut roots = 0;
        let mut show = |root| {
            roots += 1;
            marker.show(root);
        };
        heap.services.finalizers.done.iter().copied().chain(heap.services.held_beside_lists()).for_each(&mut show);
        heap.prompt.address_taken.held().for_each(&mut show);
        heap.pending_objects().for_each(&mut show);
        heap.statistics.roots_walked += roots;
        let slots = heap.for_each_global_reference(|root, _| marker.show(root));
        heap.statistics.roots_walked += slots;
        self.stops.report.roots = marker.waiting();
    }

    /// A mark has ended that freed so many objects, and found so many bytes that only finalizers still need, which are as good as
    /// freed.
    pub(in crate::plan::prompt) fn learn_from_mark(&mut self, heap: &Heap, freed: u64, awaited: u64, in_slices: bool) {
        let CountedMarks { evidence, cap, .. } = &mut self.counted_marks;
        evidence.learn(heap.kept_bytes().saturating_sub(awaited), 0, freed * BYTES_PER_OBJECT + awaited);
        cap.note_mark(heap, in_slices, awaited);
    }
}
