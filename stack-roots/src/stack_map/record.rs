//! One record of a stack map, and the cursor that steps from record to record.
//!
//! `stack_map` steps over all records once to check a blob and again for each iteration. `[MAP]` holds here byte by
//! byte: a record is handed out when its header, its locations and its live-outs lie inside the section.
//!
//! Records have no fixed size and no index, and do not name their function: they follow each other in the order of
//! the functions, and each function's count tells where the next one's records begin. Live-outs (registers that a
//! patch point must keep) are stepped over; calls have none.

use super::fields::{MapError, field, span};
use super::{Blob, Function};

const HEADER_BYTES: usize = 16;
const LOCATION_BYTES: usize = 12;
const LIVE_OUT_BYTES: usize = 4;

/// One record: the locations of values at one address of the code.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The function it lies in.
    pub function: Function,
    /// Byte offset of the record in the section.
    pub offset: usize,
    /// The id that the requester of the record gave it; LLVM's own for calls with a "deopt" bundle.
    pub id: u64,
    /// Distance of the described address from the function's start. For a call, that is its return address.
    pub instruction_offset: u32,
    blob: Blob<'a>,
    locations: usize,
}

impl<'a> Record<'a> {
    /// The number of locations in the record.
    pub fn location_count(&self) -> usize {
        self.locations
    }

    /// The locations, constants looked up in the pool.
    pub fn locations(&self) -> impl Iterator<Item = MapLocation> + use<'a> {
        let record = *self;
        (0..record.locations).map_while(move |index| record.location(index).ok())
    }

    pub(super) fn location(&self, index: usize) -> Result<MapLocation, MapError> {
        let bytes = self.blob.bytes;
        let at = (self.offset + HEADER_BYTES).saturating_add(index.saturating_mul(LOCATION_BYTES));
        let [kind, _, size_low, size_high, register_low, register_high, _, _, o0, o1, o2, o3] =
            field::<LOCATION_BYTES>(bytes, at)?;
        let size = u16::from_le_bytes([size_low, size_high]);
        let register = u16::from_le_bytes([register_low, register_high]);
        let offset = i32::from_le_bytes([o0, o1, o2, o3]);
        match kind {
            1 => Ok(MapLocation::Register { register, size }),
            2 => Ok(MapLocation::Direct { register, offset, size }),
            3 => Ok(MapLocation::Indirect { register, offset, size }),
            4 => Ok(MapLocation::Constant { value: i64::from(offset) as u64 }),
            5 => {
                let index = offset as u32;
                let value = self.blob.constant(index as usize).ok_or(MapError::ConstantIndex {
                    offset: at,
                    index,
                    constants: self.blob.constants,
                })?;
                Ok(MapLocation::Constant { value })
            }
            found => Err(MapError::LocationKind { offset: at, found }),
        }
    }
}

/// The place of a record's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapLocation {
    /// In a register (DWARF number).
    Register {
        /// DWARF number.
        register: u16,
        /// Bytes.
        size: u16,
    },
    /// The value is `register + offset`: the address of a stack object.
    Direct {
        /// DWARF number of the base.
        register: u16,
        /// Bytes from the base.
        offset: i32,
        /// Bytes.
        size: u16,
    },
    /// The value lies in memory at `register + offset`.
    Indirect {
        /// DWARF number of the base.
        register: u16,
        /// Bytes from the base.
        offset: i32,
        /// Bytes.
        size: u16,
    },
    /// The value itself, sign-extended from the record or taken from the constant pool.
    Constant {
        /// The 64-bit value.
        value: u64,
    },
}

/// Steps over a blob's records, and counts to which function each belongs.
pub(super) struct RecordCursor<'a> {
    blob: Blob<'a>,
    pub(super) offset: usize,
    record: usize,
    next_function: usize,
    function: Option<Function>,
    left_in_function: u64,
}

impl<'a> RecordCursor<'a> {
    pub(super) fn new(blob: Blob<'a>) -> Self {
        let offset = blob.records_start();
        RecordCursor { blob, offset, record: 0, next_function: 0, function: None, left_in_function: 0 }
    }

    pub(super) fn next_record(&mut self) -> Result<Option<Record<'a>>, MapError> {
        if self.record == self.blob.records {
            return Ok(None);
        }
        while self.left_in_function == 0 && self.next_function < self.blob.functions {
            let function = self.blob.function(self.next_function)?;
            self.next_function += 1;
            self.left_in_function = function.record_count;
            self.function = Some(function);
        }
        let Some(function) = self.function.filter(|_| self.left_in_function > 0) else { return Ok(None) };

        let (bytes, at) = (self.blob.bytes, self.offset);
        let id = u64::from_le_bytes(field(bytes, at)?);
        let instruction_offset = u32::from_le_bytes(field(bytes, at.saturating_add(8))?);
        let locations = usize::from(u16::from_le_bytes(field(bytes, at.saturating_add(14))?));
        let locations_end = span(bytes, at + HEADER_BYTES, locations, LOCATION_BYTES)?;
        let live_outs_at = locations_end.next_multiple_of(8);
        let live_outs = usize::from(u16::from_le_bytes(field(bytes, live_outs_at + 2)?));
        let end = span(bytes, live_outs_at + 4, live_outs, LIVE_OUT_BYTES)?.next_multiple_of(8);
        span(bytes, at, end - at, 1)?;

        self.offset = end;
        self.record += 1;
        self.left_in_function -= 1;
        Ok(Some(Record { function, offset: at, id, instruction_offset, blob: self.blob, locations }))
    }
}
