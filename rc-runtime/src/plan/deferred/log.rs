//! The log: what the references of objects were at the last flip. `[LOG]`
//!
//! The first write of an epoch to a mature object appends one entry; nothing is ever dropped, so there is at most one
//! entry per live object (and array chunk) and epoch. After the flip the log is read twice, in order: once to increment
//! what the words hold now, once to decrement what they held. `[ORDER]`
//!
//! ```text
//! entry: │ n (16 bits) │ object (48 bits) │  one word; bit 0 set: the next word is a chunk number
//!        │ [chunk] │ [n when it is ≥ 65535] │ n snapshot words
//! ```
//!
//! Of a plain object whose references were all null nothing but the first word is logged, with n = 0: objects that were made in
//! one epoch and are filled in another are most of what a growing heap logs, and so take 8 bytes instead of 24.
//!
//! Words are stored raw (a tagged word as it was) until the increment pass has seen the entry; that pass replaces them
//! by plain references, with null for a word that did not change: its increment and decrement cancel.
//! So the decrement pass streams through the log without touching an object.

use crate::memory::list::List;
use crate::object::ObjectRef;
use crate::visit::Part;

const CHUNK_WORDS: usize = 8192;
const LONG: u64 = 0xffff;
/// The bits of an entry's first word that are the object's address.
const ADDRESS: u64 = 0x0000_ffff_ffff_fff8;

#[derive(Debug)]
struct LogChunk {
    words: List<u64>,
    used: usize,
}

/// A list of chunks of entries.
#[derive(Debug, Default)]
pub struct Log {
    chunks: List<LogChunk>,
    /// Emptied chunks, kept for reuse.
    spare: List<LogChunk>,
    /// Number of entries.
    pub entries: u64,
    /// Number of snapshot words.
    pub words: u64,
}

/// A place in a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogCursor {
    chunk: usize,
    word: usize,
}

/// One entry, as read.
pub struct Entry<'a> {
    /// The logged object.
    pub object: ObjectRef,
    /// The part of it that was logged.
    pub part: Part,
    /// Its words; none when all were null.
    pub words: &'a mut [u64],
}

impl LogCursor {
    /// Goes on by `words` words in the same chunk.
    #[inline(always)]
    pub(crate) fn pass(&mut self, words: usize) {
        self.word += words;
    }
}

/// An entry of a whole object that is no longer than its first word can say.
pub(crate) struct PlainEntry {
    pub object: ObjectRef,
    /// Snapshot words behind the first.
    pub words: usize,
}

/// Reads an entry's first word; `None` if there is more than that.
#[inline(always)]
pub(crate) fn plain_entry(head: u64) -> Option<PlainEntry> {
    if head & 1 != 0 || head >> 48 == LONG {
        return None;
    }
    // SAFETY: [HEADER] only objects are logged, and they are kept until their entry has been consumed.
    Some(PlainEntry { object: unsafe { ObjectRef::from_address(head & ADDRESS) }, words: (head >> 48) as usize })
}

/// The first word of an entry of a whole object with `words` words, fewer than 65535.
#[inline(always)]
pub(crate) fn plain_head(object: ObjectRef, words: usize) -> u64 {
    (words as u64) << 48 | object.address()
}

/// Where the snapshot words of the entry at the front of `rest` begin, and how many there are.
#[inline(always)]
pub(crate) fn words_of_entry(rest: &[u64]) -> (usize, usize) {
    let head = rest[0];
    let start = 1 + (head & 1) as usize;
    match head >> 48 {
        LONG => (start + 1, rest[start] as usize),
        words => (start, words as usize),
    }
}

/// Copies the references of a plain object into `words`; false when all are null, and the entry needs none of them.
#[inline(always)]
pub(crate) fn copy_references(object: ObjectRef, fields: &[u32], words: &mut [u64]) -> bool {
    let mut any = 0;
    for (word, &offset) in words.iter_mut().zip(fields) {
        *word = object.slot(offset as u64).read();
        any |= *word;
    }
    any != 0
}

/// Asks for the header of the object whose address is in the low bits of `word`, if that is what they are.
#[inline(always)]
pub(crate) fn prefetch_header(word: u64) {
    crate::memory::range::prefetch((word & ADDRESS).wrapping_sub(8));
}

/// Asks for the last line of such an object's cell, if that has so many bytes.
#[inline(always)]
pub(crate) fn prefetch_end(word: u64, cell: u64) {
    crate::memory::range::prefetch((word & ADDRESS).wrapping_add(cell - 16));
}

impl Log {
    /// Appends an entry and returns its `n` words to be filled.
    #[inline(always)]
    pub fn append(&mut self, object: ObjectRef, part: Part, n: usize) -> &mut [u64] {
        let needed = n + 3;
        if self.chunks.last().is_none_or(|chunk| chunk.words.len() - chunk.used < needed) {
            self.add_chunk(needed);
        }
        self.entries += 1;
        self.words += n as u64;
        let chunk = self.chunks.last_mut().expect("just ensured");
        let mut at = chunk.used;
        chunk.used += n + 1;
        let short = plain_head(object, n.min(LONG as usize));
        match part {
            Part::Whole => chunk.words[at] = short,
            Part::Chunk(number) => {
                chunk.words[at] = short | 1;
                at += 1;
                chunk.words[at] = number;
                chunk.used += 1;
            }
        }
        if n as u64 >= LONG {
            at += 1;
            chunk.words[at] = n as u64;
            chunk.used += 1;
        }
        &mut chunk.words[at + 1..at + 1 + n]
    }

    /// The entry appended last, of a whole plain object, has `n` words, which are all null: it needs none of them.
    #[inline(always)]
    pub(crate) fn shorten(&mut self, n: usize) {
        debug_assert!(n < LONG as usize);
        let chunk = self.chunks.last_mut().expect("there is an entry");
        chunk.used -= n;
        chunk.words[chunk.used - 1] &= ADDRESS;
        self.words -= n as u64;
    }

    /// The free words of the last chunk, for entries that are written in a run; [`take_tail`](Self::take_tail) enters them.
    #[inline(always)]
    pub(crate) fn tail(&mut self) -> &mut [u64] {
        self.chunks.last_mut().map_or(&mut [], |chunk| &mut chunk.words[chunk.used..])
    }

    /// Enters the words written to the tail: `words` words, of `entries` entries.
    #[inline(always)]
    pub(crate) fn take_tail(&mut self, words: usize, entries: u64) {
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.used += words;
        }
        self.entries += entries;
        self.words += words as u64 - entries;
    }

    /// Begins another chunk, which has room for any plain entry.
    #[cold]
    pub(crate) fn add_room(&mut self) {
        self.add_chunk(0);
    }

    #[cold]
    fn add_chunk(&mut self, needed: usize) {
        let fits = self.spare.last().is_some_and(|chunk| chunk.words.len() >= needed);
        let chunk = match self.spare.pop() {
            Some(chunk) if fits => chunk,
            _ => LogChunk { words: List::zeroed(CHUNK_WORDS.max(needed)), used: 0 },
        };
        self.chunks.push(chunk);
    }

    /// Reads the entry at `cursor` and moves it on; `None` at the end.
    #[inline(always)]
    pub fn next(&mut self, cursor: &mut LogCursor) -> Option<Entry<'_>> {
        let rest = self.rest(cursor);
        let head = *rest.first()?;
        let (start, n) = words_of_entry(rest);
        cursor.word += start + n;
        let part = if head & 1 == 0 { Part::Whole } else { Part::Chunk(rest[1]) };
        // SAFETY: [HEADER] only objects are logged, and they are kept until their entry has been consumed.
        let object = unsafe { ObjectRef::from_address(head & ADDRESS) };
        Some(Entry { object, part, words: &mut rest[start..start + n] })
    }

    /// The words from `cursor` to the end of its chunk, for loops that read entries themselves; none at the end of the log. The
    /// cursor stands at an entry, and goes on by as many words as were read.
    #[inline(always)]
    pub fn rest(&mut self, cursor: &mut LogCursor) -> &mut [u64] {
        while let Some(chunk) = self.chunks.get(cursor.chunk) {
            if cursor.word < chunk.used {
                let chunk = &mut self.chunks[cursor.chunk];
                return &mut chunk.words[cursor.word..chunk.used];
            }
            if cursor.chunk + 1 == self.chunks.len() {
                break;
            }
            *cursor = LogCursor { chunk: cursor.chunk + 1, word: 0 };
        }
        &mut []
    }

    /// Drops the last chunk of a log that has been read; false when there is none, and the log is empty. A few
    /// megabytes of chunks are kept for reuse; giving the memory of others back takes the system as long as ten slices,
    /// for the log of a heap of ten million objects, if it is done at once. `[BOUND]`
    pub fn drop_chunk(&mut self) -> bool {
        let Some(mut chunk) = self.chunks.pop() else {
            (self.entries, self.words) = (0, 0);
            return false;
        };
        chunk.used = 0;
        if chunk.words.len() == CHUNK_WORDS && self.spare.len() < 64 {
            self.spare.push(chunk);
        }
        true
    }

    /// Behind the last entry.
    pub fn end(&self) -> LogCursor {
        match self.chunks.last() {
            Some(last) => LogCursor { chunk: self.chunks.len() - 1, word: last.used },
            None => LogCursor::default(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::range::HEAP_BASE;

    fn object(number: u64) -> ObjectRef {
        // SAFETY: never dereferenced here.
        unsafe { ObjectRef::from_address(HEAP_BASE + 8 + number * 16) }
    }

    #[test]
    fn entries_are_read_back_in_order_across_chunks() {
        let (mut log, count) = (Log::default(), if cfg!(miri) { 200 } else { 10_000 });
        for number in 0..count {
            let n = (number % 5) as usize;
            let part = if number % 3 == 0 { Part::Chunk(number) } else { Part::Whole };
            log.append(object(number), part, n).fill(number);
        }
        log.append(object(7), Part::Whole, 100_000).fill(42);
        log.append(object(8), Part::Chunk(9), 65_535).fill(43);
        let mut cursor = LogCursor::default();
        for number in 0..count {
            let entry = log.next(&mut cursor).expect("an entry");
            assert_eq!(entry.object, object(number));
            assert_eq!(entry.part, if number % 3 == 0 { Part::Chunk(number) } else { Part::Whole });
            assert_eq!(entry.words, vec![number; (number % 5) as usize]);
        }
        let long = log.next(&mut cursor).expect("the long entry");
        assert!(long.words.len() == 100_000 && long.words.iter().all(|&word| word == 42));
        let exact = log.next(&mut cursor).expect("the entry of exactly the marker's length");
        assert!(exact.words.len() == 65_535 && exact.part == Part::Chunk(9));
        assert!(log.next(&mut cursor).is_none());
        assert!(log.next(&mut cursor).is_none(), "the end stays the end");
        log.append(object(1), Part::Whole, 1)[0] = 5;
        assert_eq!(log.next(&mut cursor).expect("appended later").words, [5]);
    }

    #[test]
    fn an_entry_of_nulls_is_its_first_word_alone() {
        let mut log = Log::default();
        for (number, word) in [(1, 0), (2, 5), (3, 0)] {
            log.append(object(number), Part::Whole, 2)[1] = word;
            if word == 0 {
                log.shorten(2);
            }
        }
        assert_eq!((log.entries, log.words), (3, 2));
        let mut cursor = LogCursor::default();
        for (number, words) in [(1, &[][..]), (2, &[0, 5]), (3, &[])] {
            let entry = log.next(&mut cursor).expect("an entry");
            assert_eq!((entry.object, entry.part, &*entry.words), (object(number), Part::Whole, words));
        }
        assert!(log.next(&mut cursor).is_none());
    }

    #[test]
    fn a_cleared_log_is_empty_and_reusable() {
        let mut log = Log::default();
        log.append(object(1), Part::Whole, 2).fill(1);
        while log.drop_chunk() {}
        assert!(log.is_empty() && log.next(&mut LogCursor::default()).is_none());
        log.append(object(2), Part::Whole, 0);
        assert_eq!(log.next(&mut LogCursor::default()).expect("an entry").object, object(2));
    }
}
