//! The stack map section as LLVM writes it, version 3, read in place.
//!
//! `frame_table` uses this reader to make a table of a section, `tally maps` to list one. The bytes may come from a
//! loaded module, an object file or a fuzzer: nothing in them is trusted. `[MAP]` A reader never looks outside the
//! slice, never panics and allocates nothing; `read` checks the whole section once, the iterators repeat what it
//! checked.
//!
//! ```text
//! section = blob blob …                one blob per object file, each 8-aligned; the linker concatenates them
//! blob    = u8 3, u8, u16 | u32 functions | u32 constants | u32 records
//!           functions × { u64 address, u64 stack size, u64 records of this function }
//!           constants × u64
//!           records   × { u64 id, u32 offset in function, u16, u16 n,
//!                         n × { u8 kind, u8, u16 size, u16 register, u16, i32 offset }, pad to 8,
//!                         u16, u16 live-outs, live-outs × 4 bytes, pad to 8 }
//! ```
//!
//! Records follow each other in the order of the functions; only the counts say where one function ends. LLVM's own
//! reader trusts those counts, and 147 of 400 damaged sections crash it
//! (`frontend-glue/tests/suite/readers/stock_tools.rs` counts them); hence the cursor that returns errors.
//!
//! Source: llvm/docs/StackMaps.rst, "Stack Map Format"; llvm/lib/CodeGen/StackMaps.cpp.

mod fields;
mod record;

pub use fields::MapError;
pub use record::{MapLocation, Record};

use fields::{count, field, span};
use record::RecordCursor;

const VERSION: u8 = 3;
const HEADER_BYTES: usize = 16;
const FUNCTION_BYTES: usize = 24;
const CONSTANT_BYTES: usize = 8;

/// Checks a whole section (any number of concatenated blobs) and returns a view of it.
///
/// Zero bytes between and after blobs count as a linker's padding.
pub fn read(bytes: &[u8]) -> Result<StackMap<'_>, MapError> {
    let mut offset = 0;
    while let Some(start) = next_blob_start(bytes, offset) {
        offset = Blob::read_at(bytes, start)?.end;
    }
    Ok(StackMap { bytes })
}

/// Checks the blob at the start of `bytes` and returns a view of that blob alone.
///
/// For a section whose size is not known: `bytes` then reaches to the end of readable memory, and the bytes after the
/// first blob are not read.
pub fn read_first(bytes: &[u8]) -> Result<StackMap<'_>, MapError> {
    let end = Blob::read_at(bytes, 0)?.end;
    Ok(StackMap { bytes: bytes.get(..end).unwrap_or(bytes) })
}

/// A section that `read` has checked.
#[derive(Clone, Copy, Debug)]
pub struct StackMap<'a> {
    bytes: &'a [u8],
}

impl<'a> StackMap<'a> {
    /// The section's bytes, as far as they were read.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The blobs in the order of the link.
    pub fn blobs(&self) -> impl Iterator<Item = Blob<'a>> + use<'a> {
        let bytes = self.bytes;
        let mut offset = 0;
        std::iter::from_fn(move || {
            let blob = Blob::read_at(bytes, next_blob_start(bytes, offset)?).ok()?;
            offset = blob.end;
            Some(blob)
        })
    }

    /// The functions of all blobs.
    pub fn functions(&self) -> impl Iterator<Item = Function> + use<'a> {
        self.blobs().flat_map(|blob| blob.functions())
    }

    /// The records of all blobs.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        self.blobs().flat_map(|blob| blob.records())
    }
}

/// One object file's part of the section.
#[derive(Clone, Copy, Debug)]
pub struct Blob<'a> {
    bytes: &'a [u8],
    start: usize,
    functions: usize,
    constants: usize,
    records: usize,
    end: usize,
}

impl<'a> Blob<'a> {
    /// Byte offset of the blob in the section.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Byte offset just past the blob.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The functions that have records, in the order of the records.
    pub fn functions(&self) -> impl Iterator<Item = Function> + use<'a> {
        let blob = *self;
        (0..blob.functions).map_while(move |index| blob.function(index).ok())
    }

    /// The constant pool.
    pub fn constants(&self) -> impl Iterator<Item = u64> + use<'a> {
        let blob = *self;
        (0..blob.constants).map_while(move |index| blob.constant(index))
    }

    /// The records, each with the function it belongs to.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let blob = *self;
        let mut records = RecordCursor::new(blob);
        std::iter::from_fn(move || records.next_record().ok().flatten())
    }

    /// Reads and checks the blob that starts at `start`, to its last record.
    fn read_at(bytes: &'a [u8], start: usize) -> Result<Blob<'a>, MapError> {
        let [version] = field(bytes, start)?;
        if version != VERSION {
            return Err(MapError::Version { offset: start, found: version });
        }
        let mut blob = Blob {
            bytes,
            start,
            functions: count(bytes, start + 4)?,
            constants: count(bytes, start + 8)?,
            records: count(bytes, start + 12)?,
            end: start,
        };
        // The tables are checked against the slice before anything loops over their counts.
        span(bytes, blob.functions_start(), blob.functions, FUNCTION_BYTES)?;
        span(bytes, blob.constants_start(), blob.constants, CONSTANT_BYTES)?;
        let mut of_functions = 0u64;
        for index in 0..blob.functions {
            of_functions = of_functions.saturating_add(blob.function(index)?.record_count);
        }
        if of_functions != blob.records as u64 {
            return Err(MapError::RecordCount { offset: start, header: blob.records as u64, of_functions });
        }
        let mut records = RecordCursor::new(blob);
        while let Some(record) = records.next_record()? {
            for index in 0..record.location_count() {
                record.location(index)?;
            }
        }
        blob.end = records.offset;
        Ok(blob)
    }

    fn functions_start(&self) -> usize {
        self.start + HEADER_BYTES
    }

    fn constants_start(&self) -> usize {
        self.functions_start().saturating_add(self.functions.saturating_mul(FUNCTION_BYTES))
    }

    fn records_start(&self) -> usize {
        self.constants_start().saturating_add(self.constants.saturating_mul(CONSTANT_BYTES))
    }

    fn function(&self, index: usize) -> Result<Function, MapError> {
        let address_at = self.functions_start().saturating_add(index.saturating_mul(FUNCTION_BYTES));
        let stack_size = u64::from_le_bytes(field(self.bytes, address_at.saturating_add(8))?);
        Ok(Function {
            address_at,
            address: u64::from_le_bytes(field(self.bytes, address_at)?),
            stack_size: (stack_size != u64::MAX).then_some(stack_size),
            record_count: u64::from_le_bytes(field(self.bytes, address_at.saturating_add(16))?),
        })
    }

    fn constant(&self, index: usize) -> Option<u64> {
        if index >= self.constants {
            return None;
        }
        let offset = self.constants_start().saturating_add(index.saturating_mul(CONSTANT_BYTES));
        field(self.bytes, offset).ok().map(u64::from_le_bytes)
    }
}

/// A function that has records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Byte offset, in the section, of the address field: where an object file's relocation for it points.
    pub address_at: usize,
    /// The address as the section has it: 0 or an addend in an object file, final in a loaded module.
    pub address: u64,
    /// Bytes between the stack pointer at a call and the saved registers; `None` where it varies (dynamic allocas).
    pub stack_size: Option<u64>,
    /// The number of records for this function.
    pub record_count: u64,
}

/// The next blob at or after `offset`; zero words are a linker's padding.
fn next_blob_start(bytes: &[u8], offset: usize) -> Option<usize> {
    let rest = bytes.get(offset..)?;
    let padding = rest.iter().position(|&byte| byte != 0)?;
    Some(offset + padding / 8 * 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tally_kit::stack_map_section::{FIXTURE, Section};

    #[test]
    fn real_section_is_read_as_readobj_prints_it() {
        let map = read(FIXTURE).unwrap();
        let counts: Vec<_> = map.functions().map(|f| (f.stack_size, f.record_count)).collect();
        assert_eq!(counts, [(Some(24), 2), (Some(24), 3), (None, 2), (Some(40), 2), (Some(8), 2)]);
        let constants: Vec<_> = map.blobs().flat_map(|blob| blob.constants()).collect();
        assert_eq!(constants, [1311768467463790320, 18364758544493064720]);
        let offsets: Vec<_> = map.records().map(|r| (r.instruction_offset, r.location_count())).collect();
        let expected =
            [(21, 5), (33, 5), (29, 7), (41, 3), (46, 7), (48, 5), (56, 5), (50, 5), (65, 7), (4, 0), (4, 1)];
        assert_eq!(offsets, expected);
        let wide: Vec<_> = map.records().nth(2).unwrap().locations().skip(3).collect();
        assert_eq!(wide[0], MapLocation::Constant { value: 1311768467463790320 });
        assert_eq!(wide[1], MapLocation::Direct { register: 7, offset: 0, size: 8 });
        let register = map.records().last().unwrap().locations().next();
        assert_eq!(register, Some(MapLocation::Register { register: 5, size: 8 }));
    }

    /// scenario 194.
    #[test]
    fn blobs_of_two_objects_with_padding_between_read_as_one_map() {
        let mut bytes = Section::new().function(0x1000, 24).call(5, &[(1, (2, 7, 0))]).bytes();
        let first = bytes.len();
        bytes.extend([0; 16]);
        bytes.extend(Section::new().function(0x2000, 40).call(9, &[]).bytes());
        bytes.extend([0; 5]);
        let map = read(&bytes).unwrap();
        let starts: Vec<_> = map.blobs().map(|blob| blob.start()).collect();
        assert_eq!(starts, [0, first + 16]);
        let functions: Vec<_> = map.records().map(|r| (r.function.address, r.instruction_offset)).collect();
        assert_eq!(functions, [(0x1000, 5), (0x2000, 9)]);
        assert_eq!(read_first(&bytes).unwrap().records().count(), 1);
        assert_eq!(read_first(&bytes).unwrap().bytes().len(), first);
    }

    #[test]
    fn empty_section_has_no_blobs() {
        assert_eq!(read(&[]).unwrap().blobs().count(), 0);
        assert!(matches!(read_first(&[]), Err(MapError::Truncated { offset: 0, .. })));
    }

    /// scenario 189.
    #[test]
    fn negative_constants_are_sign_extended() {
        let bytes = Section::new().function(0, 8).record(3, 1, &[(4, 0, -2)]).bytes();
        let constant = read(&bytes).unwrap().records().next().unwrap().locations().next();
        assert_eq!(constant, Some(MapLocation::Constant { value: -2i64 as u64 }));
    }

    /// scenario 190.
    #[test]
    fn errors_name_the_byte() {
        let good = Section::new().function(0, 8).record(3, 1, &[(5, 0, 0)]).constant(77).bytes();
        assert!(read(&good).is_ok());
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            read(&bytes).err()
        };
        // header 0..16, function 16..40, constant 40..48, record 48..64, location 64..76
        assert_eq!(with(0, 2), Some(MapError::Version { offset: 0, found: 2 }));
        assert_eq!(with(12, 2), Some(MapError::RecordCount { offset: 0, header: 2, of_functions: 1 }));
        assert_eq!(with(64, 6), Some(MapError::LocationKind { offset: 64, found: 6 }));
        assert_eq!(with(72, 1), Some(MapError::ConstantIndex { offset: 64, index: 1, constants: 1 }));
        let section = good.len();
        assert_eq!(with(7, 0x40), Some(MapError::Truncated { offset: 16, wanted: 0x4000_0001 * 24, section }));
        let cut = &good[..section - 1];
        assert!(matches!(read(cut), Err(MapError::Truncated { offset: 48, .. })));
    }

    /// scenarios 190, 191: `[MAP]` Every byte changed and every length tried: an error, or a map whose contents fit
    /// the bytes.
    #[test]
    fn mutated_and_truncated_sections_never_panic() {
        let built = Section::new()
            .function(0x1000, 24)
            .call(5, &[(1, (2, 7, 0)), (u64::MAX >> 3, (3, 6, -8))])
            .function(0x2000, 8)
            .record(0, 4, &[])
            .bytes();
        for valid in [FIXTURE, &built] {
            let stride = if cfg!(miri) { 23 } else { 1 };
            for length in (0..valid.len()).step_by(stride) {
                assert_bounded(&valid[..length]);
            }
            let steps: &[u8] = if cfg!(miri) { &[0xff] } else { &[1, 0x10, 0x7f, 0x80, 0xff] };
            for at in (0..valid.len()).step_by(stride) {
                for step in steps {
                    let mut bytes = valid.to_vec();
                    bytes[at] = bytes[at].wrapping_add(*step);
                    assert_bounded(&bytes);
                }
            }
        }
    }

    fn assert_bounded(bytes: &[u8]) {
        let Ok(map) = read(bytes) else { return };
        assert!(map.functions().count() * FUNCTION_BYTES <= bytes.len());
        let mut used = 0;
        for record in map.records() {
            assert_eq!(record.locations().count(), record.location_count());
            used += 16 + 12 * record.location_count();
        }
        assert!(used <= bytes.len());
    }
}
