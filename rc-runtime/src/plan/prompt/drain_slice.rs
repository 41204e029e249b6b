//! The slice of a drain: how much dies at one safepoint while a pause goal is set. `[BOUND]`
//!
//! A drain is called at every safepoint, and most end within a chunk of units. So the clock is first read when a chunk is used up,
//! and a drain that ends before that has no slice: this is not the slice of the collector's drivers, which begins with the clock.
//! After a slice that left something the old structures wait until the program has had as much time; what became
//! pending since does not.

use crate::heap::Heap;
use crate::services::control::CHUNK_UNITS;
use std::time::Instant;

impl Heap {
    /// The budget of a drain. True when the mutator has not had its turn since the last slice, and old work should wait.
    pub(super) fn start_slice(&mut self) -> bool {
        if self.services.finalizers.depth() > 0 {
            return false;
        }
        if !self.prompt.sliced_drains {
            self.prompt.units_left = i64::MAX;
            return false;
        }
        let rationed = !self.prompt.cascades.is_empty()
            && self.options.slice_units.is_none()
            && self.prompt.slice_start.is_some_and(|end| (end.elapsed().as_nanos() as u64) < self.options.slice_ns);
        self.prompt.units_left = self.options.slice_units.map_or(CHUNK_UNITS, i64::from);
        if !rationed {
            self.prompt.slice_start = None;
        }
        rationed
    }

    /// The units of a chunk are used up: whether the slice has time for another.
    #[cold]
    pub(super) fn has_more_time(&mut self) -> bool {
        if !self.prompt.sliced_drains {
            self.prompt.units_left = i64::MAX;
            return true;
        }
        if self.options.slice_units.is_some() {
            return false;
        }
        let start = *self.prompt.slice_start.get_or_insert_with(Instant::now);
        if start.elapsed().as_nanos() as u64 >= self.options.slice_ns {
            return false;
        }
        self.prompt.units_left = CHUNK_UNITS;
        true
    }

    /// Whether the outermost drain ends after some time: what finalizers take is a part of that.
    fn is_timed(&self) -> bool {
        self.prompt.sliced_drains && self.options.slice_units.is_none() && self.services.finalizers.depth() == 0
    }

    pub(super) fn begin_finalizer_in_slice(&mut self) {
        if self.is_timed() {
            self.prompt.slice_start.get_or_insert_with(Instant::now);
        }
    }

    /// The slice ends with a finalizer that has used it up.
    pub(super) fn end_finalizer_in_slice(&mut self) {
        if self.is_timed()
            && let Some(start) = self.prompt.slice_start
            && start.elapsed().as_nanos() as u64 >= self.options.slice_ns
        {
            self.prompt.units_left = 0;
        }
    }

    #[cold]
    fn end_timed_slice(&mut self, start: Instant, left: bool) {
        let ns = start.elapsed().as_nanos() as u64;
        self.statistics.slices += 1;
        self.note_stop(start, ns);
        self.prompt.slice_start = left.then(Instant::now);
    }

    /// Compiled code calls the drain again while anything is left.
    #[inline(always)]
    pub(super) fn end_slice(&mut self) {
        if self.services.finalizers.depth() > 0 {
            return;
        }
        let left = !self.prompt.cascades.is_empty();
        if let Some(start) = self.prompt.slice_start
            && self.prompt.units_left <= 0
        {
            self.end_timed_slice(start, left);
        }
        let due = left
            || self.pending_len() != 0
            || self.services.specials.post_clear.are_due()
            || self.prompt.address_taken.is_due();
        let due = due || !self.services.finalizers.queue.is_empty() || self.large.leaving.blocks() != 0;
        self.context_mut().pending = due as u64;
    }
}
