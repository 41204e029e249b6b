//! Builds the table of a section's calls, or returns the reason why they do not make one.
//!
//! Only `FrameTable::build` uses it, when a program starts: the addresses and lists that are hashed come from its own code, so
//! nobody chooses them to collide. It computes the addresses of calls, shares lists of roots, and guards `[FRAME]`
//! at its one weak point: two records for one return address must agree.

use super::hashed::{CallSite, CallSites, home};
use super::{Calls, FrameTable, PlacedFunction};
use crate::machine::Machine;
use crate::root_records::{BaseRegister, OperandFault, RootSlot};
use rustc_hash::FxHashMap;
use std::fmt;

/// A table under construction.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) functions: Vec<PlacedFunction>,
    calls: FxHashMap<u64, CallSite>,
    roots: Vec<RootSlot>,
    lists: FxHashMap<Vec<RootSlot>, u32>,
    pub(super) foreign_records: usize,
    needs_unwinder: bool,
    needs_frame_size: bool,
    pub(super) counts_from_prologue: bool,
}

impl Builder {
    pub(super) fn new(keeps_frame_pointer: bool, machine: Machine) -> Builder {
        let needs_frame_size = machine.needs_frame_size();
        Builder { needs_unwinder: !keeps_frame_pointer, needs_frame_size, ..Builder::default() }
    }

    /// Adds the call that returns to `function + instruction_offset`, in the function placed last.
    pub(super) fn add_call(
        &mut self,
        function: u64,
        instruction_offset: u32,
        roots: Vec<RootSlot>,
    ) -> Result<(), TableError> {
        let pc = function
            .checked_add(u64::from(instruction_offset))
            .ok_or(TableError::Address { function, instruction_offset })?;
        if let Some(known) = self.calls.get(&pc) {
            // A linkonce function compiled in two objects is described twice at its one address. The ids differ, as
            // they are hashes of the module's name. The code is the same, so the places must agree.
            let places = |list: &[RootSlot]| list.iter().map(|root| root.location).collect::<Vec<_>>();
            let first = known.first_root as usize;
            let known_roots = &self.roots[first..first + usize::from(known.root_count)];
            return if places(known_roots) == places(&roots) { Ok(()) } else { Err(TableError::Conflict { pc }) };
        }
        let root_count = u16::try_from(roots.len()).map_err(|_| TableError::TooLarge)?;
        let needs_rbx = roots.iter().any(|root| root.location.base() == BaseRegister::Rbx);
        let size_varies = self.functions.last().is_some_and(|function| function.stack_size.is_none());
        let function = index(self.functions.len() - 1)?;
        let first_root = self.store(roots)?;
        let needs_unwinder = self.needs_unwinder || self.needs_frame_size && size_varies;
        let counts_from_prologue = self.counts_from_prologue;
        let site = CallSite { pc, function, first_root, root_count, needs_rbx, needs_unwinder, counts_from_prologue };
        self.calls.insert(pc, site);
        Ok(())
    }

    /// Stores a list of roots, or finds it stored: the calls of a function mostly name the same roots.
    fn store(&mut self, roots: Vec<RootSlot>) -> Result<u32, TableError> {
        if let Some(&first) = self.lists.get(&roots) {
            return Ok(first);
        }
        let first = index(self.roots.len())?;
        self.roots.extend_from_slice(&roots);
        self.lists.insert(roots, first);
        Ok(first)
    }

    /// Spreads the calls over a table that stays half empty.
    pub(super) fn finish(self) -> Result<FrameTable, TableError> {
        let capacity = (self.calls.len() * 2).next_power_of_two().max(2);
        let mut call_sites = vec![CallSite::VACANT; capacity].into_boxed_slice();
        let mask = capacity - 1;
        for site in self.calls.values() {
            let mut index = home(site.pc, mask);
            while call_sites[index].is_taken() {
                index = (index + 1) & mask;
            }
            call_sites[index] = *site;
        }
        let calls = CallSites {
            first: self.calls.keys().copied().min().unwrap_or(u64::MAX),
            last: self.calls.keys().copied().max().unwrap_or(0),
            calls: self.calls.len(),
            call_sites,
            functions: self.functions.into_boxed_slice(),
            roots: self.roots.into_boxed_slice(),
        };
        Ok(FrameTable { calls: Calls::Copied(calls), foreign_records: self.foreign_records })
    }
}

/// Tables index with 32 bits, and `u32::MAX` marks a vacant entry.
fn index(value: usize) -> Result<u32, TableError> {
    u32::try_from(value).ok().filter(|&index| index != u32::MAX).ok_or(TableError::TooLarge)
}

/// Why a section does not make a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// A call's operands break the convention.
    Operands {
        /// The address of the function.
        function: u64,
        /// The call's return address, from there.
        instruction_offset: u32,
        /// The fault.
        fault: OperandFault,
    },
    /// A return address past the end of the address space.
    Address {
        /// The address of the function.
        function: u64,
        /// The call's return address, from there.
        instruction_offset: u32,
    },
    /// Two records of one return address name different slots.
    Conflict {
        /// The return address.
        pc: u64,
    },
    /// More than 2³² − 1 functions or roots.
    TooLarge,
}

impl fmt::Display for TableError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Operands { function, instruction_offset, fault } => write!(
                out,
                "stack map of the function at {function:#x}, call returning to +{instruction_offset:#x}: {fault}; \
                 lower the module again and do not add operands to its deopt bundles"
            ),
            TableError::Address { function, instruction_offset } => write!(
                out,
                "stack map of the function at {function:#x}: +{instruction_offset:#x} is past the end of memory; \
                 the section is damaged or was not relocated"
            ),
            TableError::Conflict { pc } => write!(
                out,
                "stack maps: two records for the return address {pc:#x} name different slots; \
                 a function was compiled differently in two objects, or the section was not relocated"
            ),
            TableError::TooLarge => {
                out.write_str("stack map: more than 4,294,967,294 functions or roots; split the module")
            }
        }
    }
}

impl std::error::Error for TableError {}
