//! Lists of roots, as compact maps pack them.
//!
//! The walk reads them in place: a root of a narrow list is one word, and an id that is looked up.

use super::faults::{CompactError, word};
use crate::root_records::{BaseRegister, Location, RootSlot};

/// Bit of a list's header: its roots are wide.
pub(super) const WIDE: u32 = 1;
/// Bit of a list's header: a root is addressed by the base register.
pub(super) const NEEDS_BASE: u32 = 2;
/// Places of its count, and of a narrow list's first id.
pub(super) const COUNT_SHIFT: u32 = 2;
pub(super) const ID_SHIFT: u32 = 12;
/// The most roots of a narrow list.
pub(super) const NARROW_MAX: u32 = (1 << (ID_SHIFT - COUNT_SHIFT)) - 1;
/// Bytes of a wide root.
const WIDE_BYTES: usize = 12;
/// Bit of a root's place: the slot's address lies there.
pub(super) const INDIRECT: u32 = 4;
/// The frame size of lists whose frames vary.
pub(super) const SIZE_VARIES: u32 = u32::MAX;

/// The lists of a map, and the ids that they refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists<'a> {
    pub(super) words: &'a [u8],
    pub(super) ids: &'a [u8],
    /// Each begins with the size of its frame.
    pub(super) has_sizes: bool,
}

impl<'a> Lists<'a> {
    /// The roots of the list at a word; none of no list, or of one that is not sound.
    #[inline]
    pub(super) fn roots(&self, list: Option<u32>) -> PackedRoots<'a> {
        list.and_then(|list| self.read(list).ok()).unwrap_or(PackedRoots { words: &[], ids: self.ids, header: 0 })
    }

    /// Words of the list there, by its header.
    #[inline(always)]
    pub(super) fn length(&self, list: u32) -> Option<u32> {
        let own = 1 + u32::from(self.has_sizes);
        let header = word(self.words, (list as usize + own as usize - 1).checked_mul(4)?).ok()?;
        match header & WIDE {
            0 => Some((header >> COUNT_SHIFT & NARROW_MAX) + own),
            _ => (header >> COUNT_SHIFT).checked_mul(WIDE_BYTES as u32 / 4)?.checked_add(own),
        }
    }

    pub(super) fn frame_size(&self, list: Option<u32>) -> Option<u64> {
        let size = word(self.words, (list.filter(|_| self.has_sizes)? as usize).checked_mul(4)?).ok()?;
        (size != SIZE_VARIES).then_some(u64::from(size))
    }

    /// Checks all lists, each to its last root, and returns where they begin: one behind the other.
    pub(super) fn check(&self) -> Result<Starts, CompactError> {
        let count = self.words.len() / 4;
        let mut starts = Starts { bits: Vec::new() };
        starts.bits.try_reserve_exact(count.div_ceil(64)).map_err(|_| CompactError::OutOfMemory)?;
        starts.bits.resize(count.div_ceil(64), 0);
        let mut next = 0;
        while (next as usize) < count {
            self.check_one(next)?;
            starts.bits[next as usize / 64] |= 1 << (next % 64);
            next += self.length(next).ok_or(CompactError::List { word: next })?;
        }
        Ok(starts)
    }

    fn check_one(&self, list: u32) -> Result<(), CompactError> {
        let roots = self.read(list)?;
        let ids = self.ids.len() / 8;
        let needs_base = roots.header & NEEDS_BASE != 0;
        let is_sound = |(id, place, _): (u32, u32, i32)| {
            (id as usize) < ids && place & 3 != 3 && place & !7 == 0 && (place & 3 != 2 || needs_base)
        };
        match roots.fields().all(is_sound) {
            true => Ok(()),
            false => Err(CompactError::List { word: list }),
        }
    }

    #[inline]
    fn read(&self, list: u32) -> Result<PackedRoots<'a>, CompactError> {
        let wrong = CompactError::List { word: list };
        let at = (list as usize + usize::from(self.has_sizes)).checked_mul(4).ok_or(wrong)?;
        let header = word(self.words, at).map_err(|_| wrong)?;
        let bytes = match header & WIDE {
            0 => ((header >> COUNT_SHIFT) & NARROW_MAX) as usize * 4,
            _ => (header >> COUNT_SHIFT) as usize * WIDE_BYTES,
        };
        let words = self.words.get(at + 4..).and_then(|rest| rest.get(..bytes)).ok_or(wrong)?;
        Ok(PackedRoots { words, ids: self.ids, header })
    }
}

/// The words at which lists begin, a bit each.
pub(super) struct Starts {
    bits: Vec<u64>,
}

impl Starts {
    pub(super) fn has(&self, word: u32) -> bool {
        self.bits.get(word as usize / 64).is_some_and(|bits| bits >> (word % 64) & 1 != 0)
    }
}

/// The roots of one call in a compact map.
#[derive(Clone, Copy, Debug)]
pub struct PackedRoots<'a> {
    words: &'a [u8],
    ids: &'a [u8],
    header: u32,
}

impl<'a> PackedRoots<'a> {
    /// Whether a root is addressed by the base register.
    #[inline]
    pub(crate) fn needs_base(&self) -> bool {
        self.header & NEEDS_BASE != 0
    }

    /// The number of roots.
    pub fn len(&self) -> usize {
        self.words.len() / if self.header & WIDE == 0 { 4 } else { WIDE_BYTES }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The roots in the order of the bundle.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = RootSlot> + use<'a> {
        let ids = self.ids;
        self.fields().map(move |(id, place, offset)| {
            let id =
                ids.get(id as usize * 8..).and_then(|rest| rest.first_chunk()).map_or(0, |&id| u64::from_le_bytes(id));
            let base = match place & 3 {
                0 => BaseRegister::Rsp,
                1 => BaseRegister::Rbp,
                _ => BaseRegister::Rbx,
            };
            let location = match place & INDIRECT {
                0 => Location::Direct { base, offset },
                _ => Location::Indirect { base, offset },
            };
            RootSlot { id, location }
        })
    }

    /// Number of the id, place and offset of each root.
    #[inline]
    fn fields(&self) -> impl Iterator<Item = (u32, u32, i32)> + use<'a> {
        let (words, header) = (self.words, self.header);
        let is_wide = header & WIDE != 0;
        let size = if is_wide { WIDE_BYTES } else { 4 };
        words.chunks_exact(size).map(move |root| {
            let field = |at| word(root, at).unwrap_or_default();
            let first = field(0);
            match is_wide {
                false => {
                    let place = first >> 16;
                    ((header >> ID_SHIFT) + (first & 0xffff), place & 7, i32::from((place & !7) as u16 as i16))
                }
                true => (first, field(8), field(4) as i32),
            }
        })
    }
}

impl PartialEq for PackedRoots<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for PackedRoots<'_> {}
