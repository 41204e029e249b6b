//! Tally's own stack map section, `tally_stackmaps`, read in place.
//!
//! The emitter writes it in place of LLVM's section ([`writer`]); `frame_table` looks return addresses up in it where it
//! lies. It has no absolute address, so it is read-only and shared between processes, and nothing is made of it at
//! load. `[MAP]` The writer checks the whole and puts a seal on it, which [`read`] compares. A map without a seal is checked by
//! [`read`], in time and memory in proportion to its bytes. Nothing looks outside the slice: what reads a map later repeats the checks of what
//! it touches.
//!
//! ```text
//! map     = "TMAP" | u32 bytes, all | u32 flags | u32 groups | u32 chunks | u32 ids | u32 words of lists | u32 bytes of sites
//!           groups × { i32 place, u32 first chunk }     a section of code each
//!           chunks × { u32 return, u32 at }             in a group: ascending
//!           ids    × u64                                each once
//!           lists: words, sites: bytes, zero bytes to a multiple of 8
//!           [u32 calls | u32 0 | u64 seal]              only with flag 2
//!
//! group   place = address of the code − address of this field; with the top bit of `first chunk`, of a pointer to the code
//! chunk   return = its first return address, from the group's code; `at` = its bytes, from the start of `sites`
//!         bytes = uleb word of the next list | uleb return − start of the function | codes
//! code    uleb distance × 4 + kind    a call: its return address is that far behind the one before
//!         kind 0: no roots · 1: the list of the last call that has one · 2: the next list, in words behind it the next
//!         kind 3: the list at the word that follows as uleb
//!         3 alone (distance 0): a function starts, as far behind the last return address as the uleb that follows
//! list    [frame size: u32, u32::MAX = varies]   only with flag 1
//!         narrow: u32 first id << 12 | count << 2 | needs base register << 1       count × { u16 id − first, i16 offset | place }
//!         wide:   u32 count << 2 | needs base register << 1 | 1                    count × { u32 id, i32 offset, u32 place }
//! place   0 stack pointer, 1 frame pointer, 2 base register; + 4: the slot's address lies there
//! ```
//!
//! All numbers are little-endian. Registers are named by what they are for, so the format is the same on each
//! processor. A chunk has 16 calls: return addresses take two bytes, and the search for one is a binary search over
//! chunks and a scan of one. A narrow root takes four bytes: functions have neighbouring ids, frames are small, and slots
//! are aligned, which leaves three bits. Lists are words and not LEB128, because a walk reads them again and again.

mod chunk;
mod faults;
pub(crate) mod lists;
mod seal;
pub(crate) mod table;
pub mod writer;

pub use faults::CompactError;
pub use lists::PackedRoots;
pub use table::CompactTable;

use chunk::Calls;
use faults::{span, word};
use lists::Lists;
use seal::SEAL_BYTES;

/// The name of the section.
pub const SECTION: &str = "tally_stackmaps";

/// The first bytes of a map. LLVM's begins with its version, 3.
pub const MAGIC: [u8; 4] = *b"TMAP";

/// Flag: lists begin with the size of their frame, which the walk needs on some processors.
pub(crate) const FLAG_FRAME_SIZES: u32 = 1;

/// Flag: the writer has checked the map, and its bytes end with a seal.
pub(crate) const FLAG_SEALED: u32 = 2;

const HEADER_BYTES: usize = 32;
const GROUP_BYTES: usize = 8;
const CHUNK_BYTES: usize = 8;

/// Bit of a group's first chunk: its place is that of a pointer.
const THROUGH_POINTER: u32 = 1 << 31;

/// Checks the map at the start of `bytes`, by its seal if it has one, and returns a view of it. Bytes behind it are not read.
pub fn read(bytes: &[u8]) -> Result<CompactMap<'_>, CompactError> {
    let map = parts(bytes)?;
    let calls = match map.has_seal {
        true => map.sealed_calls()?,
        false => map.check()?,
    };
    Ok(CompactMap { calls, ..map })
}

/// The parts of the map, of which nothing is known but that they are there.
fn parts(bytes: &[u8]) -> Result<CompactMap<'_>, CompactError> {
    if bytes.get(..4) != Some(&MAGIC) {
        return Err(CompactError::Magic);
    }
    let all = word(bytes, 4)? as usize;
    let bytes = bytes.get(..all).ok_or(CompactError::Truncated { at: 0, wanted: all, section: bytes.len() })?;
    let count = |at| word(bytes, at).map(|count| count as usize);
    let (groups, chunks, ids) = (count(12)?, count(16)?, count(20)?);
    let flags = word(bytes, 8)?;
    if flags & !(FLAG_FRAME_SIZES | FLAG_SEALED) != 0 {
        return Err(CompactError::Flags { found: flags });
    }
    let chunks_at = span(bytes, HEADER_BYTES, groups, GROUP_BYTES)?;
    let ids_at = span(bytes, chunks_at, chunks, CHUNK_BYTES)?;
    let lists_at = span(bytes, ids_at, ids, 8)?;
    let sites_at = span(bytes, lists_at, count(24)?, 4)?;
    let end = span(bytes, sites_at, count(28)?, 1)?;
    let has_seal = flags & FLAG_SEALED != 0;
    let behind = end.next_multiple_of(8) + if has_seal { SEAL_BYTES } else { 0 };
    if behind != all {
        return Err(CompactError::Size { announced: all, found: if has_seal { behind } else { end } });
    }
    let part = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
    Ok(CompactMap {
        bytes,
        groups: part(HEADER_BYTES, chunks_at),
        chunks: part(chunks_at, ids_at),
        lists: Lists {
            words: part(lists_at, sites_at),
            ids: part(ids_at, lists_at),
            has_sizes: flags & FLAG_FRAME_SIZES != 0,
        },
        sites: part(sites_at, end),
        calls: 0,
        has_seal,
    })
}

/// The seal that a map of that many groups should have; `None` for bytes that are too few.
fn seal_of(map: &[u8], groups: usize) -> Option<u64> {
    let sealed = map.get(..map.len().checked_sub(8)?)?;
    let (header, rest) = sealed.split_at_checked(HEADER_BYTES)?;
    let (groups, rest) = rest.split_at_checked(groups.checked_mul(GROUP_BYTES)?)?;
    Some(seal::of(header, groups, rest))
}

/// A map that [`read`] has checked.
#[derive(Clone, Copy, Debug)]
pub struct CompactMap<'a> {
    bytes: &'a [u8],
    groups: &'a [u8],
    chunks: &'a [u8],
    lists: Lists<'a>,
    sites: &'a [u8],
    calls: usize,
    has_seal: bool,
}

impl<'a> CompactMap<'a> {
    /// The map's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The sections of code that it describes.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = Group> + use<'a> {
        let map = *self;
        (0..map.groups.len() / GROUP_BYTES).map(move |index| map.group(index))
    }

    /// The calls of a group by return address.
    pub fn calls(&self, group: &Group) -> impl Iterator<Item = CompactCall<'a>> + use<'a> {
        let map = *self;
        group.chunks().flat_map(move |chunk| map.calls_of_chunk(chunk))
    }

    fn calls_of_chunk(&self, chunk: u32) -> impl Iterator<Item = CompactCall<'a>> + use<'a> {
        let map = *self;
        let mut calls = map.open(chunk).ok();
        std::iter::from_fn(move || calls.as_mut()?.next_call(&map.lists).ok().flatten()).map(move |call| CompactCall {
            return_offset: call.return_offset,
            function_offset: call.function,
            frame_size: map.lists.frame_size(call.list),
            list: call.list,
            roots: map.lists.roots(call.list),
        })
    }

    fn group(&self, index: usize) -> Group {
        let at = index * GROUP_BYTES;
        let [place, first] = [word(self.groups, at), word(self.groups, at + 4)].map(Result::unwrap_or_default);
        let behind = word(self.groups, at + GROUP_BYTES + 4).map_or(self.chunk_count(), |next| next & !THROUGH_POINTER);
        Group {
            place_at: HEADER_BYTES + at,
            place: place as i32,
            is_through_pointer: first & THROUGH_POINTER != 0,
            first: first & !THROUGH_POINTER,
            behind: behind.min(self.chunk_count()),
        }
    }

    fn chunk_count(&self) -> u32 {
        (self.chunks.len() / CHUNK_BYTES) as u32
    }

    /// The first return address of a chunk.
    fn chunk_return(&self, chunk: u32) -> Option<u32> {
        word(self.chunks, chunk as usize * CHUNK_BYTES).ok()
    }

    /// The calls of a chunk.
    fn open(&self, chunk: u32) -> Result<Calls<'a>, CompactError> {
        let at = chunk as usize * CHUNK_BYTES;
        let start = word(self.chunks, at + 4)? as usize;
        let end = word(self.chunks, at + CHUNK_BYTES + 4).map_or(self.sites.len(), |next| next as usize);
        let sites = self.sites.get(start..end).ok_or(CompactError::Chunk { chunk })?;
        Calls::open(sites, chunk, word(self.chunks, at)?)
    }

    /// The number of calls, if the seal is that of the bytes.
    fn sealed_calls(&self) -> Result<usize, CompactError> {
        let seal = self.bytes.last_chunk().map(|&seal| u64::from_le_bytes(seal));
        if seal.is_none() || seal != seal_of(self.bytes, self.groups().len()) {
            return Err(CompactError::Seal);
        }
        word(self.bytes, self.bytes.len() - SEAL_BYTES).map(|calls| calls as usize)
    }

    /// Reads everything once, and counts the calls.
    fn check(&self) -> Result<usize, CompactError> {
        let (mut next, mut count) = (0, 0);
        let starts = self.lists.check()?;
        for group in self.groups() {
            if group.first != next || group.behind <= group.first || group.behind > self.chunk_count() {
                return Err(CompactError::Group { at: group.place_at });
            }
            next = group.behind;
            let mut last = None;
            for chunk in group.chunks() {
                let mut calls = self.open(chunk)?;
                let mut starts_at = None;
                while let Some(call) = calls.next_call(&self.lists)? {
                    starts_at = starts_at.or(Some(call.return_offset));
                    if last.is_some_and(|last| call.return_offset <= last) {
                        return Err(CompactError::Chunk { chunk });
                    }
                    last = Some(call.return_offset);
                    count += 1;
                    if let Some(word) = call.list.filter(|&list| !starts.has(list)) {
                        return Err(CompactError::List { word });
                    }
                }
                if starts_at.is_none() || starts_at != self.chunk_return(chunk) {
                    return Err(CompactError::Chunk { chunk });
                }
            }
        }
        match next == self.chunk_count() {
            true => Ok(count),
            false => Err(CompactError::Group { at: HEADER_BYTES }),
        }
    }
}

/// A section of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Byte offset, in the map, of the field `place`: where an object file's relocation for it points.
    pub place_at: usize,
    /// The distance from that field to the code, or to a pointer to it.
    pub place: i32,
    /// Whether the place is that of a pointer.
    pub is_through_pointer: bool,
    first: u32,
    behind: u32,
}

impl Group {
    fn chunks(&self) -> std::ops::Range<u32> {
        self.first..self.behind
    }

    /// The address of the code, or of a pointer to it, in a map that begins at `map`.
    pub fn address(&self, map: u64) -> u64 {
        map.wrapping_add(self.place_at as u64).wrapping_add_signed(i64::from(self.place))
    }
}

/// One recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactCall<'a> {
    /// Its return address, from the start of the group's code.
    pub return_offset: u32,
    /// The start of its function, from there: below it where the group begins in the middle of a section.
    pub function_offset: u32,
    /// Bytes of the frame, where the map tells.
    pub frame_size: Option<u64>,
    /// The first word of its list. Calls with equal lists share one.
    pub list: Option<u32>,
    /// The roots.
    pub roots: PackedRoots<'a>,
}

#[cfg(test)]
mod tests;
