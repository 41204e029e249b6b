//! A collection that stops the program.

use super::Tracer;
use crate::collection_log::Kind;
use crate::plan::bump::mark_and_sweep::mark_and_sweep;
use crate::root_source::{RootList, note_frames};
use crate::slice::Slice;
use std::time::Instant;
use tally_heap::Heap;

impl Tracer {
    /// Collects. Returns how many objects died.
    pub(super) fn collect_now(&mut self, heap: &mut Heap) -> u64 {
        let start = Instant::now();
        heap.inspect();
        self.stack.lay_down(heap);
        heap.begin_collection();
        self.stops.open_report(heap, Kind::Collection);
        self.stack.mark_begins();
        let of_roots = self.take_roots(heap, usize::MAX);
        self.stops.report.roots = self.roots.len() as u64;
        let collected = mark_and_sweep(heap, &mut self.roots, Slice::default());
        self.stack.mark_ends();
        let freed = collected.freed.expect("the slice has no end");
        self.note_collection(heap, freed, of_roots + collected.units);
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        freed
    }

    /// Of the stack those of so many frames. Returns what the walk has cost, in units.
    pub(super) fn take_roots(&mut self, heap: &mut Heap, frames: usize) -> u64 {
        let mut roots = RootList::of_live_objects(std::mem::take(&mut self.roots), heap);
        roots.push_those_outside_the_stack(heap);
        let (before, walked) = (heap.statistics.frames_walked, self.stack.units_walked(heap));
        self.stack.begin(heap, frames, &mut roots);
        note_frames(heap, before);
        self.roots = roots.into_objects();
        self.stack.units_walked(heap) - walked
    }

    pub(super) fn note_collection(&mut self, heap: &mut Heap, freed: u64, units: u64) {
        self.update_poll(heap);
        heap.statistics.mark_units += units;
        self.stops.report.freed_by_mark = freed;
        self.stops.close_report(heap);
        self.growth.note_collection(heap, units);
        if let Some(zeal) = &mut heap.zeal {
            zeal.note_round(units);
        }
    }
}
