//! Finalizers of objects that die by counting: inside the drain, with the object held by one count meanwhile.
//!
//! References that the finalizer stores into the dying object are released with its other fields; if it stores the object
//! somewhere, that lives on. If it registers the object anew, that lives until the safepoint has ended. A drain inside
//! it takes what became pending since it began, and cycles are judged inside it as outside. Members of dead cycles wait
//! on the queue ([`crate::services::finalizer`]) until the driver has returned and no finalizer runs, and their cycle is judged
//! again afterwards.

use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;
use crate::object::{ObjectRef, prompt_flag};
use crate::plan::prompt::interrupted::InterruptedDrain;

impl Heap {
    /// Runs the object's finalizer; true when the object is dead afterwards.
    pub(super) fn run_finalizer(mut heap: HeapEntry, object: ObjectRef) -> bool {
        object.remove_flags(prompt_flag::DYING);
        object.set_exact_count(1);
        let is_nested = heap.services.finalizers.depth() != 0;
        let left = &mut heap.prompt.nested_left;
        *left = left.saturating_sub(is_nested.into());
        Heap::finalize(heap, object);
        if object.needs_finalizer() {
            heap.services.finalizers.done.push(object);
            return false;
        }
        let count = object.exact_count().wrapping_sub(1);
        object.set_exact_count(count);
        if count != 0 {
            heap.note_survivor(object);
        }
        count == 0
    }

    /// Runs the finalizer of a member of a dead cycle, which one count holds; then that count goes, and the cycle is judged
    /// again, with what the finalizers made of it.
    pub(crate) fn finalize_in_cycle(mut heap: HeapEntry, object: ObjectRef) {
        if object.needs_finalizer() {
            Heap::finalize(heap, object);
        }
        match object.needs_finalizer() {
            true => heap.services.finalizers.done.push(object),
            false => heap.decrement_exact(object),
        }
    }

    /// Puts every object of which `is_due` in front of the queue. Returns how many there are.
    pub(crate) fn queue_counted_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> usize {
        let (held, others) = self.take_queue(is_due);
        let mut found = List::new();
        self.for_each_counted(|_, object| found.extend(is_due(object).then_some(object)));
        found.iter().for_each(|object| object.increment_exact());
        // Those that waited already were held by a count, and are among what was found.
        held.iter().for_each(|&object| self.decrement_exact(object));
        self.put_first_in_the_queue(found, others)
    }

    /// The safepoint ends: objects that their own finalizers have registered anew may be found dead again, at the next.
    #[inline(always)]
    pub(crate) fn let_registered_anew_go(&mut self) {
        if !self.services.finalizers.done.is_empty() && self.services.finalizers.depth() == 0 {
            self.let_done_go();
        }
    }

    #[cold]
    fn let_done_go(&mut self) {
        for object in std::mem::take(&mut self.services.finalizers.done) {
            self.decrement_exact(object);
        }
    }

    /// An object that was at zero is counted again.
    #[inline(always)]
    pub(super) fn note_survivor(&mut self, object: ObjectRef) {
        if !object.is_settled() {
            self.note_candidate(object);
        }
    }

    /// The program is called: drains inside that call take what becomes pending from now on. Returns what is to be restored.
    pub(crate) fn interrupt_drain(&mut self) -> InterruptedDrain {
        let from = self.pending_len();
        InterruptedDrain {
            drain_from: std::mem::replace(&mut self.prompt.drain_from, from),
            units_left: self.prompt.units_left,
            protected: self.prompt.protected.len(),
        }
    }

    /// It has ended.
    pub(crate) fn resume_drain(&mut self, interrupted: InterruptedDrain) {
        self.prompt.drain_from = interrupted.drain_from;
        self.prompt.units_left = interrupted.units_left;
    }

    /// The program has left calls by a jump: objects that were protected since the innermost that is left began are not any more.
    pub(crate) fn end_protection(&mut self, interrupted: InterruptedDrain) {
        self.prompt.protected.truncate(interrupted.protected);
    }

    /// No call is left: settings that a step or a complete drain has changed apply again.
    pub(crate) fn restore_settings(&mut self) {
        if let Some((sliced_drains, slice_ns)) = self.prompt.settings.take() {
            (self.prompt.sliced_drains, self.options.slice_ns) = (sliced_drains, slice_ns);
        }
    }

    /// One of a set that the mark has not found all of is held until its finalizer has run.
    pub fn hold_with_set(&mut self, object: ObjectRef) {
        object.increment_exact();
        self.services.finalizers.note_found_by_mark(object);
    }
}
