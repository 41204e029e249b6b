//! A stack of objects that grows by chunks: no push ever copies what is there.
//!
//! A mark of ten million objects has millions of them on its stack. A vector that long, when it grows, is moved by the
//! system, page table by page table, which made the longest stop of such a mark (1.0 ms for two million entries).

use crate::memory::list::List;
use crate::object::ObjectRef;

/// Objects in a chunk.
const CHUNK: usize = 4096;

/// A stack of objects that grows by chunks.
#[derive(Debug, Default)]
pub struct ObjectStack {
    top: List<ObjectRef>,
    /// Full chunks, the newest last.
    below: List<List<ObjectRef>>,
    /// An empty chunk, so that a stack that goes up and down at a chunk's end does not ask for memory each time.
    spare: Option<List<ObjectRef>>,
}

impl ObjectStack {
    /// One that has memory for a chunk, whatever comes.
    pub fn reserved() -> ObjectStack {
        ObjectStack { top: List::with_capacity(CHUNK), ..ObjectStack::default() }
    }

    /// Puts `object` on top. Ends the process when there is no memory anywhere.
    #[inline(always)]
    pub fn push(&mut self, object: ObjectRef) {
        if self.top.len() == self.top.capacity() {
            self.begin_chunk();
        }
        // SAFETY: [LIST] the top has room.
        unsafe { self.top.push_within(object) };
    }

    /// The same, if there are fewer than `most` and there is memory.
    #[inline(always)]
    pub fn try_push(&mut self, object: ObjectRef, most: usize) -> bool {
        if self.top.len() == self.top.capacity() && !self.may_begin_chunk(most) {
            return false;
        }
        // SAFETY: [LIST] the top has room.
        unsafe { self.top.push_within(object) };
        true
    }

    /// Takes the newest object off.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<ObjectRef> {
        match self.top.pop() {
            Some(object) => Some(object),
            // A mark of a list asks an empty stack at every object.
            None if self.below.is_empty() => None,
            None => self.pop_below(),
        }
    }

    /// Fetches the header of the object so many below the newest, if that lies in the same chunk.
    #[inline(always)]
    pub fn prefetch_below(&self, below: usize) {
        if let Some(object) = self.top.get(self.top.len().wrapping_sub(1 + below)) {
            object.prefetch();
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.below.len() * CHUNK + self.top.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all off, and gives the memory back, but for a chunk.
    pub fn clear(&mut self) {
        self.top.clear();
        (self.below, self.spare) = (List::new(), None);
    }

    /// All, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &ObjectRef> {
        self.below.iter().flatten().chain(&self.top)
    }

    #[cold]
    fn begin_chunk(&mut self) {
        let chunk = self.spare.take().unwrap_or_else(|| List::with_capacity(CHUNK));
        self.put_on_top(chunk);
    }

    #[cold]
    fn may_begin_chunk(&mut self, most: usize) -> bool {
        let room = CHUNK.min(most.saturating_sub(self.len()));
        // Only the last chunk that there may be is shorter.
        let mut chunk = if room == CHUNK { self.spare.take().unwrap_or_default() } else { List::new() };
        let has_memory = chunk.try_reserve_exact(room) && self.below.try_reserve(1);
        if room == 0 || !has_memory {
            return false;
        }
        self.put_on_top(chunk);
        true
    }

    fn put_on_top(&mut self, chunk: List<ObjectRef>) {
        let full = std::mem::replace(&mut self.top, chunk);
        if !full.is_empty() {
            self.below.push(full);
        }
    }

    #[cold]
    fn pop_below(&mut self) -> Option<ObjectRef> {
        let emptied = std::mem::replace(&mut self.top, self.below.pop()?);
        self.spare = Some(emptied).filter(|chunk| chunk.capacity() >= CHUNK);
        self.top.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, ObjectStack};
    use crate::memory::range::HEAP_BASE;
    use crate::object::ObjectRef;

    fn object(number: usize) -> ObjectRef {
        // SAFETY: never looked at.
        unsafe { ObjectRef::from_address(HEAP_BASE + 8 + number as u64 * 16) }
    }

    #[test]
    fn what_goes_up_comes_down_over_chunks() {
        let mut stack = ObjectStack::default();
        let mut model = vec![];
        for round in 0..6 {
            for number in 0..CHUNK * 2 / 3 * (round + 1) {
                stack.push(object(number));
                model.push(object(number));
            }
            assert!(stack.iter().eq(&model));
            for _ in 0..CHUNK * 2 / 3 * round {
                assert_eq!(stack.pop(), model.pop());
            }
            assert_eq!(stack.len(), model.len());
        }
        while let Some(last) = model.pop() {
            assert_eq!(stack.pop(), Some(last));
        }
        assert!(stack.is_empty() && stack.pop().is_none());
    }

    #[test]
    fn no_more_than_were_allowed() {
        for most in [0, 1, 3, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let mut stack = ObjectStack::default();
            for round in 0..3 {
                let pushed = (0..most * 2 + 2).filter(|&number| stack.try_push(object(number), most)).count();
                assert_eq!((stack.len(), pushed), (most, if round == 0 { most } else { most - most / 2 }));
                for _ in 0..most - most / 2 {
                    stack.pop().expect("it was full");
                }
            }
        }
    }
}
