//! A mark in slices: step 1 of a [collection](crate::plan::bump::mark_and_sweep) beside the program, the other steps in one stop.
//!
//! ```text
//!   due ──► roots are taken, barriers armed ──► slices: what they reach is marked ──► a stop: the rest, within the bound
//! ```
//!
//! It begins before the room of the heap is used up, and slices come closer the more of the rest is used (`account`). What the
//! program shows meanwhile is on the heap's mark stack between two slices ([`tally_heap::plan::bump::sliced`]). It is given up, and
//! the heap begins to count, if an object finds no room there, if the stack is deep, or if the stop at the end would be too long:
//! that looks at special objects and finalizers. An explicit collection gives it up and marks anew.

use super::Marking;
use crate::account::Pressure;
use crate::plan::bump::mark_and_sweep::end_and_sweep;
use crate::plan::bump::marker::Marker;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::flip::FRAMES_AT_FLIP;
use crate::slice::{SLICE_UNITS, Slice, thread_time};
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::report::epoch_report::EpochReport;

/// The mark that runs.
#[derive(Debug)]
pub(super) struct SlicedMark {
    marker: Marker,
    /// Nothing was left to mark at the end of the last slice.
    is_found: bool,
    /// Bytes that were allocated when it began, since the last collection.
    begun_at: u64,
    /// What it has cost, in nanoseconds of the thread.
    ns: u64,
    /// It was begun by a step of an explicit collection.
    is_explicit: bool,
}

/// How a slice of such a mark has ended.
enum Outcome {
    GoesOn,
    Ended,
    /// Counts are cheaper.
    EndedDear,
    GivenUp,
}

impl Marking {
    /// Bytes that may be allocated before the pressure of a mark that runs is full: a fourth of what lives.
    fn room(&self, heap: &Heap) -> u64 {
        (heap.statistics.live_bytes / 4).max(heap.options().epoch_bytes / 4)
    }

    /// How near to that a mark is that runs.
    fn pressure(&self, heap: &Heap) -> Pressure {
        let begun_at = self.sliced.as_ref().map_or(0, |mark| mark.begun_at);
        Pressure::of(heap.clock.given_bytes.saturating_sub(begun_at), self.room(heap))
    }

    /// Whether the next mark goes in slices.
    pub(super) fn goes_in_slices(&self, heap: &Heap) -> bool {
        let options = heap.options();
        (self.in_slices || options.eager_slices) && !options.stop_the_world
    }
}

impl DeferredDriver {
    /// Whether a mark in slices runs.
    pub(crate) fn marks_in_slices(&self) -> bool {
        self.marking.sliced.is_some()
    }

    /// Begins a mark in slices. False if the stack has too many frames: the heap must begin to count.
    pub(super) fn begin_slices(&mut self, heap: &mut Heap, is_explicit: bool) -> bool {
        let begun_at = heap.clock.given_bytes;
        heap.inspect();
        heap.begin_collection();
        self.stops.report = EpochReport::open(heap);
        self.find_roots(heap, FRAMES_AT_FLIP);
        if self.stack.has_rest() {
            return false;
        }
        self.stops.report.roots = self.roots.len() as u64;
        heap.for_each_held(|held| self.roots.push(held));
        let mut marker = Marker::of(heap, Slice::default());
        marker.pause(heap);
        heap.begin_sliced_mark();
        self.marking.sliced = Some(SlicedMark { marker, is_found: false, begun_at, ns: 0, is_explicit });
        true
    }

    /// The mutator takes a block while such a mark runs.
    pub(super) fn pace_slices(&mut self, heap: &mut Heap) {
        let pressure = self.marking.pressure(heap);
        if self.stops.program_had_its_turn(heap, heap.clock.given_bytes, pressure) {
            self.slice_of_sliced_mark(heap);
        }
    }

    /// A stop of the program for a slice of the mark that runs.
    pub(crate) fn slice_of_sliced_mark(&mut self, heap: &mut Heap) -> bool {
        heap.statistics.slices += 1;
        let slice = Slice::of_heap(heap.options(), SLICE_UNITS * 4);
        let ended = self.stopped(heap, |driver, heap| {
            driver.stops.slice_units = 0;
            let ended = driver.go_on_in_slices(heap, slice);
            driver.stops.note_slice(heap);
            ended
        });
        self.update_poll(heap);
        ended
    }

    /// Goes on for a slice; if the mark is given up the heap counts from here on. Returns whether it has ended either way.
    pub(super) fn go_on_in_slices(&mut self, heap: &mut Heap, slice: Slice) -> bool {
        let outcome = self.advance_slices(heap, slice);
        match outcome {
            Outcome::GoesOn => return false,
            Outcome::Ended => {}
            Outcome::EndedDear => self.begin_counting(heap),
            Outcome::GivenUp => {
                self.abandon_slices(heap);
                heap.statistics.marks_aborted += 1;
                self.begin_counting(heap);
            }
        }
        true
    }

    fn advance_slices(&mut self, heap: &mut Heap, slice: Slice) -> Outcome {
        let Some(mut mark) = self.marking.sliced.take() else { return Outcome::Ended };
        let (start, cpu) = (Instant::now(), thread_time());
        let before = mark.marker.units;
        let is_last = mark.is_found;
        let slice = if is_last { Slice::of_mark(heap.options()) } else { slice };
        mark.marker.resume(heap, slice);
        mark.is_found = self.mark_roots(heap, &mut mark.marker) && mark.marker.finish(heap);
        let units = mark.marker.units - before;
        self.stops.slice_units += units;
        heap.statistics.mark_units += units;
        let lost = heap.sliced_mark_has_lost() || mark.marker.has_forgotten();
        let outcome = if lost {
            Outcome::GivenUp
        } else if is_last && mark.is_found {
            return self.end_slices(heap, mark, (start, cpu));
        } else {
            Outcome::GoesOn
        };
        mark.marker.pause(heap);
        mark.ns += (thread_time() - cpu).as_nanos() as u64;
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        self.marking.sliced = Some(mark);
        outcome
    }

    /// Shows the roots to the mark. False if the slice has ended before.
    fn mark_roots(&mut self, heap: &mut Heap, marker: &mut Marker) -> bool {
        while let Some(root) = self.roots.pop() {
            marker.show(heap, root);
            if !marker.spend(1) {
                return false;
            }
        }
        true
    }

    /// Nothing is left to mark: the other steps of the collection.
    fn end_slices(
        &mut self,
        heap: &mut Heap,
        mark: SlicedMark,
        (start, cpu): (Instant, std::time::Duration),
    ) -> Outcome {
        heap.end_sliced_mark();
        let before = mark.marker.units;
        let collected = end_and_sweep(heap, mark.marker, true);
        heap.statistics.mark_units += collected.units - before;
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        let ns = mark.ns + (thread_time() - cpu).as_nanos() as u64;
        self.marking.learn(heap, collected.units, ns, collected.freed.is_some());
        let Some(freed) = collected.freed else { return Outcome::GivenUp };
        self.stops.report.freed_by_mark = freed;
        self.stops.close_report(heap);
        self.marking.note_collection(heap, collected.units);
        let ns = collected.units as f64 * self.marking.unit_ns(heap);
        if ns <= heap.options().mark_bound_ns() as f64 / 2.0 {
            self.marking.in_slices = false;
        } else if self.marking.counts_are_cheaper(heap, collected.units) {
            return Outcome::EndedDear;
        }
        Outcome::Ended
    }

    /// The mark that runs, if there is one, is given up; nothing has died of it.
    pub(crate) fn abandon_slices(&mut self, heap: &mut Heap) {
        if self.marking.sliced.take().is_some() || heap.mark_is_sliced() {
            heap.abandon_sliced_mark();
            self.roots.clear();
        }
    }

    /// A step of an explicit collection: goes on with the mark that runs, for `ns`. Returns whether a mark has ended that was
    /// begun by such a step.
    pub(super) fn step_in_slices(&mut self, heap: &mut Heap, ns: u64) -> bool {
        if !self.marks_in_slices() && !self.begin_slices(heap, true) {
            heap.statistics.marks_aborted += 1;
            self.begin_counting(heap);
            return false;
        }
        let is_explicit = self.marking.sliced.as_ref().is_some_and(|mark| mark.is_explicit);
        let ended = self.go_on_in_slices(heap, Slice::of_time(i64::MAX, ns));
        ended && is_explicit && heap.marks_instead_of_counting()
    }
}
