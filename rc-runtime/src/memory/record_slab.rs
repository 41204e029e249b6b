//! Records of one size that are named by numbers and never move: those of special objects and of weak slots.
//!
//! They lie in chunks, so that a slab that grows copies nothing, and a number costs half of what an address does. The memory
//! is that of [`List`]s: it is found when the allocator has none. `[MEMORY]` The free places of a chunk are linked through their
//! records, and chunks with room through each other. A chunk without records gives its memory back at once: that of a million
//! records goes in pieces, as they do, and never in one stop. `[BOUND]`
//!
//! Expected cost of inserting and removing a record: fifteen instructions each, and the line of the record.

use crate::memory::list::List;
use crate::memory::range::prefetch;

/// Records of a chunk.
const CHUNK: u32 = 256;

/// No record has a higher number: two bits are left for the holders of numbers.
pub(crate) const LAST_NUMBER: u32 = u32::MAX >> 2;

/// A record that can say, while it is none, which place is free after its own.
pub(crate) trait Record: Default {
    /// A word of the record that a free place may use.
    fn link(&mut self) -> &mut u32;
}

/// Records by number; 0 names none.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: List<Chunk<T>>,
    /// The first chunk with room, plus one; 0: none.
    open: u32,
    used: u32,
}

#[derive(Debug)]
struct Chunk<T> {
    records: List<T>,
    /// The first free place among the records, plus one; 0: none.
    free: u32,
    used: u32,
    /// The next chunk with room, plus one, if it has room itself.
    next_open: u32,
}

impl<T> Chunk<T> {
    fn is_full(&self) -> bool {
        self.free == 0 && self.records.len() as u32 == CHUNK
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { chunks: List::new(), open: 0, used: 0 }
    }
}

impl<T: Record> Slab<T> {
    /// Whether there are no records.
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.used
    }

    /// Bytes that the records take, with the free places of their chunks.
    pub(crate) fn bytes(&self) -> u64 {
        let records: usize = self.chunks.iter().map(|chunk| chunk.records.capacity()).sum();
        (records * std::mem::size_of::<T>()) as u64
    }

    /// The highest number in use, or more.
    pub(crate) fn last(&self) -> u32 {
        self.chunks.len() as u32 * CHUNK
    }

    /// Keeps the record; returns its number.
    #[inline]
    pub(crate) fn insert(&mut self, record: T) -> u32 {
        if self.open == 0 {
            self.open_another();
        }
        let open = self.open;
        let chunk = &mut self.chunks[open as usize - 1];
        let place = match chunk.free {
            0 => {
                if chunk.records.is_empty() {
                    chunk.records.reserve(CHUNK as usize);
                }
                chunk.records.push(record);
                chunk.records.len() as u32
            }
            place => {
                let free = &mut chunk.records[place as usize - 1];
                chunk.free = *free.link();
                *free = record;
                place
            }
        };
        chunk.used += 1;
        if chunk.is_full() {
            self.open = chunk.next_open;
        }
        self.used += 1;
        (open - 1) * CHUNK + place
    }

    #[cold]
    fn open_another(&mut self) {
        assert!(self.last() <= LAST_NUMBER - 2 * CHUNK, "more than two thousand million records");
        self.chunks.push(Chunk { records: List::new(), free: 0, used: 0, next_open: 0 });
        self.open = self.chunks.len() as u32;
    }

    /// Takes the record out.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> T {
        let (at, place) = split(number);
        let chunk = &mut self.chunks[at];
        if chunk.is_full() {
            chunk.next_open = std::mem::replace(&mut self.open, at as u32 + 1);
        }
        let record = std::mem::take(&mut chunk.records[place]);
        *chunk.records[place].link() = std::mem::replace(&mut chunk.free, place as u32 + 1);
        chunk.used -= 1;
        if chunk.used == 0 {
            chunk.free = 0;
            // One chunk is kept: a heap that has a single record now and then need not ask for memory each time.
            if at == 0 { chunk.records.clear() } else { chunk.records = List::new() }
        }
        self.used -= 1;
        record
    }

    /// The record of that number; `None`, or one that is as new but for its link, for a free place.
    #[inline(always)]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let (at, place) = split(number.max(1));
        let record = self.chunks.get(at)?.records.get(place);
        if number == 0 { None } else { record }
    }

    /// Fetches the record of that number, if there is such a place.
    #[inline(always)]
    pub(crate) fn prefetch(&self, number: u32) {
        if let Some(record) = self.get(number) {
            prefetch(record as *const T as u64);
        }
    }
}

#[inline(always)]
fn split(number: u32) -> (usize, usize) {
    (((number - 1) / CHUNK) as usize, ((number - 1) % CHUNK) as usize)
}

impl<T: Record> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        let (at, place) = split(number);
        &self.chunks[at].records[place]
    }
}

impl<T: Record> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        let (at, place) = split(number);
        &mut self.chunks[at].records[place]
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
        assert_eq!(numbers, (1..=1000).collect::<Vec<u32>>());
        let second: *const Numbered = &slab[2];
        for &number in numbers.iter().step_by(3) {
            assert_eq!(slab.remove(number).0, u64::from(number) - 1);
            assert_eq!(slab.get(number).map(|record| record.0), Some(0));
        }
        let again: Vec<u32> = (0..334).map(|value| slab.insert(Numbered(value, 0))).collect();
        assert!(again.iter().all(|&number| number <= 1024), "no chunk was added");
        assert_eq!((slab.len(), slab.last()), (1000, 1024));
        assert!(std::ptr::eq(second, &slab[2]));
        let left = numbers.iter().filter(|&&number| (number - 1) % 3 != 0);
        left.for_each(|&number| assert_eq!(slab[number].0, u64::from(number) - 1));
    }

    #[test]
    fn chunk_without_records_gives_its_memory_back() {
        let mut slab = Slab::default();
        let with_memory = |slab: &Slab<Numbered>| slab.chunks.iter().filter(|it| it.records.capacity() != 0).count();
        for _ in 0..3 {
            let numbers: Vec<u32> = (0..2048).map(|value| slab.insert(Numbered(value, 0))).collect();
            assert_eq!((slab.last(), with_memory(&slab)), (2048, 8));
            numbers.iter().filter(|&&number| number > 512).for_each(|&number| _ = slab.remove(number));
            assert_eq!(with_memory(&slab), 2);
            assert!(slab.get(600).is_none() && slab.get(0).is_none() && slab.get(5).is_some());
            numbers.iter().filter(|&&number| number <= 512).for_each(|&number| _ = slab.remove(number));
            assert!(slab.is_empty() && with_memory(&slab) == 1);
        }
    }
}
