//! The tables that LLVM writes for its strategies `ocaml` and `erlang`: the calls of a module, and where the roots of
//! each frame lie.
//!
//! ```text
//! ocaml, behind `caml<Module>__frametable`, in memory
//!   u16 calls · to 8 · per call { u64 return address · u16 frame bytes · u16 roots · u16 offset … · to 8 }
//! erlang, section `.note.gc`, in the file only; per function, each at a multiple of 8
//!   u16 calls · { u32 return address } … · u16 frame words · u16 arity · u16 roots · u16 offset in words …
//! ```
//!
//! The slots hold plain references: neither table has room for `llvm.gcroot`'s metadata. LLVM writes an offset without
//! the register that it counts from. That is rsp if the offset lies inside the frame, and rbp, of frames that have
//! a frame pointer, if it is negative. `[ROOT]` An offset that may be either is refused, as is one that is neither.
//!
//! `[MAP]` Counts are checked against the bytes before anything loops over them. The code may lack frame pointers, so the
//! unwinder steps over its frames.
//!
//! Source: llvm/lib/CodeGen/AsmPrinter/OcamlGCPrinter.cpp and ErlangGCPrinter.cpp.

use crate::frame_table::Call;
use crate::root_records::{BaseRegister, Location, RootSlot};
use std::fmt;

/// Reads the frame table of one OCaml module; `bytes` begin at its symbol and may go on behind it.
pub fn read_ocaml(bytes: &[u8]) -> Result<Vec<Call>, OffsetsError> {
    let mut cursor = Cursor { bytes, at: 0 };
    let calls = usize::from(cursor.u16()?);
    cursor.align();
    cursor.room_for(calls, OCAML_CALL_BYTES)?;
    let mut read = Vec::with_capacity(calls);
    for _ in 0..calls {
        let pc = u64::from_le_bytes(cursor.field()?);
        let frame = Frame::of(u64::from(cursor.u16()?));
        let roots = usize::from(cursor.u16()?);
        let roots = cursor.roots(roots, frame, 1)?;
        cursor.align();
        read.push(Call { pc, frame_size: frame.size, roots });
    }
    Ok(read)
}

/// Reads a `.note.gc` section. `bias` is the distance from the addresses in the file to those in memory.
pub fn read_erlang(bytes: &[u8], bias: u64) -> Result<Vec<Call>, OffsetsError> {
    let mut cursor = Cursor { bytes, at: 0 };
    let mut read = Vec::new();
    loop {
        cursor.align();
        if cursor.at >= bytes.len() {
            return Ok(read);
        }
        let calls = usize::from(cursor.u16()?);
        let addresses = cursor.at;
        cursor.room_for(calls, size_of::<u32>())?;
        cursor.at += calls * size_of::<u32>();
        let frame = match cursor.u16()? {
            ERLANG_VARIES => Frame { size: None },
            words => Frame::of(u64::from(words) * WORD),
        };
        let _arity = cursor.u16()?;
        let roots = usize::from(cursor.u16()?);
        let roots = cursor.roots(roots, frame, WORD as i32)?;
        let mut places = Cursor { bytes, at: addresses };
        for _ in 0..calls {
            let pc = u64::from(u32::from_le_bytes(places.field()?)).wrapping_add(bias);
            read.push(Call { pc, frame_size: frame.size, roots: roots.clone() });
        }
    }
}

/// Bytes of a call without roots in OCaml's table.
const OCAML_CALL_BYTES: usize = 12;

/// LLVM's frame size of an Erlang function whose size varies, in words: the low bits of −1 as bytes, divided by 8.
const ERLANG_VARIES: u16 = 0xffff;

const WORD: u64 = 8;

#[derive(Clone, Copy)]
struct Frame {
    size: Option<u64>,
}

impl Frame {
    fn of(bytes: u64) -> Frame {
        Frame { size: Some(bytes) }
    }

    /// The place that an offset in units of `unit` bytes means.
    fn place(self, offset: u16, unit: i32) -> Option<Location> {
        let inside = i32::from(offset) * unit;
        let outside = i32::from(offset as i16) * unit;
        let size = self.size.unwrap_or(0);
        let is_above_sp = (inside as u64) + WORD <= size;
        let is_below_fp = outside < 0 && self.size.is_none_or(|size| u64::from(outside.unsigned_abs()) <= size);
        match (is_above_sp, is_below_fp) {
            (true, false) => Some(Location::Direct { base: BaseRegister::Rsp, offset: inside }),
            (false, true) => Some(Location::Direct { base: BaseRegister::Rbp, offset: outside }),
            (true, true) | (false, false) => None,
        }
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn field<const N: usize>(&mut self) -> Result<[u8; N], OffsetsError> {
        let field = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()).copied();
        let field = field.ok_or(OffsetsError::Truncated { offset: self.at, size: self.bytes.len() })?;
        self.at += N;
        Ok(field)
    }

    fn u16(&mut self) -> Result<u16, OffsetsError> {
        self.field().map(u16::from_le_bytes)
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }

    fn room_for(&self, count: usize, each: usize) -> Result<(), OffsetsError> {
        let left = self.bytes.len().saturating_sub(self.at);
        let fits = count.checked_mul(each).is_some_and(|wanted| wanted <= left);
        fits.then_some(()).ok_or(OffsetsError::Truncated { offset: self.at, size: self.bytes.len() })
    }

    fn roots(&mut self, count: usize, frame: Frame, unit: i32) -> Result<Vec<RootSlot>, OffsetsError> {
        self.room_for(count, size_of::<u16>())?;
        let mut roots = Vec::with_capacity(count);
        for _ in 0..count {
            let at = self.at;
            let offset = self.u16()?;
            let location = frame.place(offset, unit).ok_or(OffsetsError::Offset {
                offset: at,
                found: offset,
                size: frame.size,
            })?;
            roots.push(RootSlot { id: 0, location });
        }
        Ok(roots)
    }
}

/// Why bytes are no such table. `offset` is the byte at which the fault was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetsError {
    /// The table ends before something it announces.
    Truncated {
        /// The start of the missing item.
        offset: usize,
        /// Bytes that there are.
        size: usize,
    },
    /// A root's offset lies outside its frame, or may count from either end of it.
    Offset {
        /// The place of the offset in the table.
        offset: usize,
        /// The offset as it stands there.
        found: u16,
        /// Bytes of the frame, if they are known.
        size: Option<u64>,
    },
}

impl fmt::Display for OffsetsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            OffsetsError::Truncated { offset, size } => {
                write!(out, "table of frames, byte {offset}: more is announced than its {size} bytes; it is damaged")
            }
            OffsetsError::Offset { offset, found, size: Some(size) } => write!(
                out,
                "table of frames, byte {offset}: a root at offset {found:#x} of a frame of {size} bytes; \
                 compile with --frame-pointer=none, and split functions with frames of 32 KiB and more"
            ),
            OffsetsError::Offset { offset, found, size: None } => write!(
                out,
                "table of frames, byte {offset}: a root at offset {found:#x} of a frame whose size varies; \
                 move allocas of dynamic size to another function"
            ),
        }
    }
}

impl std::error::Error for OffsetsError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(call: &Call) -> Vec<String> {
        call.roots.iter().map(|root| root.location.to_string()).collect()
    }

    /// One call of a 40-byte frame, one of a 24-byte frame with a frame pointer, one without roots.
    fn ocaml() -> Vec<u8> {
        let mut bytes = vec![3, 0, 0, 0, 0, 0, 0, 0];
        for (pc, size, offsets) in
            [(0x40_1005u64, 40u16, &[8u16, 32][..]), (0x40_1105, 24, &[0xfff0]), (0x40_1205, 8, &[])]
        {
            bytes.extend(pc.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend((offsets.len() as u16).to_le_bytes());
            offsets.iter().for_each(|offset| bytes.extend(offset.to_le_bytes()));
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        bytes
    }

    /// A function with two calls and a root at word 1 of 3, and one whose frame varies, with a root below rbp.
    fn erlang() -> Vec<u8> {
        let mut bytes = vec![];
        for (pcs, rest) in [(&[0x1005u32, 0x1010][..], [3u16, 0, 1, 1]), (&[0x2005], [0xffff, 0, 1, 0xfffe])] {
            bytes.extend((pcs.len() as u16).to_le_bytes());
            pcs.iter().for_each(|pc| bytes.extend(pc.to_le_bytes()));
            rest.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        bytes
    }

    #[test]
    fn ocaml_offsets_count_from_the_stack_pointer_or_the_frame_pointer() {
        let calls = read_ocaml(&[&ocaml()[..], b"something else"].concat()).unwrap();
        assert_eq!(calls.iter().map(|call| call.pc).collect::<Vec<_>>(), [0x40_1005, 0x40_1105, 0x40_1205]);
        assert_eq!(places(&calls[0]), ["[rsp+8]", "[rsp+32]"]);
        assert_eq!(places(&calls[1]), ["[rbp-16]"]);
        assert_eq!((places(&calls[2]).len(), calls[2].frame_size), (0, Some(8)));
    }

    #[test]
    fn erlang_addresses_are_those_of_the_file_and_offsets_are_words() {
        let calls = read_erlang(&erlang(), 0x5500_0000_0000).unwrap();
        let pcs: Vec<u64> = calls.iter().map(|call| call.pc - 0x5500_0000_0000).collect();
        assert_eq!(pcs, [0x1005, 0x1010, 0x2005]);
        assert_eq!(places(&calls[1]), ["[rsp+8]"]);
        assert_eq!((places(&calls[2]), calls[2].frame_size), (vec!["[rbp-16]".to_owned()], None));
        assert_eq!(read_erlang(&[], 0), Ok(vec![]));
    }

    #[test]
    fn offsets_outside_the_frame_or_from_an_unknown_end_are_refused() {
        let with = |size: u16, offset: u16| {
            let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0];
            bytes.extend([5, 0, 0, 0, 0, 0, 0, 0]);
            [size, 1, offset].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            read_ocaml(&bytes).map(|calls| places(&calls[0]))
        };
        assert_eq!(with(40, 32), Ok(vec!["[rsp+32]".into()]));
        for (size, offset) in [(40, 33), (40, 40), (40, 0xff00), (0xfff0, 0x8000)] {
            let refused = OffsetsError::Offset { offset: 20, found: offset, size: Some(u64::from(size)) };
            assert_eq!(with(size, offset), Err(refused));
        }
        let mut varies = erlang();
        varies[36..38].copy_from_slice(&2u16.to_le_bytes());
        let refused = OffsetsError::Offset { offset: 36, found: 2, size: None };
        assert_eq!(read_erlang(&varies[..], 0), Err(refused));
    }

    #[test]
    fn tables_that_are_cut_short_are_errors() {
        let ocaml = ocaml();
        for length in 0..ocaml.len() - 4 {
            assert!(matches!(read_ocaml(&ocaml[..length]), Err(OffsetsError::Truncated { .. })), "{length}");
        }
        assert!(matches!(read_erlang(&erlang()[..17], 0), Err(OffsetsError::Truncated { .. })));
    }
}
