//! A list for each class of holes, and which of them have entries.

use super::hole::CLASSES;
use crate::memory::list::List;

/// Entries by class.
#[derive(Debug)]
pub(crate) struct ByClass<T> {
    lists: [List<T>; CLASSES],
    /// A bit for each list that has entries.
    some: u64,
}

impl<T> Default for ByClass<T> {
    fn default() -> Self {
        ByClass { lists: [const { List::new() }; CLASSES], some: 0 }
    }
}

impl<T> ByClass<T> {
    /// The classes that have entries, a bit each.
    #[inline(always)]
    pub(crate) fn some(&self) -> u64 {
        self.some
    }

    /// The entries of a class.
    #[inline(always)]
    pub(crate) fn of(&self, class: usize) -> &[T] {
        &self.lists[class]
    }

    /// Enters one.
    #[inline(always)]
    pub(crate) fn enter(&mut self, class: usize, entry: T) {
        self.lists[class].push(entry);
        self.some |= 1 << class;
    }

    /// Enters one, if there is memory; else it is forgotten.
    #[inline(always)]
    pub(crate) fn enter_if_possible(&mut self, class: usize, entry: T) {
        if self.lists[class].try_push(entry) {
            self.some |= 1 << class;
        }
    }

    /// Takes the newest of a class.
    #[inline(always)]
    pub(crate) fn take(&mut self, class: usize) -> Option<T> {
        let entry = self.lists[class].pop();
        if self.lists[class].is_empty() {
            self.some &= !(1 << class);
        }
        entry
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        while self.some != 0 {
            self.lists[self.some.trailing_zeros() as usize].clear();
            self.some &= self.some - 1;
        }
    }
}
