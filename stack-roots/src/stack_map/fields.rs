//! Fields of a section, and the errors for those that are missing.
//!
//! Every byte that the reader looks at passes through [`field`], every count through [`span`] before anything loops
//! over it. That is all of `[MAP]`: there is no indexing elsewhere in the reader. Offsets saturate instead of
//! wrapping, so a count of 2³² − 1 points past every slice and not back into it.

use std::fmt;

/// `N` bytes at `offset`.
pub(super) fn field<const N: usize>(bytes: &[u8], offset: usize) -> Result<[u8; N], MapError> {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).copied().ok_or(MapError::Truncated {
        offset,
        wanted: N,
        section: bytes.len(),
    })
}

/// The end of `count` items of `size` bytes at `offset`, all of them inside the slice.
pub(super) fn span(bytes: &[u8], offset: usize, count: usize, size: usize) -> Result<usize, MapError> {
    let wanted = count.saturating_mul(size);
    offset.checked_add(wanted).filter(|&end| end <= bytes.len()).ok_or(MapError::Truncated {
        offset,
        wanted,
        section: bytes.len(),
    })
}

/// A 32-bit count.
pub(super) fn count(bytes: &[u8], offset: usize) -> Result<usize, MapError> {
    field(bytes, offset).map(|word| u32::from_le_bytes(word) as usize)
}

/// Why bytes are not a stack map section. `offset` is the byte of the section at which the fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// The section ends before something it announces.
    Truncated {
        /// The start of the missing item.
        offset: usize,
        /// Its size in bytes.
        wanted: usize,
        /// Size of the section in bytes.
        section: usize,
    },
    /// A blob begins with a version other than 3.
    Version {
        /// The blob's start.
        offset: usize,
        /// The version byte.
        found: u8,
    },
    /// The functions' record counts do not add up to the header's.
    RecordCount {
        /// The blob's start.
        offset: usize,
        /// Records according to the header.
        header: u64,
        /// Records according to the functions.
        of_functions: u64,
    },
    /// A location of a kind that version 3 does not have.
    LocationKind {
        /// The location's start.
        offset: usize,
        /// The kind byte.
        found: u8,
    },
    /// A location names a constant outside the pool.
    ConstantIndex {
        /// The location's start.
        offset: usize,
        /// The index named.
        index: u32,
        /// Size of the pool.
        constants: usize,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            MapError::Truncated { offset, wanted, section } => write!(
                out,
                "stack map, byte {offset}: {wanted} bytes wanted, the section has {section}; pass the whole section"
            ),
            MapError::Version { offset, found } => write!(
                out,
                "stack map, byte {offset}: version {found} where 3 is read; compile the module with LLVM 22"
            ),
            MapError::RecordCount { offset, header, of_functions } => write!(
                out,
                "stack map, byte {offset}: the header announces {header} records, the functions {of_functions}; \
                 the section is damaged"
            ),
            MapError::LocationKind { offset, found } => {
                write!(out, "stack map, byte {offset}: location kind {found} is none of 1 to 5; the section is damaged")
            }
            MapError::ConstantIndex { offset, index, constants } => write!(
                out,
                "stack map, byte {offset}: constant {index} of a pool of {constants}; the section is damaged"
            ),
        }
    }
}

impl std::error::Error for MapError {}
