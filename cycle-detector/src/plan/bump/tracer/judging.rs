//! The dead are judged in slices: one match on what is done to them next. The heap has the steps (`plan::trace::judging`). `[WEAK]`
//!
//! ```text
//! Weak ──► Reached ──► Waiting ──► Queue ──► Forget ──► Owned ──► Keep ──► Keys ──► Slots
//! slots    what those  noted       finalizers           what finalizers    of       of what
//! that     refer to                of the dead          need is marked     held-    is still
//! refer    that wait                                                       back     dead
//! to the                                                                   ephemerons
//! dead
//! ```
//!
//! A collection that stops the program does the same in one piece (`plan/bump/mark_and_sweep`), and says what each step is for. What is
//! shown meanwhile is followed before the next step.

use crate::plan::bump::marker::Marker;
use tally_heap::memory::list::List;
use tally_heap::object::flag;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    Weak,
    /// What those refer to that waited before.
    Reached,
    Waiting,
    Queue,
    Forget,
    /// What those that wait refer to.
    Owned,
    /// And they themselves.
    Keep,
    Keys,
    Slots,
}

/// How far the dead are judged.
#[derive(Debug)]
pub(super) struct Judging {
    pub(super) marker: Marker,
    step: Step,
    /// The next of those that wait, and of its chunks.
    at: usize,
    chunk: u64,
    held_back: List<ObjectRef>,
}

impl Judging {
    /// Begins: all that the mark can reach is marked.
    pub(super) fn begin(heap: &mut Heap, marker: Marker) -> Judging {
        heap.condemn();
        Judging { marker, step: Step::Weak, at: 0, chunk: 0, held_back: List::new() }
    }

    /// About `units` of work; returns the units, `None` at the end. The marker has a slice of so many.
    pub(super) fn advance(&mut self, heap: &mut Heap, units: i64) -> Option<i64> {
        let before = self.marker.units;
        let has_followed = self.marker.finish(heap);
        let spent = (self.marker.units - before) as i64;
        if !has_followed {
            return Some(1 + spent);
        }
        let done = match self.step {
            Step::Weak => heap.clear_weak_some(units),
            Step::Waiting => heap.note_waiting_some(),
            Step::Queue => heap.queue_some(),
            Step::Forget => heap.forget_noted_some(),
            Step::Reached | Step::Owned => self.show_owned(heap),
            Step::Keep => self.show_waiting(heap),
            Step::Keys => self.empty_next(heap),
            Step::Slots => return heap.end_special_some(units).map(|done| done + spent),
        };
        if done.is_none() {
            self.enter_next(heap);
        }
        Some(done.unwrap_or(1) + spent)
    }

    fn enter_next(&mut self, heap: &mut Heap) {
        (self.at, self.chunk) = (0, 0);
        self.step = match self.step {
            Step::Weak => Step::Reached,
            Step::Reached => {
                heap.begin_queueing();
                Step::Waiting
            }
            Step::Waiting => {
                heap.end_noting();
                Step::Queue
            }
            Step::Queue => {
                heap.end_queueing();
                Step::Forget
            }
            Step::Forget => {
                heap.put_registered_back();
                Step::Owned
            }
            Step::Owned => Step::Keep,
            Step::Keep => {
                self.held_back = self.marker.take_all_held_back();
                Step::Keys
            }
            Step::Keys | Step::Slots => Step::Slots,
        };
    }

    /// Shows what the next of those that wait refers to, or a chunk of it.
    fn show_owned(&mut self, heap: &mut Heap) -> Option<i64> {
        let object = *heap.waiting_for_finalizers().get(self.at)?;
        let is_large = object.has(flag::LARGE) && object.type_info().has_references;
        let part = if is_large { Part::Chunk(self.chunk) } else { Part::Whole };
        let mut spent = 2;
        object.type_info().for_each_reference(object, part, |target| {
            spent += 1;
            self.marker.show(heap, target);
        });
        self.chunk += 1;
        if !is_large || self.chunk >= heap.large.stamps(object).len() as u64 {
            (self.at, self.chunk) = (self.at + 1, 0);
        }
        Some(spent)
    }

    /// Shows the next of those that wait. One that another reaches gets the flag `FOUND`.
    fn show_waiting(&mut self, heap: &mut Heap) -> Option<i64> {
        let object = *heap.waiting_for_finalizers().get(self.at)?;
        match heap.is_unmarked(object) {
            true => object.remove_flags(flag::FOUND),
            false => object.add_flags(flag::FOUND),
        }
        self.marker.show(heap, object);
        self.at += 1;
        Some(2)
    }

    /// Empties the next of the ephemerons that were held back.
    fn empty_next(&mut self, heap: &mut Heap) -> Option<i64> {
        let Some(ephemeron) = self.held_back.pop() else {
            // One that got another key has been visited again.
            self.held_back = self.marker.take_all_held_back();
            return (!self.held_back.is_empty()).then_some(1);
        };
        Some(heap.empty_ephemeron(ephemeron))
    }
}
