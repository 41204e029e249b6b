//! The prefetch queue: the objects that a mark visits next, while their lines are on the way to the cache.
//!
//! Between a mark's stack and its visit each object passes through this short queue. Without it nearly every visit of a
//! large heap waits for memory; eight to sixteen objects ahead take a third off a mark. Both plans' marks have one;
//! a caller that stops between two visits puts its content back.

use tally_heap::ObjectRef;

/// Objects that are fetched before it is their turn, here and where a list is gone through.
pub(crate) const AHEAD: usize = 8;

/// A queue of [`AHEAD`] objects.
pub(crate) struct PrefetchQueue {
    objects: [Option<ObjectRef>; AHEAD],
    at: usize,
    waiting: usize,
}

impl Default for PrefetchQueue {
    fn default() -> Self {
        PrefetchQueue { objects: [None; AHEAD], at: 0, waiting: 0 }
    }
}

impl PrefetchQueue {
    /// The next to be visited; the queue is filled up by `pop`.
    #[inline(always)]
    pub(crate) fn next(&mut self, mut pop: impl FnMut() -> Option<ObjectRef>) -> Option<ObjectRef> {
        while self.waiting < AHEAD
            && let Some(object) = pop()
        {
            object.prefetch_header();
            object.prefetch_next_line();
            self.objects[(self.at + self.waiting) % AHEAD] = Some(object);
            self.waiting += 1;
        }
        self.take()
    }

    /// The objects not visited yet.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = ObjectRef> {
        std::iter::from_fn(|| self.take())
    }

    #[inline(always)]
    fn take(&mut self) -> Option<ObjectRef> {
        let object = self.objects[self.at].take()?;
        self.at = (self.at + 1) % AHEAD;
        self.waiting -= 1;
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tally_heap::memory::range;

    fn object(number: u64) -> ObjectRef {
        // SAFETY: an address that is not read.
        unsafe { ObjectRef::from_address(range::HEAP_BASE + 8 + number * 16) }
    }

    #[test]
    fn all_that_goes_in_comes_out_once_also_what_has_not_been_visited() {
        let mut stack: Vec<ObjectRef> = (0..20).map(object).collect();
        let mut soon = PrefetchQueue::default();
        let mut seen: Vec<ObjectRef> = (0..7).map(|_| soon.next(|| stack.pop()).expect("more than that")).collect();
        assert_eq!(seen[..2], [object(19), object(18)], "as from a stack");
        assert_eq!(stack.len(), 6, "eight are on their way, the first of them out already");
        seen.extend(soon.drain());
        seen.append(&mut stack);
        seen.sort();
        assert_eq!(seen, (0..20).map(object).collect::<Vec<_>>());
        assert_eq!(soon.next(|| stack.pop()), None);
    }
}
