//! Finds a section of an ELF file by its name, for tables that are in the file and not in memory.
//!
//! The runtime asks for `.note.gc`, where LLVM's strategy `erlang` describes frames (`gcroot_offsets`). The file may be
//! large, so the caller reads the parts that are asked for: the header, the section headers, their names, the section.
//!
//! `[MAP]` Every part is checked against the size of the file before it is asked for. Only 64-bit little-endian files are
//! read. Files of more than 65,279 sections have their count elsewhere; none that a linker makes does.

use std::fmt;

/// Returns the bytes of the section `name`, of a file of `size` bytes. `read` returns `length` bytes at `offset`.
pub fn find(
    size: u64,
    mut read: impl FnMut(u64, usize) -> Option<Vec<u8>>,
    name: &str,
) -> Result<Option<Vec<u8>>, ElfFault> {
    let mut part = |offset: u64, length: u64, what: &'static str| {
        let fits = offset.checked_add(length).is_some_and(|end| end <= size);
        let length = usize::try_from(length).ok().filter(|_| fits).ok_or(ElfFault::Outside { what })?;
        read(offset, length).filter(|bytes| bytes.len() == length).ok_or(ElfFault::Unreadable { what })
    };
    let header = part(0, HEADER_BYTES, "header")?;
    if header[..6] != [0x7f, b'E', b'L', b'F', CLASS_64, LITTLE_ENDIAN] {
        return Err(ElfFault::NoElf);
    }
    let count = u16_at(&header, 60);
    if count == 0 {
        return Ok(None);
    }
    if u64::from(u16_at(&header, 58)) != SECTION_BYTES {
        return Err(ElfFault::Outside { what: "section headers" });
    }
    let sections = part(u64_at(&header, 40), u64::from(count) * SECTION_BYTES, "section headers")?;
    let section = |index: usize| sections.chunks_exact(SECTION_BYTES as usize).nth(index);
    let place = |section: &[u8]| (u64_at(section, 24), u64_at(section, 32));
    let names = section(usize::from(u16_at(&header, 62))).ok_or(ElfFault::Outside { what: "section names" })?;
    let (offset, length) = place(names);
    let names = part(offset, length, "section names")?;
    let has_name = |section: &&[u8]| {
        let rest = names.get(u32_at(section, 0) as usize..).unwrap_or_default();
        rest.strip_prefix(name.as_bytes()).is_some_and(|behind| behind.first() == Some(&0))
    };
    let Some(found) = sections.chunks_exact(SECTION_BYTES as usize).find(has_name) else { return Ok(None) };
    if u32_at(found, 4) == TYPE_NOBITS {
        return Ok(None);
    }
    let (offset, length) = place(found);
    part(offset, length, "section").map(Some)
}

const HEADER_BYTES: u64 = 64;
const SECTION_BYTES: u64 = 64;
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
/// `SHT_NOBITS`: the section has a size and no bytes.
const TYPE_NOBITS: u32 = 8;

/// `N` bytes of a part that is long enough.
fn at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(at(bytes, offset))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(at(bytes, offset))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(at(bytes, offset))
}

/// Why a file's sections cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfFault {
    /// It does not begin like a 64-bit little-endian ELF file.
    NoElf,
    /// A part lies outside the file.
    Outside {
        /// The part.
        what: &'static str,
    },
    /// A part cannot be read.
    Unreadable {
        /// The part.
        what: &'static str,
    },
}

impl fmt::Display for ElfFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfFault::NoElf => out.write_str("the file is no 64-bit little-endian ELF file"),
            ElfFault::Outside { what } => write!(out, "the file is damaged: its {what} lies outside of it"),
            ElfFault::Unreadable { what } => write!(out, "the file's {what} cannot be read"),
        }
    }
}

impl std::error::Error for ElfFault {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with the sections "" (none), ".a" of three bytes, and the names.
    fn file() -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes.extend(b"abc\0\0\0\0\0");
        bytes.extend(b"\0.a\0.names\0\0\0\0\0\0");
        bytes[40..48].copy_from_slice(&88u64.to_le_bytes());
        bytes[58..64].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
        for (name, offset, length) in [(0u32, 0u64, 0u64), (1, 64, 3), (4, 72, 11)] {
            let start = bytes.len();
            bytes.resize(start + 64, 0);
            bytes[start..start + 4].copy_from_slice(&name.to_le_bytes());
            bytes[start + 24..start + 32].copy_from_slice(&offset.to_le_bytes());
            bytes[start + 32..start + 40].copy_from_slice(&length.to_le_bytes());
        }
        bytes
    }

    fn found(bytes: &[u8], name: &str) -> Result<Option<Vec<u8>>, ElfFault> {
        let read = |offset: u64, length: usize| Some(bytes[offset as usize..][..length].to_vec());
        find(bytes.len() as u64, read, name)
    }

    #[test]
    fn a_section_is_found_by_its_whole_name() {
        assert_eq!(found(&file(), ".a"), Ok(Some(b"abc".to_vec())));
        for other in [".", ".names.", ".b", "names"] {
            assert_eq!(found(&file(), other), Ok(None), "{other}");
        }
    }

    #[test]
    fn damaged_files_are_faults_or_other_sections() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(found(&whole[..length], ".a").is_err(), "{length}");
        }
        for place in 0..whole.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] ^= change;
                let _ = found(&damaged, ".a");
            }
        }
        assert_eq!(found(&[0; 64], ".a"), Err(ElfFault::NoElf));
        assert_eq!(find(64, |_, _| None, ".a"), Err(ElfFault::Unreadable { what: "header" }));
    }
}
