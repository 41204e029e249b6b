//! Writes whose counts compiled code has put off. `[EXACT]`
//!
//! In a loop of writes the counts of the new reference and of the old one are cache misses, and their
//! branches (was it null? has anything to be noted?) guess wrongly; behind such a branch, or with the instructions of
//! two counts between one write and the next, a processor looks for no other miss. But nothing dies before the next
//! safepoint, and no code reads a count till then. So a loop only notes both words, whatever they are, and counts follow
//! in one pass, whose misses overlap:
//!
//! ```text
//! compiled:  old = o.slot;  o.slot = v;  *context.postponed_top++ = (v, old)      at the end of the room: tally_postpone
//! here:      for each pair, in order:  increment(v);  decrement(old): at zero pending, at once; not settled: noted afterwards
//! ```
//!
//! The lowering has this done before every safepoint but its own polls, and before its function ends; so does each
//! drain, and whatever begins with one. An object that reaches zero otherwise waits for the writes postponed before it: objects are
//! pending in the order in which they lost their references.
//!
//! Expected cost of a write: 3 loads, 4 stores, 1 branch that is always guessed; of its pair here about 30
//! instructions. Ten million random writes into a million objects take three quarters of the time. Without fetching
//! ahead they took 0.9.

use super::count::{LOW, SETTLED};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range;
use crate::object::ObjectRef;

/// Writes that are put off at most: with 8 KiB they stay in the first-level cache.
const ROOM: usize = 512;
/// Pairs whose counts are fetched before it is their turn.
const AHEAD: usize = 16;

/// Fewer pairs than this are counted without fetching ahead: the processor sees them all.
const MANY: usize = 64;

/// The new and the old reference of a field.
type Pair = [u64; 2];

/// The memory of postponed writes; `Context::postponed_top` says how much of it is in use.
#[derive(Debug, Default)]
pub struct Postponed {
    /// None, or `ROOM` pairs and as many as are fetched beyond them.
    pairs: List<Pair>,
    /// Objects that were not settled; memory of one pass.
    unsettled: List<ObjectRef>,
}

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
        if self.context_mut().postponed_top > self.prompt.postponed.pairs.as_ptr() as u64 {
            self.apply_all();
        }
    }

    #[inline(never)]
    fn apply_all(&mut self) {
        let start = self.prompt.postponed.pairs.as_ptr();
        let top = std::mem::replace(&mut self.context_mut().postponed_top, start as u64);
        let count = (top - start as u64) as usize / size_of::<Pair>();
        debug_assert!(count <= ROOM);
        if count < MANY { self.apply_pairs::<false>(count) } else { self.apply_pairs::<true>(count) }
    }

    #[inline(always)]
    fn apply_pairs<const FETCH: bool>(&mut self, count: usize) {
        let mut pair = self.prompt.postponed.pairs.as_ptr();
        // SAFETY: at most `ROOM` pairs are put off.
        let end = unsafe { pair.add(count) };
        let unsettled = self.prompt.postponed.unsettled.as_mut_ptr();
        let mut note = unsettled;
        while pair != end {
            // SAFETY: a pair before the end; it notes one object at most, and there is room for one of each.
            unsafe {
                note = self.apply_pair::<FETCH>(pair, note);
                pair = pair.add(1);
            }
        }
        // SAFETY: both lie in the same vector.
        for at in 0..unsafe { note.offset_from_unsigned(unsettled) } {
            // SAFETY: written above.
            self.note_candidate(unsafe { *unsettled.add(at) });
        }
    }

    /// Counts what a write wrote and replaced. Unsettled objects go to `note`; returns the place of the next.
    ///
    /// # Safety
    /// `pair` is one of those put off, `note` one of as many places in `unsettled`.
    #[inline(always)]
    unsafe fn apply_pair<const FETCH: bool>(&mut self, pair: *const Pair, note: *mut ObjectRef) -> *mut ObjectRef {
        // SAFETY: by the caller's promise; the vector has `AHEAD` pairs more.
        let ([new, old], ahead) = unsafe { (*pair, if FETCH { *pair.add(AHEAD) } else { Pair::default() }) };
        if FETCH {
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
        unsafe {
            *note = object;
            note.add(usize::from(byte < SETTLED))
        }
    }
}
