//! Taking entries out of a list, in order.

use super::List;
use std::ops::{Bound, Range, RangeBounds};

/// Entries of a range, on their way out of a list.
pub struct Drain<'a, T: Copy> {
    list: &'a mut List<T>,
    start: usize,
    /// Those that have not been taken.
    left: Range<usize>,
}

impl<'a, T: Copy> Drain<'a, T> {
    pub(super) fn new(list: &'a mut List<T>, range: impl RangeBounds<usize>) -> Drain<'a, T> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last + 1,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => list.len(),
        };
        assert!(start <= end && end <= list.len(), "entries {start}..{end} of {}", list.len());
        Drain { list, start, left: start..end }
    }
}

impl<T: Copy> Iterator for Drain<'_, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.left.next().map(|at| self.list[at])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T: Copy> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        let end = self.left.end;
        self.list.copy_within(end.., self.start);
        self.list.truncate(self.list.len() - (end - self.start));
    }
}

/// The entries of a list that is used up.
pub struct IntoIter<T> {
    list: List<T>,
    /// Those that have not been taken.
    left: Range<usize>,
}

impl<T> IntoIter<T> {
    pub(super) fn new(mut list: List<T>) -> IntoIter<T> {
        let end = std::mem::take(&mut list.len);
        IntoIter { list, left: 0..end }
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        // SAFETY: [LIST] written when the list was one, and not read before.
        let place = self.left.next().map(|at| unsafe { self.list.memory.start().add(at) });
        // SAFETY: [LIST] written when the list was one, and not read before.
        place.map(|place| unsafe { place.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> Drop for IntoIter<T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
