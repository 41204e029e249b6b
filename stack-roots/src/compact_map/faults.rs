//! Fields of a compact map, and the errors for those that are missing or make no sense.
//!
//! As in `stack_map::fields`, every byte that the reader looks at passes through [`word`] or [`uleb`].

use std::fmt;

/// The u32 at `at`.
#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> Result<u32, CompactError> {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(&word) => Ok(u32::from_le_bytes(word)),
        None => Err(CompactError::Truncated { at, wanted: 4, section: bytes.len() }),
    }
}

/// The end of `count` items of `size` bytes at `at`, all of them inside the slice.
pub(super) fn span(bytes: &[u8], at: usize, count: usize, size: usize) -> Result<usize, CompactError> {
    let wanted = count.saturating_mul(size);
    let end = at.checked_add(wanted).filter(|&end| end <= bytes.len());
    end.ok_or(CompactError::Truncated { at, wanted, section: bytes.len() })
}

/// An unsigned number of at most 32 bits in LEB128, and the place behind it.
#[inline(always)]
pub(super) fn uleb(bytes: &[u8], at: &mut usize) -> Option<u32> {
    // Nearly all have one byte or two.
    let first = u32::from(*bytes.get(*at)?);
    if first < 0x80 {
        *at += 1;
        return Some(first);
    }
    let second = u32::from(*bytes.get(*at + 1)?);
    if second < 0x80 {
        *at += 2;
        return Some(first & 0x7f | second << 7);
    }
    long_uleb(bytes, at)
}

fn long_uleb(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0u32;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 28 && byte > 15 {
            return None;
        }
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Why bytes are no compact stack map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactError {
    /// They begin otherwise.
    Magic,
    /// The section ends before something it announces.
    Truncated {
        /// The start of the missing item, in its part of the section.
        at: usize,
        /// Its size in bytes.
        wanted: usize,
        /// Bytes of the part.
        section: usize,
    },
    /// A flag that is not known.
    Flags {
        /// All flags.
        found: u32,
    },
    /// The parts do not add up to the whole.
    Size {
        /// According to the header.
        announced: usize,
        /// The end of the last part.
        found: usize,
    },
    /// Its bytes are not those that were sealed.
    Seal,
    /// A group's chunks do not follow those of the group before.
    Group {
        /// The byte of the map.
        at: usize,
    },
    /// A chunk's calls cannot be read, or are not in order.
    Chunk {
        /// Its number.
        chunk: u32,
    },
    /// A list of roots cannot be read, or a call names a word at which none begins.
    List {
        /// The word.
        word: u32,
    },
    /// There is no memory to check it: a bit for each word of its lists.
    OutOfMemory,
}

impl fmt::Display for CompactError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CompactError::Magic => out.write_str("compact stack map: it does not begin with TMAP"),
            CompactError::Truncated { at, wanted, section } => write!(
                out,
                "compact stack map, byte {at}: {wanted} bytes wanted, there are {section}; the section is damaged or cut"
            ),
            CompactError::Flags { found } => write!(
                out,
                "compact stack map: flags {found:#x}, and only 1 and 2 are known; compile the module with the tally of this runtime"
            ),
            CompactError::Size { announced, found } => write!(
                out,
                "compact stack map: {announced} bytes by its header, {found} by its parts; the section is damaged"
            ),
            CompactError::Seal => {
                out.write_str("compact stack map: its bytes are not those that were written; the section is damaged")
            }
            CompactError::Group { at } => {
                write!(out, "compact stack map, byte {at}: a group's chunks are not in order; the section is damaged")
            }
            CompactError::Chunk { chunk } => {
                write!(out, "compact stack map: the calls of chunk {chunk} cannot be read; the section is damaged")
            }
            CompactError::OutOfMemory => out.write_str("compact stack map: there is no memory to check it"),
            CompactError::List { word } => {
                write!(
                    out,
                    "compact stack map: the list of roots at word {word} cannot be read; the section is damaged"
                )
            }
        }
    }
}

impl std::error::Error for CompactError {}
