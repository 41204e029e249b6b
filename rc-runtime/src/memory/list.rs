//! Lists that find memory when the system's allocator has none. `[MEMORY]`
//!
//! Objects that die, are promoted, marked or tried stand on lists that grow while the passes run, and these run because
//! memory is short. A vector would end the process then. A list goes on in blocks of the heap range, which has been
//! mapped since the process began; the last part of the range is given to no heap (`block_source`). So there is
//! nothing to reserve by guess, and nothing to give up half-way.
//!
//! ```text
//! push ──► room? ──► the allocator? ──► blocks of the range? ──► the process ends, with a message
//!                                                          └───► try_push, try_reserve: false
//! ```
//!
//! Otherwise it is a vector, with as much of its interface as the runtime uses. Expected cost of a push: that of a vector's.

mod drain;
mod memory;
mod queue;

pub use drain::{Drain, IntoIter};
pub use queue::Queue;

use memory::Memory;
use std::ops::{Deref, DerefMut, RangeBounds};

/// A list that goes on in blocks of the heap range when the allocator has no memory.
pub struct List<T> {
    memory: Memory<T>,
    len: usize,
}

// SAFETY: it owns what it holds, as a vector does.
unsafe impl<T: Send> Send for List<T> {}
// SAFETY: it owns what it holds, as a vector does.
unsafe impl<T: Sync> Sync for List<T> {}

impl<T> List<T> {
    /// An empty list, which has no memory.
    #[inline(always)]
    pub const fn new() -> List<T> {
        List { memory: Memory::none(), len: 0 }
    }

    /// An empty list with room for `count`.
    pub fn with_capacity(count: usize) -> List<T> {
        let mut list = List::new();
        list.reserve(count);
        list
    }

    /// A list of `count` copies of `value`.
    pub fn filled(value: T, count: usize) -> List<T>
    where
        T: Copy,
    {
        let mut list = List::new();
        list.resize(count, value);
        list
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there is room for.
    #[inline(always)]
    pub fn capacity(&self) -> usize {
        self.memory.room()
    }

    /// Where the first entry is, or would be.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.memory.start()
    }

    /// The same, to write there.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.memory.start()
    }

    /// Appends `value`. Ends the process when there is no memory anywhere.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len == self.capacity() {
            self.grow();
        }
        // SAFETY: [LIST] there is room behind the last.
        unsafe { self.push_within(value) };
    }

    /// Appends `value` if there is memory; whether there was.
    #[inline(always)]
    #[must_use]
    pub fn try_push(&mut self, value: T) -> bool {
        if self.len == self.capacity() && !self.memory.grow(self.len, 1) {
            return false;
        }
        // SAFETY: [LIST] there is room behind the last.
        unsafe { self.push_within(value) };
        true
    }

    /// Appends `value` into room that there is.
    ///
    /// # Safety
    /// The list is shorter than its capacity.
    #[inline(always)]
    pub unsafe fn push_within(&mut self, value: T) {
        debug_assert!(self.len < self.capacity());
        // SAFETY: [LIST] by the caller's promise; written before it counts as one.
        let end = unsafe { self.memory.start().add(self.len) };
        // SAFETY: [LIST] by the caller's promise; written before it counts as one.
        unsafe { end.write(value) };
        self.len += 1;
    }

    /// Takes the last off.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        // SAFETY: [LIST] the last, which is no longer counted as one.
        let last = unsafe { self.memory.start().add(self.len) };
        // SAFETY: [LIST] the last, which is no longer counted as one.
        Some(unsafe { last.read() })
    }

    /// Makes room for `more`. Ends the process when there is no memory anywhere.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) {
        if !self.try_reserve(more) {
            memory::none_left();
        }
    }

    /// The same; false when there is no memory, and then the list is as it was.
    #[inline(always)]
    #[must_use]
    pub fn try_reserve(&mut self, more: usize) -> bool {
        self.capacity() - self.len >= more || self.memory.grow(self.len, more)
    }

    /// The same, for no more than that.
    #[must_use]
    pub fn try_reserve_exact(&mut self, more: usize) -> bool {
        self.capacity() - self.len >= more || self.memory.grow_to(self.len, self.len + more)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.reserve(1);
    }

    #[inline(never)]
    fn give_back(&mut self) {
        self.clear();
        self.memory.give_back();
    }

    /// Takes all off, and keeps the memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Takes all off but the first `len`.
    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            let rest = std::ptr::slice_from_raw_parts_mut(self.memory.start().wrapping_add(len), self.len - len);
            self.len = len;
            // SAFETY: they are no longer counted.
            unsafe { std::ptr::drop_in_place(rest) };
        }
    }

    /// Counts the first `len` of what its memory holds as entries.
    ///
    /// # Safety
    /// So many have been written, and there is room for them.
    #[inline(always)]
    pub unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        self.len = len;
    }

    /// Takes all off, and gives memory for more than `count` entries back, if there is other memory for those.
    pub fn clear_to(&mut self, count: usize) {
        self.clear();
        let mut small = List::new();
        if self.capacity() > count && small.try_reserve_exact(count) {
            *self = small;
        }
    }

    /// Takes the entry at `at` out; the last comes into its place.
    pub fn swap_remove(&mut self, at: usize) -> T {
        let last = self.len - 1;
        self.swap(at, last);
        self.pop().expect("at least the one at `at`")
    }

    /// Takes the entry at `at` out; those behind it move up.
    pub fn remove(&mut self, at: usize) -> T {
        self[at..].rotate_left(1);
        self.pop().expect("at least the one at `at`")
    }

    /// Puts an entry in front of the one at `at`.
    pub fn insert(&mut self, at: usize, value: T) {
        self.push(value);
        self[at..].rotate_right(1);
    }

    /// Moves all of `other` behind the last.
    pub fn append(&mut self, other: &mut List<T>) {
        self.reserve(other.len);
        // SAFETY: [LIST] there is room; what has been copied no longer counts as the other's.
        unsafe {
            self.memory.start().wrapping_add(self.len).copy_from_nonoverlapping(other.memory.start(), other.len);
        }
        self.len += std::mem::take(&mut other.len);
    }

    /// Takes the entries from `at` on off, into a list of their own.
    pub fn split_off(&mut self, at: usize) -> List<T> {
        let mut rest: List<T> = List::with_capacity(self.len - at);
        // SAFETY: [LIST] there is room; what has been copied no longer counts as this list's.
        unsafe { rest.memory.start().copy_from_nonoverlapping(self.memory.start().wrapping_add(at), self.len - at) };
        rest.len = self.len - at;
        self.len = at;
        rest
    }

    /// Keeps the entries for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool)
    where
        T: Copy,
    {
        let mut kept = 0;
        for at in 0..self.len {
            if keep(&self[at]) {
                self[kept] = self[at];
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// Keeps one of entries that are next to each other and equal.
    pub fn dedup(&mut self)
    where
        T: Copy + PartialEq,
    {
        let mut last = None;
        self.retain(|&value| last.replace(value) != Some(value));
    }

    /// Takes a range of entries out, in order; entries that are not taken from the result are dropped, too.
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Drain<'_, T>
    where
        T: Copy,
    {
        Drain::new(self, range)
    }

    /// Makes it `len` long, with copies of `value` at the end.
    pub fn resize(&mut self, len: usize, value: T)
    where
        T: Copy,
    {
        self.truncate(len);
        self.reserve(len - self.len);
        for at in self.len..len {
            // SAFETY: [LIST] there is room for `len`.
            let place = unsafe { self.memory.start().add(at) };
            // SAFETY: [LIST] there is room for `len`.
            unsafe { place.write(value) };
        }
        self.len = len;
    }
}

impl List<u64> {
    /// A list of `count` zeros, which new memory need not be made.
    pub fn zeroed(count: usize) -> List<u64> {
        match Memory::zeroed(count) {
            Some(memory) => List { memory, len: count },
            None => memory::none_left(),
        }
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: [LIST] so many have been written.
        unsafe { std::slice::from_raw_parts(self.memory.start(), self.len) }
    }
}

impl<T> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: [LIST] so many have been written.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start(), self.len) }
    }
}

impl<T> Drop for List<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.capacity() != 0 {
            self.give_back();
        }
    }
}

impl<T> Default for List<T> {
    #[inline(always)]
    fn default() -> Self {
        List::new()
    }
}

impl<T: Copy> Clone for List<T> {
    fn clone(&self) -> Self {
        self.iter().copied().collect()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        self.reserve(values.size_hint().0);
        values.for_each(|value| self.push(value));
    }
}

impl<'a, T: Copy + 'a> Extend<&'a T> for List<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = List::new();
        list.extend(values);
        list
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter::new(self)
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests;
