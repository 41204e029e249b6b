//! Counts that compiled code has put off are made up for. `[EXACT]`

use super::super::count::{LOW, SETTLED};
use super::{AHEAD, MANY, Pair, ROOM};
use crate::heap::Heap;
use crate::memory::range;
use crate::object::ObjectRef;

impl Heap {
    /// There is no room for another write: counts the postponed writes, and postpones this one.
    #[inline(never)]
    pub fn postpone(&mut self, new: u64, old: u64) {
        self.apply_postponed();
        let postponed = &mut self.prompt.postponed;
        if postponed.pairs.is_empty() {
            postponed.pairs.resize(ROOM + AHEAD, Pair::default());
            postponed.unsettled.reserve(ROOM);
        }
        postponed.pairs[0] = [new, old];
        let start = postponed.pairs.as_ptr() as u64;
        let pair = size_of::<Pair>() as u64;
        let context = self.context_mut();
        (context.postponed_top, context.postponed_end) = (start + pair, start + ROOM as u64 * pair);
    }

    /// Counts what compiled code has put off.
    #[inline(always)]
    pub fn apply_postponed(&mut self) {
        if self.has_postponed() {
            self.apply_all();
        }
    }

    /// Whether compiled code has put any off.
    #[inline(always)]
    pub(in crate::plan::prompt) fn has_postponed(&mut self) -> bool {
        self.context_mut().postponed_top > self.prompt.postponed.pairs.as_ptr() as u64
    }

    #[inline(never)]
    pub(in crate::plan::prompt::postponed) fn apply_all(&mut self) {
        let start = self.prompt.postponed.pairs.as_ptr();
        let top = std::mem::replace(&mut self.context_mut().postponed_top, start as u64);
        let count = (top - start as u64) as usize / size_of::<Pair>();
        debug_assert!(count <= ROOM);
        if count < MANY { self.apply_pairs::<false>(count) } else { self.apply_pairs::<true>(count) }
    }

    #[inline(always)]
    pub(in crate::plan::prompt::postponed) fn apply_pairs<const FETCH: bool>(&mut self, count: usize) {
        let mut pair = self.prompt.postponed.pairs.as_ptr();
        // SAFETY: at most `ROOM` pairs are put off.
        let end = unsafe { pair.add(count) };
        let unsettled = self.prompt.postponed.unsettled.as_mut_ptr();
        let mut note = unsettled;
        while pair != end {
            // SAFETY: [LIST] a pair before the end; it notes one object at most, and there is room for one of each.
            note = unsafe { self.apply_pair::<FETCH>(pair, note) };
            // SAFETY: [LIST] a pair before the end; it notes one object at most, and there is room for one of each.
            pair = unsafe { pair.add(1) };
        }
        // SAFETY: both lie in the same vector.
        for at in 0..unsafe { note.offset_from_unsigned(unsettled) } {
            // SAFETY: written above.
            self.note_candidate(unsafe { *unsettled.wrapping_add(at) });
        }
    }

    /// Counts what a write wrote and replaced. Unsettled objects go to `note`; returns the place of the next.
    ///
    /// # Safety
    /// `pair` is one of those put off, `note` one of as many places in `unsettled`.
    #[inline(always)]
    pub(in crate::plan::prompt::postponed) unsafe fn apply_pair<const FETCH: bool>(
        &mut self,
        pair: *const Pair,
        note: *mut ObjectRef,
    ) -> *mut ObjectRef {
        // SAFETY: by the caller's promise.
        let [new, old] = unsafe { *pair };
        if FETCH {
            // SAFETY: the vector has `AHEAD` pairs more.
            let ahead = unsafe { pair.add(AHEAD) };
            // SAFETY: the vector has `AHEAD` pairs more.
            let ahead = unsafe { *ahead };
            ahead.into_iter().for_each(range::prefetch_count);
        }
        if range::in_heap(new) {
            // SAFETY: [HEADER] a reference that was written.
            unsafe { ObjectRef::from_address(new) }.increment_exact();
        }
        if !range::in_heap(old) {
            return note;
        }
        // SAFETY: [HEADER] a reference that a field held, counted until now.
        let object = unsafe { ObjectRef::from_address(old) };
        let byte = object.count().wrapping_sub(1);
        if byte & LOW == 0 {
            object.set_count(byte);
            self.note_low(object);
            return note;
        }
        // No branch tells the unsettled ones: they come as they please.
        object.set_count(byte | SETTLED);
        // SAFETY: by the caller's promise.
        unsafe { *note = object };
        // SAFETY: by the caller's promise.
        unsafe { note.add(usize::from(byte < SETTLED)) }
    }
}
