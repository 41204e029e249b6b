//! Writes compact stack maps; [`super::read`] reads them.
//!
//! The emitter passes the calls of each section of code and gets the bytes, with the places that the linker fills in.
//! The same calls make the same bytes.

use super::chunk::{FUNCTION, NAMED_LIST, NEXT_LIST, NO_ROOTS, SAME_LIST};
use super::lists::{COUNT_SHIFT, ID_SHIFT, INDIRECT, NARROW_MAX, NEEDS_BASE, SIZE_VARIES, WIDE};
use super::seal::SEAL_BYTES;
use super::{FLAG_FRAME_SIZES, FLAG_SEALED, HEADER_BYTES, MAGIC, THROUGH_POINTER};
use crate::frame_table::Frame;
use crate::root_records::{BaseRegister, Location, RootSlot};
use rustc_hash::FxHashMap;

/// Calls of a chunk.
const CHUNK_CALLS: usize = 16;

/// The calls of one section of code, or of the part of it behind a label.
#[derive(Clone, Debug, Default)]
pub struct GroupCalls {
    /// The map finds the code through a pointer.
    pub is_through_pointer: bool,
    /// Its calls, ascending by return address, each once.
    pub calls: Vec<WrittenCall>,
}

/// A call, as the writer takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCall {
    /// Its return address, from the group's code.
    pub return_offset: u32,
    /// The start of its function, from there. Functions do not overlap.
    pub function_offset: u32,
    /// Bytes of the frame; `None` where it varies.
    pub frame_size: Option<u64>,
    /// Its roots.
    pub roots: Vec<RootSlot>,
}

impl WrittenCall {
    /// What a table says of a call, in a group whose code is at `code`.
    pub fn of_frame(frame: &Frame<'_>, code: u64) -> Result<WrittenCall, TooLarge> {
        let function = frame.function();
        let offset = |address: u64| u32::try_from(address.wrapping_sub(code)).map_err(|_| TooLarge);
        Ok(WrittenCall {
            return_offset: offset(frame.pc)?,
            function_offset: offset(function.address)?,
            frame_size: function.stack_size,
            roots: frame.roots.iter().collect(),
        })
    }
}

/// A map, and the byte offset of each group's place.
#[derive(Clone, Debug)]
pub struct Written {
    /// The section's content.
    pub bytes: Vec<u8>,
    /// Byte offset of the place of each group, in the order of the groups.
    pub places: Vec<usize>,
}

/// A map that does not fit the format's 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Writes the map of some groups. Groups without calls are left out, and have no place.
pub fn write(groups: &[GroupCalls], has_frame_sizes: bool) -> Result<Written, TooLarge> {
    let mut writer = Writer { has_frame_sizes, ..Writer::default() };
    for group in groups.iter().filter(|group| !group.calls.is_empty()) {
        let first = number(writer.chunks.len() / 8)?;
        let flag = if group.is_through_pointer { THROUGH_POINTER } else { 0 };
        writer.groups.extend([0; 4]);
        writer.groups.extend((first | flag).to_le_bytes());
        let mut start = None;
        for calls in group.calls.chunks(CHUNK_CALLS) {
            writer.chunk(calls, &mut start)?;
        }
    }
    writer.finish()
}

#[derive(Default)]
struct Writer {
    groups: Vec<u8>,
    chunks: Vec<u8>,
    ids: Vec<u8>,
    lists: Vec<u8>,
    sites: Vec<u8>,
    id_numbers: FxHashMap<u64, u32>,
    known: FxHashMap<(Option<u64>, Vec<RootSlot>), u32>,
    has_frame_sizes: bool,
}

impl Writer {
    /// `last` is the last return address of the group so far.
    fn chunk(&mut self, calls: &[WrittenCall], function: &mut Option<u32>) -> Result<(), TooLarge> {
        let Some(first) = calls.first() else { return Ok(()) };
        self.chunks.extend(first.return_offset.to_le_bytes());
        self.chunks.extend(number(self.sites.len())?.to_le_bytes());
        let mut next_list = number(self.lists.len() / 4)?;
        uleb(&mut self.sites, next_list);
        uleb(&mut self.sites, first.return_offset.wrapping_sub(first.function_offset));
        *function = Some(first.function_offset);
        let (mut last_return, mut last_list) = (first.return_offset.wrapping_sub(1), None);
        for call in calls {
            if *function != Some(call.function_offset) {
                uleb(&mut self.sites, FUNCTION);
                uleb(&mut self.sites, call.function_offset.checked_sub(last_return).ok_or(TooLarge)?);
                *function = Some(call.function_offset);
                last_return = call.function_offset;
            }
            let distance = call.return_offset.wrapping_sub(last_return);
            if distance == 0 || distance > u32::MAX >> 2 {
                return Err(TooLarge);
            }
            last_return = call.return_offset;
            let list = self.list(call)?;
            let kind = match list {
                None => NO_ROOTS,
                Some(_) if list == last_list => SAME_LIST,
                Some(list) if list == next_list => NEXT_LIST,
                Some(_) => NAMED_LIST,
            };
            uleb(&mut self.sites, distance << 2 | kind);
            match (kind, list) {
                (NEXT_LIST, _) => next_list = number(self.lists.len() / 4)?,
                (NAMED_LIST, Some(list)) => uleb(&mut self.sites, list),
                _ => {}
            }
            last_list = list.or(last_list);
        }
        Ok(())
    }

    /// The word of the list of a call's roots, which is added if there is none.
    fn list(&mut self, call: &WrittenCall) -> Result<Option<u32>, TooLarge> {
        if call.roots.is_empty() && !self.has_frame_sizes {
            return Ok(None);
        }
        let key = (call.frame_size.filter(|_| self.has_frame_sizes), call.roots.clone());
        if let Some(&list) = self.known.get(&key) {
            return Ok(Some(list));
        }
        let list = number(self.lists.len() / 4)?;
        if self.has_frame_sizes {
            let size = call.frame_size.and_then(|size| u32::try_from(size).ok()).unwrap_or(SIZE_VARIES);
            self.lists.extend(size.to_le_bytes());
        }
        self.roots(&call.roots)?;
        self.known.insert(key, list);
        Ok(Some(list))
    }

    fn roots(&mut self, roots: &[RootSlot]) -> Result<(), TooLarge> {
        let ids = roots.iter().map(|root| self.id(root.id)).collect::<Result<Vec<u32>, _>>()?;
        let first = ids.iter().copied().min().unwrap_or(0);
        let needs_base = roots.iter().any(|root| root.location.base() == BaseRegister::Rbx);
        let base = if needs_base { NEEDS_BASE } else { 0 };
        let count = number(roots.len())?;
        let narrow = || {
            let header = first.checked_mul(1 << ID_SHIFT)? | count << COUNT_SHIFT | base;
            let roots = roots.iter().zip(&ids).map(|(root, id)| {
                let (place, offset) = place(root.location);
                let low = u16::try_from(id - first).ok()?;
                let offset = i16::try_from(offset).ok().filter(|offset| offset & 7 == 0)?;
                Some(u32::from(low) | (u32::from(offset as u16) | place) << 16)
            });
            let roots = roots.collect::<Option<Vec<u32>>>()?;
            (count <= NARROW_MAX).then(|| [vec![header], roots].concat())
        };
        let words = match narrow() {
            Some(words) => words,
            None => {
                let header = count.checked_mul(1 << COUNT_SHIFT).ok_or(TooLarge)? | base | WIDE;
                let roots = roots.iter().zip(&ids).flat_map(|(root, &id)| {
                    let (place, offset) = place(root.location);
                    [id, offset as u32, place]
                });
                std::iter::once(header).chain(roots).collect()
            }
        };
        words.into_iter().for_each(|word| self.lists.extend(word.to_le_bytes()));
        Ok(())
    }

    /// The number of an id.
    fn id(&mut self, id: u64) -> Result<u32, TooLarge> {
        let next = number(self.ids.len() / 8)?;
        Ok(*self.id_numbers.entry(id).or_insert_with(|| {
            self.ids.extend(id.to_le_bytes());
            next
        }))
    }

    fn finish(self) -> Result<Written, TooLarge> {
        let parts = [self.groups, self.chunks, self.ids, self.lists, self.sites];
        let [groups, chunks, ids, lists, sites] = [8, 8, 8, 4, 1];
        let counts =
            parts.iter().zip([groups, chunks, ids, lists, sites]).map(|(part, size)| number(part.len() / size));
        let counts = counts.collect::<Result<Vec<u32>, _>>()?;
        let all = HEADER_BYTES + parts.iter().map(Vec::len).sum::<usize>();
        let flags = if self.has_frame_sizes { FLAG_FRAME_SIZES } else { 0 };
        let mut bytes = MAGIC.to_vec();
        bytes.reserve_exact(all.next_multiple_of(8) + SEAL_BYTES);
        for word in [number(all.next_multiple_of(8))?, flags].into_iter().chain(counts) {
            bytes.extend(word.to_le_bytes());
        }
        let places = (0..parts[0].len() / 8).map(|group| HEADER_BYTES + 8 * group).collect();
        parts.iter().for_each(|part| bytes.extend(part));
        bytes.resize(all.next_multiple_of(8), 0);
        seal(&mut bytes)?;
        Ok(Written { bytes, places })
    }
}

/// Checks a map and puts a seal on it. One that is not sound stays without, so that a reader says what is wrong with it.
fn seal(bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
    let Ok(map) = super::read(bytes) else { return Ok(()) };
    let (calls, groups) = (number(map.calls)?, map.groups().len());
    let size = number(bytes.len() + SEAL_BYTES)?;
    bytes.extend(calls.to_le_bytes());
    bytes.extend([0; SEAL_BYTES - 4]);
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    bytes[8] |= FLAG_SEALED as u8;
    renew_seal(bytes, groups);
    Ok(())
}

/// Makes the seal that of the bytes, whatever they say. Tests damage maps in spite of it.
pub(crate) fn renew_seal(bytes: &mut [u8], groups: usize) {
    if let Some((seal, place)) = super::seal_of(bytes, groups).zip(bytes.last_chunk_mut()) {
        *place = seal.to_le_bytes();
    }
}

/// The same map without a seal, which its readers check. For tests.
pub fn without_seal(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - SEAL_BYTES);
    let size = bytes.len() as u32;
    bytes[4..8].copy_from_slice(&size.to_le_bytes());
    bytes[8] &= !(FLAG_SEALED as u8);
    bytes
}

impl Written {
    /// Fills in the places for a map at `map` whose groups' code, or pointers to it, are at `codes`. For readers in
    /// the process that wrote the map; a linker does it for objects.
    pub fn placed(mut self, map: u64, codes: &[u64]) -> Vec<u8> {
        for (&at, &code) in self.places.iter().zip(codes) {
            let distance = code.wrapping_sub(map.wrapping_add(at as u64)) as u32;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes
    }
}

/// A slot's place, and its offset from there.
fn place(location: Location) -> (u32, i32) {
    let (offset, indirect) = match location {
        Location::Direct { offset, .. } => (offset, 0),
        Location::Indirect { offset, .. } => (offset, INDIRECT),
    };
    let base = match location.base() {
        BaseRegister::Rsp => 0,
        BaseRegister::Rbp => 1,
        BaseRegister::Rbx => 2,
    };
    (base | indirect, offset)
}

fn uleb(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn number(value: usize) -> Result<u32, TooLarge> {
    u32::try_from(value).ok().filter(|&value| value < THROUGH_POINTER).ok_or(TooLarge)
}
