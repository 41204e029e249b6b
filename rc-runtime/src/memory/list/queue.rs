//! A list of which the first goes first.

use super::List;

/// Entries that leave in the order in which they came. Those that have left are cleared away when room is wanted.
#[derive(Debug, Clone)]
pub struct Queue<T: Copy> {
    list: List<T>,
    /// So many, from the first, have left.
    gone: usize,
}

impl<T: Copy> Queue<T> {
    /// Appends `value`. Ends the process when there is no memory anywhere.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.list.len() == self.list.capacity() {
            self.clear_away();
        }
        self.list.push(value);
    }

    /// Appends `value` if there is memory; whether there was.
    #[must_use]
    pub fn try_push_back(&mut self, value: T) -> bool {
        if self.list.len() == self.list.capacity() {
            self.clear_away();
        }
        self.list.try_push(value)
    }

    /// Appends the entries of a list, which becomes the queue's if this is empty.
    pub fn append(&mut self, list: List<T>) {
        match self.is_empty() {
            true => *self = Queue { list, gone: 0 },
            false => self.extend(list),
        }
    }

    /// Takes the first.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.list.get(self.gone)?;
        self.gone += 1;
        if self.gone == self.list.len() {
            self.list.clear();
            self.gone = 0;
        }
        Some(first)
    }

    /// Takes off all but the first `count`.
    pub fn split_off(&mut self, count: usize) -> List<T> {
        self.list.split_off((self.gone + count).min(self.list.len()))
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.gone == self.list.len()
    }

    /// Half of it at least, so that each entry is moved a few times at most.
    #[cold]
    fn clear_away(&mut self) {
        if self.gone * 2 >= self.list.len() {
            self.list.drain(..std::mem::take(&mut self.gone));
        }
    }
}

impl<T: Copy> std::ops::Deref for Queue<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.list[self.gone..]
    }
}

impl<T: Copy> std::ops::DerefMut for Queue<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.list[self.gone..]
    }
}

impl<T: Copy> Default for Queue<T> {
    fn default() -> Self {
        Queue { list: List::new(), gone: 0 }
    }
}

impl<T: Copy> Extend<T> for Queue<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push_back(value));
    }
}

impl<T: Copy> FromIterator<T> for Queue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Queue { list: values.into_iter().collect(), gone: 0 }
    }
}

impl<T: Copy> IntoIterator for Queue<T> {
    type Item = T;
    type IntoIter = std::iter::Skip<super::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter().skip(self.gone)
    }
}
