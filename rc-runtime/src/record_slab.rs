//! Records of one size that are named by numbers and never move: those of special objects and of weak slots.
//!
//! They lie in chunks, so that a slab that grows copies nothing, and a number costs half of what an address does. The memory
//! is that of [`List`]s: it is found when the allocator has none. `[MEMORY]` Free places are linked through the records. A slab
//! that becomes empty gives its memory back but for one chunk.
//!
//! Expected cost of inserting and removing a record: ten instructions each, and the line of the record.

use crate::list::List;

/// Records of a chunk.
const CHUNK: u32 = 256;

/// A record that can say, while it is none, which place is free after its own.
pub trait Record: Default {
    /// A word of the record that a free place may use.
    fn link(&mut self) -> &mut u32;
}

/// Records by number; 0 names none.
#[derive(Debug)]
pub struct Slab<T> {
    chunks: List<List<T>>,
    /// Places that were ever handed out since it was empty.
    made: u32,
    /// The first free place of those; 0: none.
    free: u32,
    used: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { chunks: List::new(), made: 0, free: 0, used: 0 }
    }
}

impl<T: Record> Slab<T> {
    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.used
    }

    /// The highest number in use, or more.
    pub fn last(&self) -> u32 {
        self.made
    }

    /// Keeps the record; returns its number.
    #[inline]
    pub fn insert(&mut self, record: T) -> u32 {
        self.used += 1;
        let number = self.free;
        if number != 0 {
            let place = &mut self[number];
            let next = *place.link();
            *place = record;
            self.free = next;
            return number;
        }
        if self.made.is_multiple_of(CHUNK) && self.made / CHUNK == self.chunks.len() as u32 {
            assert!(self.made < u32::MAX - CHUNK, "more than four thousand million records");
            self.chunks.push(List::with_capacity(CHUNK as usize));
        }
        self.chunks[(self.made / CHUNK) as usize].push(record);
        self.made += 1;
        self.made
    }

    /// Takes the record out.
    #[inline]
    pub fn remove(&mut self, number: u32) -> T {
        let next = self.free;
        let record = std::mem::take(&mut self[number]);
        *self[number].link() = next;
        self.free = number;
        self.used -= 1;
        if self.used == 0 {
            self.give_back();
        }
        record
    }

    #[cold]
    fn give_back(&mut self) {
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(List::clear);
        (self.made, self.free) = (0, 0);
    }

    /// The record of that number; for a free place one that is as new, but for its link.
    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&T> {
        let place = number.checked_sub(1)?;
        self.chunks.get((place / CHUNK) as usize)?.get((place % CHUNK) as usize)
    }
}

impl<T: Record> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        &self.chunks[((number - 1) / CHUNK) as usize][((number - 1) % CHUNK) as usize]
    }
}

impl<T: Record> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.chunks[((number - 1) / CHUNK) as usize][((number - 1) % CHUNK) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Numbered(u64, u32);

    impl Record for Numbered {
        fn link(&mut self) -> &mut u32 {
            &mut self.1
        }
    }

    #[test]
    fn places_are_used_again_and_records_stay_where_they_are() {
        let mut slab = Slab::default();
        let numbers: Vec<u32> = (0..1000).map(|value| slab.insert(Numbered(value, 0))).collect();
        let first: *const Numbered = &slab[numbers[0]];
        for &number in numbers.iter().step_by(3) {
            assert_eq!(slab.remove(number).0, u64::from(number) - 1);
            assert_eq!(slab.get(number).map(|record| record.0), Some(0));
        }
        assert_eq!(slab.insert(Numbered(7, 0)), 1000, "the place that was freed last");
        (0..333).for_each(|value| _ = slab.insert(Numbered(value, 0)));
        assert_eq!((slab.len(), slab.last()), (1000, 1000));
        assert!(std::ptr::eq(first, &slab[1]));
        assert!(
            numbers.iter().skip(1).filter(|&&number| (number - 1) % 3 != 0).all(|&n| slab[n].0 == u64::from(n) - 1)
        );
    }

    #[test]
    fn an_empty_slab_keeps_one_chunk() {
        let mut slab = Slab::default();
        for _ in 0..3 {
            let numbers: Vec<u32> = (0..2000).map(|value| slab.insert(Numbered(value, 0))).collect();
            assert_eq!(numbers, (1..=2000).collect::<Vec<u32>>());
            numbers.into_iter().for_each(|number| _ = slab.remove(number));
            assert!(slab.is_empty() && slab.chunks.len() == 1 && slab.get(1).is_none());
        }
    }
}
