//! Reads the roots of one call from the record of a statepoint, as LLVM's strategies `statepoint-example` and `coreclr`
//! describe them.
//!
//! `frame_table` hands the records of a section to `decode` when the section is one of statepoints. LLVM records
//! `@llvm.experimental.gc.statepoint(…) ["deopt"(…), "gc-live"(ptr addrspace(1) %a, …)]` as
//!
//! ```text
//! constant (calling convention) · constant (flags) · constant (number of deopt operands) · deopt operands …
//! base1 · derived1 · base2 · derived2 · …
//! alloca1 · alloca2 · …
//! ```
//!
//! A base is an object, and a pointer derived from it may point into it or past it; only the base keeps the object alive. Objects
//! do not move, so nothing is written to a derived pointer's place, and it is checked and left out. Indirect = spilled at
//! base + offset, which is therefore the *slot*; Direct = an alloca in `"gc-live"`, whose first word is the slot; Constant = null
//! or a pointer that is no object of a heap. A vector of pointers is as many words as its size says. `[ROOT]` Every base ends
//! up in the list, or the section is refused. Deopt operands are no roots: LLVM names those that are in `"gc-live"` as well.
//!
//! Records of another shape are foreign (`llvm.experimental.stackmap`, patch points), as are those of Tally's own bundles,
//! which have an id of their own.
//!
//! Source: llvm/lib/CodeGen/StackMaps.cpp, `StackMaps::parseStatepointOpers`; llvm/docs/Statepoints.rst.

use crate::machine::Machine;
use crate::root_records::{HEADER_OPERANDS, Location, OperandFault, RootSlot};
use crate::stack_map::{MapLocation, Record};
use rustc_hash::FxHashSet;
use std::ops::RangeInclusive;

/// The roots of a statepoint's record; `None` for a foreign record.
pub fn decode(record: &Record<'_>, machine: Machine) -> Result<Option<Vec<RootSlot>>, OperandFault> {
    let present = record.location_count();
    let mut header = record.locations().take(HEADER_OPERANDS);
    let (Some(MapLocation::Constant { .. }), Some(MapLocation::Constant { .. })) = (header.next(), header.next())
    else {
        return Ok(None);
    };
    let Some(MapLocation::Constant { value: deopt_operands }) = header.next() else { return Ok(None) };
    let pointers_at = usize::try_from(deopt_operands).ok().and_then(|deopt| deopt.checked_add(HEADER_OPERANDS));
    let Some(pointers_at) = pointers_at.filter(|&at| at <= present) else { return Ok(None) };
    let mut roots = Roots::of(machine);
    let mut pointers = record.locations().enumerate().skip(pointers_at).peekable();
    while let Some((operand, base)) = pointers.next_if(|(_, location)| !is_alloca(location)) {
        let Some((at_derived, derived)) = pointers.next_if(|(_, location)| !is_alloca(location)) else {
            return Err(OperandFault::Unpaired { operand });
        };
        roots.add_spilled(base, operand)?;
        Roots::of(machine).add_spilled(derived, at_derived)?;
    }
    for (operand, alloca) in pointers {
        let MapLocation::Direct { register, offset, .. } = alloca else {
            return Err(OperandFault::Unpaired { operand });
        };
        roots.add(register, offset, operand)?;
    }
    Ok(Some(roots.list))
}

fn is_alloca(location: &MapLocation) -> bool {
    matches!(location, MapLocation::Direct { .. })
}

/// Bytes of a pointer, up to those of the longest vector of pointers that is read.
const SPILLED_BYTES: RangeInclusive<u16> = 8..=128;

/// The roots found so far. The base of several derived pointers is named with each of them, and is one root.
struct Roots {
    machine: Machine,
    list: Vec<RootSlot>,
    seen: FxHashSet<Location>,
}

impl Roots {
    fn of(machine: Machine) -> Roots {
        Roots { machine, list: Vec::new(), seen: FxHashSet::default() }
    }

    /// Adds the words that a pointer, or a vector of pointers, was spilled to.
    fn add_spilled(&mut self, location: MapLocation, operand: usize) -> Result<(), OperandFault> {
        match location {
            MapLocation::Constant { .. } => Ok(()),
            MapLocation::Indirect { register, offset, size } => {
                if !SPILLED_BYTES.contains(&size) || !size.is_multiple_of(8) {
                    return Err(OperandFault::Spilled { operand, size });
                }
                for word in 0..i32::from(size / 8) {
                    let offset = offset.checked_add(word * 8).ok_or(OperandFault::Spilled { operand, size })?;
                    self.add(register, offset, operand)?;
                }
                Ok(())
            }
            MapLocation::Register { register, .. } => Err(OperandFault::Register { operand, register }),
            MapLocation::Direct { .. } => Err(OperandFault::Unpaired { operand }),
        }
    }

    fn add(&mut self, register: u16, offset: i32, operand: usize) -> Result<(), OperandFault> {
        let base = self.machine.base_register(register).ok_or(OperandFault::Base { operand, register })?;
        let location = Location::Direct { base, offset };
        if self.seen.insert(location) {
            self.list.push(RootSlot { id: 0, location });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_map;
    use tally_kit::stack_map_section::{Place, Section};

    /// LLVM's id of statepoints that were given none.
    const STATEPOINT_ID: u64 = 0xABCD_EF00;

    fn decoded(places: &[Place]) -> Result<Option<Vec<String>>, OperandFault> {
        let bytes = Section::new().function(0, 8).record(STATEPOINT_ID, 1, places).bytes();
        let roots = decode(&stack_map::read(&bytes).unwrap().records().next().unwrap(), Machine::X86_64)?;
        Ok(roots.map(|roots| roots.iter().map(|root| root.location.to_string()).collect()))
    }

    const fn constant(value: i32) -> Place {
        (4, 0, value)
    }

    fn with_header(deopt_operands: i32, rest: &[Place]) -> Vec<Place> {
        [&[constant(0), constant(0), constant(deopt_operands)], rest].concat()
    }

    #[test]
    fn bases_are_roots_and_derived_pointers_are_not() {
        let places = with_header(0, &[(3, 7, 8), (3, 7, 16), (3, 6, -24), (3, 6, -24)]);
        assert_eq!(decoded(&places), Ok(Some(vec!["[rsp+8]".into(), "[rbp-24]".into()])));
    }

    #[test]
    fn a_base_that_is_named_for_each_derived_pointer_is_one_root() {
        let places = with_header(0, &[(3, 7, 8), (3, 7, 16), (3, 7, 8), (3, 7, 24), (3, 7, 8), (3, 7, 8)]);
        assert_eq!(decoded(&places), Ok(Some(vec!["[rsp+8]".into()])));
    }

    #[test]
    fn deopt_operands_are_no_roots_in_memory_or_in_registers() {
        let places = with_header(3, &[(1, 3, 0), (3, 7, 40), (2, 7, 48), (3, 7, 8), (3, 7, 8)]);
        assert_eq!(decoded(&places), Ok(Some(vec!["[rsp+8]".into()])));
    }

    #[test]
    fn allocas_behind_the_pairs_are_slots_and_nulls_are_none() {
        let places = with_header(0, &[constant(0), constant(0), (3, 7, 8), (3, 7, 8), (2, 7, 32), (2, 6, -8)]);
        assert_eq!(decoded(&places), Ok(Some(vec!["[rsp+8]".into(), "[rsp+32]".into(), "[rbp-8]".into()])));
        assert_eq!(decoded(&with_header(0, &[])), Ok(Some(vec![])));
    }

    #[test]
    fn malformed_statepoints_are_refused_and_records_of_other_shapes_skipped() {
        let refused: [(&[Place], OperandFault); 4] = [
            (&[(3, 7, 8)], OperandFault::Unpaired { operand: 3 }),
            (&[(1, 3, 0), (3, 7, 8)], OperandFault::Register { operand: 3, register: 3 }),
            (&[(3, 7, 8), (1, 3, 0)], OperandFault::Register { operand: 4, register: 3 }),
            (&[(3, 12, 8), (3, 7, 8)], OperandFault::Base { operand: 3, register: 12 }),
        ];
        for (rest, fault) in refused {
            assert_eq!(decoded(&with_header(0, rest)), Err(fault));
        }
        assert_eq!(decoded(&with_header(0, &[(2, 7, 8), (3, 7, 8)])), Err(OperandFault::Unpaired { operand: 4 }));
        for skipped in [&[][..], &[constant(0), (3, 7, 8)], &with_header(9, &[constant(0)]), &with_header(-1, &[])] {
            assert_eq!(decoded(skipped), Ok(None));
        }
    }
}
