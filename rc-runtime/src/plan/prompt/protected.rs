//! Objects that a running drain leaves alone, though they are at zero. `[PENDING]`
//!
//! Objects that words in flight lead to, and those in address-taken roots (`address_taken`). The caller that adds some takes them
//! away again in the reverse order: a drain inside a finalizer stands on those of the drain around it. Roots may be very
//! many, and each object that dies is looked up: so those of one walk are kept sorted, as a *run*.

use crate::memory::list::List;
use crate::object::ObjectRef;
use std::ops::Deref;

/// More objects than this are sorted.
const FEW: usize = 16;

/// The objects that a running drain leaves alone.
#[derive(Debug, Default)]
pub struct Protected {
    objects: List<ObjectRef>,
    /// Begin and end of each run; the objects between runs are few.
    runs: List<(usize, usize)>,
}

impl Protected {
    /// Adds an object.
    #[inline(always)]
    pub fn push(&mut self, object: ObjectRef) {
        self.objects.push(object);
    }

    /// Takes all objects out, to be given to [`put_back`](Self::put_back) with others behind them.
    pub fn take_objects(&mut self) -> List<ObjectRef> {
        std::mem::take(&mut self.objects)
    }

    /// Puts back the entries taken out, and those added.
    pub fn put_back(&mut self, objects: List<ObjectRef>) {
        debug_assert!(self.objects.is_empty());
        self.objects = objects;
    }

    /// All objects from place `from` on were added together.
    pub(super) fn end_run(&mut self, from: usize) {
        if self.objects.len() - from > FEW {
            self.objects[from..].sort_unstable();
            self.runs.push((from, self.objects.len()));
        }
    }

    /// Takes away all but the first `len`.
    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        self.objects.truncate(len);
        while self.runs.last().is_some_and(|&(_, end)| end > len) {
            self.runs.pop();
        }
    }

    /// Whether the object is one of them.
    #[inline(always)]
    pub fn contains(&self, object: ObjectRef) -> bool {
        match self.runs.is_empty() {
            true => self.objects.contains(&object),
            false => self.is_in_a_run(object),
        }
    }

    #[cold]
    fn is_in_a_run(&self, object: ObjectRef) -> bool {
        let mut at = 0;
        for &(start, end) in &self.runs {
            if self.objects[at..start].contains(&object) || self.objects[start..end].binary_search(&object).is_ok() {
                return true;
            }
            at = end;
        }
        self.objects[at..].contains(&object)
    }
}

impl Deref for Protected {
    type Target = [ObjectRef];

    #[inline(always)]
    fn deref(&self) -> &[ObjectRef] {
        &self.objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::range;

    fn object(number: u64) -> ObjectRef {
        // SAFETY: it is compared, and never looked into.
        unsafe { ObjectRef::from_address(range::block_start(1) + number * 16) }
    }

    #[test]
    fn runs_between_and_behind_others_are_found_until_they_are_taken_away() {
        let mut protected = Protected::default();
        protected.push(object(7));
        let first = protected.len();
        (100..200).rev().for_each(|number| protected.push(object(number)));
        protected.end_run(first);
        protected.push(object(3));
        let second = protected.len();
        (300..400).for_each(|number| protected.push(object(number)));
        protected.end_run(second);
        for number in [7, 100, 199, 3, 300, 399] {
            assert!(protected.contains(object(number)), "{number}");
        }
        for number in [1, 99, 200, 400] {
            assert!(!protected.contains(object(number)), "{number}");
        }
        protected.truncate(second);
        assert!(!protected.contains(object(350)) && protected.contains(object(3)) && protected.contains(object(150)));
        protected.truncate(first);
        assert!(!protected.contains(object(150)) && protected.contains(object(7)));
        assert_eq!(protected.len(), 1);
    }
}
