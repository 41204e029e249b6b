//! Return address → frame, for one module: the form in which the walker wants a stack map.
//!
//! A compact map is asked where it lies ([`crate::compact_map`]). Of the sections of other formats a table is built once,
//! when a module is registered, and then only read. `[FRAME]` A lookup finds exactly the return addresses of recorded calls, never the code around them: with
//! the wrong record, wrong words of the frame would be taken for roots.
//!
//! Functions of object files have no address yet; `build` takes a closure that places them.

mod builder;
pub(crate) mod frame;
pub(crate) mod hashed;

pub use builder::TableError;
pub use frame::{Frame, Lookup, PlacedFunction, Roots};

use crate::compact_map::CompactTable;
use crate::machine::Machine;
use crate::root_records::{self, DEOPT_RECORD_ID, RootSlot};
use crate::stack_map::{Function, StackMap};
use crate::statepoint;
use builder::Builder;
use hashed::CallSites;

/// The recorded calls of one module.
#[derive(Debug)]
pub struct FrameTable {
    calls: Calls,
    foreign_records: usize,
}

#[derive(Debug)]
enum Calls {
    /// In a table made of what other formats say.
    Copied(CallSites),
    /// In the module's compact map.
    InPlace(CompactTable<'static>),
}

impl FrameTable {
    /// Builds the table of a section. `place` returns the address of a function in memory (in a loaded module:
    /// `|function| Some(function.address)`; in an object file, by the relocation at `function.address_at`). Functions
    /// for which it returns `None` are left out.
    pub fn build(map: &StackMap<'_>, place: impl FnMut(&Function) -> Option<u64>) -> Result<FrameTable, TableError> {
        FrameTable::build_as(Convention::LOWERED, map, place)
    }

    /// The same for a section of code that `convention` describes.
    pub fn build_as(
        convention: Convention,
        map: &StackMap<'_>,
        mut place: impl FnMut(&Function) -> Option<u64>,
    ) -> Result<FrameTable, TableError> {
        let mut builder = Builder::new(convention.keeps_frame_pointer, convention.machine);
        let mut placed: Option<(usize, Option<u64>)> = None;
        for record in map.records() {
            let function = record.function;
            let address = match placed {
                Some((address_at, address)) if address_at == function.address_at => address,
                _ => {
                    let address = place(&function);
                    if let Some(address) = address {
                        builder.functions.push(PlacedFunction { address, stack_size: function.stack_size });
                    }
                    placed = Some((function.address_at, address));
                    address
                }
            };
            let Some(address) = address else { continue };
            let instruction_offset = record.instruction_offset;
            let roots = match convention.roots {
                RootsIn::Statepoints if record.id != DEOPT_RECORD_ID => statepoint::decode(&record, convention.machine),
                RootsIn::Statepoints | RootsIn::Bundles => root_records::decode(&record, convention.machine),
            };
            let roots = roots.map_err(|fault| TableError::Operands { function: address, instruction_offset, fault })?;
            match roots {
                Some(roots) => builder.add_call(address, instruction_offset, roots)?,
                None => builder.foreign_records += 1,
            }
        }
        builder.finish()
    }

    /// Builds the table of calls that other tables than stack maps describe, in code without frame pointers.
    pub fn of_calls(calls: impl IntoIterator<Item = Call>) -> Result<FrameTable, TableError> {
        let mut builder = Builder::new(false, Machine::NATIVE);
        builder.counts_from_prologue = true;
        for Call { pc, frame_size, roots } in calls {
            builder.functions.push(PlacedFunction { address: pc, stack_size: frame_size });
            builder.add_call(pc, 0, roots)?;
        }
        builder.finish()
    }

    /// The calls of a compact map, which stays where it is.
    pub fn in_place(table: CompactTable<'static>) -> FrameTable {
        FrameTable { calls: Calls::InPlace(table), foreign_records: 0 }
    }

    /// The number of calls in the table.
    pub fn len(&self) -> usize {
        match &self.calls {
            Calls::Copied(calls) => calls.len(),
            Calls::InPlace(table) => table.len(),
        }
    }

    /// Whether the table has no calls.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records of the section that are not calls of ours and were skipped.
    pub fn foreign_records(&self) -> usize {
        self.foreign_records
    }

    /// First and last return address, inclusive; `None` of an empty table.
    pub fn range(&self) -> Option<(u64, u64)> {
        match &self.calls {
            Calls::Copied(calls) => calls.range(),
            Calls::InPlace(table) => table.range(),
        }
    }

    /// All frames, ordered by return address.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let (copied, in_place) = match &self.calls {
            Calls::Copied(calls) => (Some(calls.frames()), None),
            Calls::InPlace(table) => (None, Some(table.frames())),
        };
        copied.into_iter().flatten().chain(in_place.into_iter().flatten())
    }
}

impl Lookup for FrameTable {
    #[inline]
    fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
        match &self.calls {
            Calls::Copied(calls) => calls.lookup(pc),
            Calls::InPlace(table) => table.lookup(pc),
        }
    }
}

/// How the code of a section was compiled, and what its records mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convention {
    /// The operands that are roots.
    pub roots: RootsIn,
    /// Whether all frames keep a frame pointer. The unwinder steps over others.
    pub keeps_frame_pointer: bool,
    /// The processor.
    pub machine: Machine,
}

impl Convention {
    /// The code of a lowered module.
    pub const LOWERED: Convention =
        Convention { roots: RootsIn::Bundles, keeps_frame_pointer: true, machine: Machine::NATIVE };
}

/// The operands of a record that are roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootsIn {
    /// Pairs of id and slot in a "deopt" bundle, which the lowering wrote ([`root_records`]).
    Bundles,
    /// Base pointers of statepoints ([`statepoint`]); calls with the id of bundles are read as such.
    Statepoints,
}

/// A call that a table other than a stack map describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its return address.
    pub pc: u64,
    /// Bytes of the frame without the return address; `None` where the size varies.
    pub frame_size: Option<u64>,
    /// The roots in the frame.
    pub roots: Vec<RootSlot>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_map;
    use tally_kit::stack_map_section::{FIXTURE, Section};

    fn build(section: Section) -> Result<FrameTable, TableError> {
        FrameTable::build(&stack_map::read(&section.bytes()).unwrap(), |function| Some(function.address))
    }

    #[test]
    fn real_section_with_functions_placed_by_the_offset_of_their_address() {
        let map = stack_map::read(FIXTURE).unwrap();
        // The addresses that the functions have in the object's .text; the table of functions begins at byte 16.
        let text = [0x0, 0x30, 0x70, 0xb0, 0x100];
        let table =
            FrameTable::build(&map, |function| Some(0x40_0000 + text[(function.address_at - 16) / 24])).unwrap();
        assert_eq!((table.len(), table.foreign_records()), (9, 2));
        assert_eq!(table.range(), Some((0x40_0015, 0x40_00f1)));
        let listed: Vec<_> =
            table.frames().map(|f| (f.function().address - 0x40_0000, f.pc - f.function().address)).collect();
        let expected =
            [(0, 21), (0, 33), (0x30, 29), (0x30, 41), (0x30, 46), (0x70, 48), (0x70, 56), (0xb0, 50), (0xb0, 65)];
        assert_eq!(listed, expected);
        for frame in table.frames() {
            assert_eq!(table.lookup(frame.pc), Some(frame));
            assert_eq!(frame.needs_rbx, frame.function().address == 0x40_0070);
            assert_eq!(frame.stack_size().is_none(), frame.needs_rbx);
        }
        // Four different lists, of which the empty one takes no room.
        let Calls::Copied(calls) = &table.calls else { panic!("a table") };
        assert_eq!(calls.roots.len(), 1 + 2 + 1 + 1);
    }

    #[test]
    fn object_file_that_is_not_relocated_is_refused_or_left_out() {
        let map = stack_map::read(FIXTURE).unwrap();
        let left_out = FrameTable::build(&map, |_| None).unwrap();
        assert!(left_out.is_empty() && left_out.range().is_none() && left_out.lookup(21).is_none());
        let two_at_zero = Section::new().function(0, 8).call(5, &[(1, (2, 7, 0))]).function(0, 8).call(5, &[]);
        assert_eq!(build(two_at_zero).err(), Some(TableError::Conflict { pc: 5 }));
    }

    #[test]
    fn addresses_beside_a_call_are_unknown() {
        let calls = if cfg!(miri) { 50 } else { 1000 };
        let mut section = Section::new().function(0x1000, 8);
        for call in 0..calls {
            section = section.call(call * 5, &[(u64::from(call), (2, 7, 8 * (call as i32 % 3)))]);
        }
        let table = build(section).unwrap();
        for pc in 0..0x900 + u64::from(calls) * 5 {
            let found = table.lookup(pc + 0x800).and_then(|frame| frame.roots.iter().next()).map(|root| root.id);
            let recorded =
                pc.checked_sub(0x800).filter(|at| at % 5 == 0 && *at < u64::from(calls) * 5).map(|at| at / 5);
            assert_eq!(found, recorded, "pc {pc:#x}");
        }
    }

    #[test]
    fn linkonce_function_described_by_two_objects_is_one_function() {
        let described = |id| Section::new().function(0x1000, 8).call(5, &[(id, (2, 7, 0))]).bytes();
        let bytes = [described(1 << 50), described(1 << 51)].concat();
        let table = FrameTable::build(&stack_map::read(&bytes).unwrap(), |f| Some(f.address)).unwrap();
        assert_eq!(table.len(), 1);
        assert_eq!(table.lookup(0x1005).unwrap().roots.last().unwrap().id, 1 << 50);
    }

    #[test]
    fn faults_name_function_and_offset() {
        let odd = Section::new().function(0x1000, 8).record(
            root_records::DEOPT_RECORD_ID,
            7,
            &[(4, 0, 0), (4, 0, 0), (4, 0, 1), (4, 0, 5)],
        );
        let error = build(odd).unwrap_err();
        assert_eq!(
            error.to_string(),
            "stack map of the function at 0x1000, call returning to +0x7: \
             1 bundle operands do not pair up into id and slot; \
             lower the module again and do not add operands to its deopt bundles"
        );
        let high = Section::new().function(u64::MAX - 3, 8).call(4, &[]);
        let expected = TableError::Address { function: u64::MAX - 3, instruction_offset: 4 };
        assert_eq!(build(high).err(), Some(expected));
    }

    /// A table of any section that the reader accepts is bounded by the bytes and finds its own calls.
    #[test]
    fn tables_of_mutated_sections_stay_consistent() {
        let steps: &[u8] = if cfg!(miri) { &[0x80] } else { &[1, 2, 0x40, 0x80, 0xff] };
        for at in (0..FIXTURE.len()).step_by(if cfg!(miri) { 7 } else { 1 }) {
            for step in steps {
                let mut bytes = FIXTURE.to_vec();
                bytes[at] = bytes[at].wrapping_add(*step);
                let Ok(map) = stack_map::read(&bytes) else { continue };
                let mut next = 0;
                let spread = |_: &Function| {
                    next += 0x1000;
                    Some(next)
                };
                let Ok(table) = FrameTable::build(&map, spread) else { continue };
                assert!(table.len() + table.foreign_records() <= map.records().count());
                assert!(table.frames().all(|frame| table.lookup(frame.pc) == Some(frame)));
            }
        }
    }
}
