//! Reads the roots of one call from its record, by Tally's convention.
//!
//! `frame_table` hands every record of a section to `decode`. A call that the lowering gave the bundle
//! `"deopt"(i64 id1, ptr %root1, i64 id2, ptr %root2, …)` is recorded by LLVM as
//!
//! ```text
//! constant (calling convention) · constant (flags) · constant (number of operands)
//! constant id1 · slot1 · constant id2 · slot2 · …
//! ```
//!
//! Deoptimisation state of the frontend's own stands among them as pairs of [`STATE_ID`] and value, and the number of the call's place in the
//! source as a pair with [`SITE_ID`]. Both are stepped over wherever they lie. A slot is always the *address* of an alloca: Direct = base + offset is that address, Indirect = memory at base +
//! offset holds it (two allocas merged by a `select`), Constant = no alloca here (null, undef), skipped. `[ROOT]`
//! Every slot named by a bundle ends up in the list or the section is refused: a root dropped in silence is a live
//! object freed. Pairs instead of one header per bundle, because the inliner concatenates the bundles of caller and
//! callee, and pairs stay pairs.
//!
//! LLVM gives such calls the record id 0xABCDEF0F unless the call carries a "statepoint-id"; so another id with exactly
//! this shape counts as a call of ours too, and any other shape is foreign (`llvm.experimental.stackmap` dummies,
//! statepoints of other strategies).
//!
//! Source: llvm/lib/CodeGen/SelectionDAG/StatepointLowering.cpp, `LowerCallSiteWithDeoptBundleImpl`.

use crate::machine::Machine;
use crate::stack_map::{MapLocation, Record};
use std::fmt;

/// The record id of every call with a "deopt" bundle (`StatepointDirectives::DeoptBundleStatepointID`).
pub const DEOPT_RECORD_ID: u64 = 0xABCD_EF0F;

/// In place of a root's id: what follows is an operand of the frontend's own "deopt" bundle, for its own reader.
pub const STATE_ID: u64 = u64::MAX;

/// In place of a root's id: what follows is the number of the call's place in the source, which its module names. Of an inlined call the
/// places of the calls around it come before its own.
pub const SITE_ID: u64 = u64::MAX - 1;

pub(crate) const HEADER_OPERANDS: usize = 3;

/// The roots of a call's record; `None` for a foreign record.
pub fn decode(record: &Record<'_>, machine: Machine) -> Result<Option<Vec<RootSlot>>, OperandFault> {
    match decode_call(record, machine) {
        Ok(roots) => Ok(Some(roots)),
        Err(_) if record.id != DEOPT_RECORD_ID => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The numbers of the places of a call in the source, the innermost function's first; none of a foreign record, or of a module that
/// keeps no names.
pub fn call_sites(record: &Record<'_>) -> Vec<u64> {
    let operands: Vec<MapLocation> = record.locations().skip(HEADER_OPERANDS).collect();
    let site = |pair: &[MapLocation]| match *pair {
        [MapLocation::Constant { value: SITE_ID }, MapLocation::Constant { value: site }] => Some(site),
        _ => None,
    };
    operands.chunks_exact(2).rev().filter_map(site).collect()
}

/// One root of a frame at one call. 16 bytes: tables hold many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootSlot {
    /// The id the lowering gave the root; 0 for a plain pointer without a name.
    pub id: u64,
    /// The place of the slot.
    pub location: Location,
}

const _: () = assert!(size_of::<RootSlot>() == 16);

/// How a slot's address is found from a frame's registers. Prints as the slot's place: `[rsp+16]`, `[[rbp-8]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// The address is `base + offset`.
    Direct {
        /// The register counted from.
        base: BaseRegister,
        /// Bytes from it.
        offset: i32,
    },
    /// The address lies in memory at `base + offset`.
    Indirect {
        /// The register counted from.
        base: BaseRegister,
        /// Bytes from it.
        offset: i32,
    },
}

impl Location {
    /// The register counted from.
    pub fn base(self) -> BaseRegister {
        match self {
            Location::Direct { base, .. } | Location::Indirect { base, .. } => base,
        }
    }
}

impl Location {
    /// The place by the names of a processor's registers: `[rsp+16]`, `[[x29-8]]`.
    pub fn on(self, machine: Machine) -> String {
        let base = machine.register_name(self.base());
        match self {
            Location::Direct { offset, .. } => format!("[{base}{offset:+}]"),
            Location::Indirect { offset, .. } => format!("[[{base}{offset:+}]]"),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.on(Machine::NATIVE))
    }
}

/// The registers that code addresses its frame by, as x86-64 calls them; `Machine::register_name` has the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BaseRegister {
    /// The stack pointer at the call.
    Rsp,
    /// The frame pointer.
    Rbp,
    /// The base of over-aligned frames of dynamic size; only the top frame's value is known without an unwinder.
    Rbx,
}

fn decode_call(record: &Record<'_>, machine: Machine) -> Result<Vec<RootSlot>, OperandFault> {
    let mut locations = record.locations();
    let mut announced = 0;
    for operand in 0..HEADER_OPERANDS {
        match locations.next() {
            Some(MapLocation::Constant { value }) => announced = value,
            _ => return Err(OperandFault::Header { operand }),
        }
    }
    let present = record.location_count() - HEADER_OPERANDS;
    if announced != present as u64 {
        return Err(OperandFault::Count { announced, present });
    }
    if !present.is_multiple_of(2) {
        return Err(OperandFault::Odd { operands: present });
    }
    let mut roots = Vec::with_capacity(present / 2);
    let mut operand = HEADER_OPERANDS;
    while let (Some(id), Some(slot)) = (locations.next(), locations.next()) {
        let MapLocation::Constant { value: id } = id else { return Err(OperandFault::Id { operand }) };
        if id < SITE_ID
            && let Some(location) = slot_location(slot, operand + 1, machine)?
        {
            roots.push(RootSlot { id, location });
        }
        operand += 2;
    }
    Ok(roots)
}

fn slot_location(slot: MapLocation, operand: usize, machine: Machine) -> Result<Option<Location>, OperandFault> {
    let known = |register, size| {
        if size != 8 {
            return Err(OperandFault::Size { operand, size });
        }
        machine.base_register(register).ok_or(OperandFault::Base { operand, register })
    };
    match slot {
        MapLocation::Constant { .. } => Ok(None),
        MapLocation::Direct { register, offset, size } => {
            Ok(Some(Location::Direct { base: known(register, size)?, offset }))
        }
        MapLocation::Indirect { register, offset, size } => {
            Ok(Some(Location::Indirect { base: known(register, size)?, offset }))
        }
        MapLocation::Register { register, .. } => Err(OperandFault::Register { operand, register }),
    }
}

/// A fault in the operands of a call's record. `operand` counts the record's locations from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandFault {
    /// One of the three leading operands is missing or is no constant.
    Header {
        /// Its number.
        operand: usize,
    },
    /// The third operand does not say how many follow.
    Count {
        /// The number in the third operand.
        announced: u64,
        /// The number of operands that follow.
        present: usize,
    },
    /// Operands that do not pair up into id and slot.
    Odd {
        /// Their number.
        operands: usize,
    },
    /// A base pointer of a statepoint without the pointer derived from it.
    Unpaired {
        /// The operand's number.
        operand: usize,
    },
    /// A pointer of a statepoint that was spilled to a place of another size than that of a pointer or a vector of them.
    Spilled {
        /// The operand's number.
        operand: usize,
        /// Bytes.
        size: u16,
    },
    /// A root's id is no constant.
    Id {
        /// The operand's number.
        operand: usize,
    },
    /// A slot's address is kept in a register, which is lost by the time the stack is walked.
    Register {
        /// The operand's number.
        operand: usize,
        /// DWARF number.
        register: u16,
    },
    /// A slot is addressed by a register that frames are not addressed by.
    Base {
        /// The operand's number.
        operand: usize,
        /// DWARF number.
        register: u16,
    },
    /// A slot's address is not eight bytes wide.
    Size {
        /// The operand's number.
        operand: usize,
        /// Bytes.
        size: u16,
    },
}

impl fmt::Display for OperandFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            OperandFault::Header { operand } => write!(out, "operand {operand} should be a header constant"),
            OperandFault::Count { announced, present } => {
                write!(out, "the record announces {announced} bundle operands and has {present}")
            }
            OperandFault::Odd { operands } => write!(out, "{operands} bundle operands do not pair up into id and slot"),
            OperandFault::Unpaired { operand } => {
                write!(out, "operand {operand} does not pair up with another into base and derived pointer")
            }
            OperandFault::Spilled { operand, size } => {
                write!(out, "operand {operand} is a pointer in {size} bytes; vectors of up to 16 pointers are read")
            }
            OperandFault::Id { operand } => write!(out, "operand {operand} should be a root's constant id"),
            OperandFault::Register { operand, register } => {
                write!(out, "operand {operand} keeps a root's address in register {register}, not on the stack")
            }
            OperandFault::Base { operand, register } => {
                write!(out, "operand {operand} addresses a root by register {register}, not rsp, rbp or rbx")
            }
            OperandFault::Size { operand, size } => {
                write!(out, "operand {operand} is a root's address of {size} bytes, not 8")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_map;
    use tally_kit::stack_map_section::{FIXTURE, Place, Section};

    fn decoded(id: u64, places: &[Place]) -> Result<Option<Vec<RootSlot>>, OperandFault> {
        let bytes = Section::new().function(0, 8).constant(1 << 40).record(id, 1, places).bytes();
        decode(&stack_map::read(&bytes).unwrap().records().next().unwrap(), Machine::X86_64)
    }

    #[test]
    fn records_of_llc_decode_to_the_bundles_of_the_source() {
        let text: Vec<String> = stack_map::read(FIXTURE)
            .unwrap()
            .records()
            .map(|record| match decode(&record, Machine::X86_64).unwrap() {
                None => "foreign".to_string(),
                Some(roots) => roots.iter().map(|root| format!("{:x}@{} ", root.id, root.location)).collect(),
            })
            .collect();
        let wide = "123456789abcdef0@[rsp+0] fedcba9876543210@[rsp+8] ";
        let expected = [
            "7@[rsp+8] ",
            "7@[rsp+8] ",
            wide,
            "",
            wide,
            "9@[rbx+0] ",
            "9@[rbx+0] ",
            "b@[[rsp+16]] ",
            "b@[[rsp+16]] ",
            "foreign",
            "foreign",
        ];
        assert_eq!(text, expected);
    }

    /// scenarios 184, 189.
    #[test]
    fn id_from_the_constant_pool_and_constant_slot() {
        let places = [(4, 0, 0), (4, 0, 0), (4, 0, 4), (5, 0, 0), (2, 6, -16), (4, 0, 3), (4, 0, 0)];
        let location = Location::Direct { base: BaseRegister::Rbp, offset: -16 };
        assert_eq!(decoded(DEOPT_RECORD_ID, &places), Ok(Some(vec![RootSlot { id: 1 << 40, location }])));
        assert_eq!(location.to_string(), "[rbp-16]");
    }

    #[test]
    fn state_of_the_frontend_is_stepped_over_wherever_it_lies() {
        let in_register = (1, 3, 0);
        let places = [
            (4, 0, 0),
            (4, 0, 0),
            (4, 0, 8),
            (4, 0, -1),
            in_register,
            (4, 0, 7),
            (2, 7, 8),
            (4, 0, -1),
            (2, 12, 0),
            (4, 0, -1),
            (4, 0, 5),
        ];
        let location = Location::Direct { base: BaseRegister::Rsp, offset: 8 };
        assert_eq!(decoded(DEOPT_RECORD_ID, &places), Ok(Some(vec![RootSlot { id: 7, location }])));
    }

    #[test]
    fn places_of_a_call_are_no_roots_and_come_innermost_first() {
        let header = [(4, 0, 0), (4, 0, 0), (4, 0, 6)];
        let (outer, root, inner) = ([(4, 0, -2), (4, 0, 11)], [(4, 0, 7), (2, 7, 8)], [(4, 0, -2), (4, 0, 12)]);
        let places = [&header[..], &outer, &root, &inner].concat();
        assert_eq!(decoded(DEOPT_RECORD_ID, &places).unwrap().unwrap().len(), 1);
        let bytes = Section::new().function(0, 8).record(DEOPT_RECORD_ID, 1, &places).bytes();
        assert_eq!(call_sites(&stack_map::read(&bytes).unwrap().records().next().unwrap()), [12, 11]);
    }

    #[test]
    fn malformed_calls_are_refused_and_foreign_records_of_that_shape_skipped() {
        let cases: [(&[Place], OperandFault); 8] = [
            (&[], OperandFault::Header { operand: 0 }),
            (&[(4, 0, 0), (2, 7, 0), (4, 0, 0)], OperandFault::Header { operand: 1 }),
            (&[(4, 0, 0), (4, 0, 0), (4, 0, 2), (4, 0, 1)], OperandFault::Count { announced: 2, present: 1 }),
            (&[(4, 0, 0), (4, 0, 0), (4, 0, 1), (4, 0, 1)], OperandFault::Odd { operands: 1 }),
            (&[(4, 0, 0), (4, 0, 0), (4, 0, 2), (2, 7, 0), (2, 7, 8)], OperandFault::Id { operand: 3 }),
            (
                &[(4, 0, 0), (4, 0, 0), (4, 0, 2), (4, 0, 1), (1, 3, 0)],
                OperandFault::Register { operand: 4, register: 3 },
            ),
            (
                &[(4, 0, 0), (4, 0, 0), (4, 0, 2), (4, 0, 1), (2, 12, 0)],
                OperandFault::Base { operand: 4, register: 12 },
            ),
            (
                &[(4, 0, 0), (4, 0, 0), (4, 0, -1), (4, 0, 1), (2, 7, 0)],
                OperandFault::Count { announced: u64::MAX, present: 2 },
            ),
        ];
        for (places, fault) in cases {
            assert_eq!(decoded(DEOPT_RECORD_ID, places), Err(fault));
            assert_eq!(decoded(1, places), Ok(None), "{fault}");
        }
    }

    #[test]
    fn call_with_another_statepoint_id_is_still_a_call() {
        let places = [(4, 0, 0), (4, 0, 0), (4, 0, 2), (4, 0, 1), (2, 7, 8)];
        assert_eq!(decoded(42, &places).unwrap().unwrap().len(), 1);
    }
}
