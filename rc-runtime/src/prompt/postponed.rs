//! Writes whose counts compiled code has put off. `[EXACT]`
//!
//! In a loop of writes the counts of what is written, and of what the field held before, are cache misses, and their branches (was
//! it null? has anything to be noted?) guess wrongly; behind such a branch, or with the instructions of two counts between one write
//! and the next, a processor looks for no other miss. But nothing dies before the next safepoint, and nobody reads a count till
//! then. So a loop only notes both words, whatever they are, and counts follow in one pass, whose misses overlap:
//!
//! ```text
//! compiled:  old = o.slot;  o.slot = v;  *context.postponed_top++ = (v, old)      at the end of the room: tally_postpone
//! here:      for each pair, in order:  increment(v);  decrement(old): at zero pending, at once; not settled: noted afterwards
//! ```
//!
//! The lowering has this done before every safepoint but its own polls, and before its function ends; so does each drain, and
//! whatever begins with one. What reaches zero otherwise waits for what was put off before it: objects are pending in the order in
//! which they lost their references.
//!
//! Expected cost of a write: 3 loads, 4 stores, 1 branch that is always guessed; of its pair here about 30 instructions. Ten million
//! random writes into a million objects take three quarters of the time. Without fetching ahead they took 0.9.

use super::count::{LOW, SETTLED};
use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::range;

/// Writes that are put off at most: with 8 KiB they stay in the first-level cache.
const ROOM: usize = 512;
/// Pairs whose counts are fetched before it is their turn.
const AHEAD: usize = 16;

/// Fewer pairs than this are counted without fetching ahead: the processor sees them all.
const MANY: usize = 64;

/// What a field holds now, and what it held before.
type Pair = [u64; 2];

/// The memory of what is put off; how much of it is in use says `Context::postponed_top`.
#[derive(Debug, Default)]
pub struct Postponed {
    /// None, or `ROOM` pairs and as many as are fetched beyond them.
    pairs: Vec<Pair>,
    /// Objects that were not settled; memory of one pass.
    unsettled: Vec<ObjectRef>,
}

impl Heap {
    /// There is no room for another write: counts what was put off, and puts off this one.
    #[inline(never)]
    pub fn postpone(&mut self, new: u64, old: u64) {
        self.apply_postponed();
        let postponed = &mut self.prompt.postponed;
        if postponed.pairs.is_empty() {
            postponed.pairs.resize(ROOM + AHEAD, Pair::default());
            postponed.unsettled.reserve_exact(ROOM);
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
        let start = self.prompt.postponed.pairs.as_ptr();
        let unsettled = self.prompt.postponed.unsettled.as_mut_ptr();
        let mut noted = 0;
        for at in 0..count {
            // SAFETY: at most `ROOM` pairs are put off, and the vector has `AHEAD` more.
            let [new, old] = unsafe { *start.add(at) };
            if FETCH {
                // SAFETY: as above.
                unsafe { *start.add(at + AHEAD) }.into_iter().for_each(range::prefetch_count);
            }
            if range::in_heap(new) {
                // SAFETY: [HEADER] a reference that was written.
                unsafe { ObjectRef::from_address(new) }.increment_exact();
            }
            if !range::in_heap(old) {
                continue;
            }
            // SAFETY: [HEADER] a reference that a field held, counted until now.
            let object = unsafe { ObjectRef::from_address(old) };
            let byte = object.count().wrapping_sub(1);
            if byte & LOW == 0 {
                object.set_count(byte);
                self.note_low(object);
                continue;
            }
            // No branch tells the unsettled ones: they come as they please.
            object.set_count(byte | SETTLED);
            // SAFETY: a pair notes one object at most, and there is room for one of each.
            unsafe { *unsettled.add(noted) = object };
            noted += usize::from(byte < SETTLED);
        }
        for at in 0..noted {
            // SAFETY: written above.
            self.note_candidate(unsafe { *unsettled.add(at) });
        }
    }
}
