//! A compact map where it is in memory: return address → frame.
//!
//! Nothing is copied. The groups, few, are sorted by address when a module is registered; a search is one over groups,
//! one over chunks and a scan of a chunk. A walk asks for the same return addresses again and again, so those that were
//! found last are noted: an entry is the low half of the address and the place of its list, in one word that
//! threads may write at the same time. `[FRAME]` An entry is believed only if its half is that of the address
//! exactly, and only within 4 GiB of the first code.

use super::chunk::Call;
use super::{CompactError, CompactMap, Group};
use crate::frame_table::frame::{Described, Frame, Lookup, PlacedFunction, Roots};
use crate::frame_table::hashed::home;
use crate::machine::Machine;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most addresses that are noted.
const NOTED_MAX: usize = 1024;

/// A map whose code is known.
#[derive(Debug)]
pub struct CompactTable<'m> {
    map: CompactMap<'m>,
    /// By first return address.
    groups: Box<[PlacedGroup]>,
    /// The code of the group with the lowest.
    low: u64,
    noted: Box<[AtomicU64]>,
}

#[derive(Clone, Copy, Debug)]
struct PlacedGroup {
    code: u64,
    first: u64,
    last: u64,
    group: Group,
}

impl<'m> CompactTable<'m> {
    /// Finds the code of each group. `code` returns its address, or `None` for a group that is left out.
    pub fn new(
        map: CompactMap<'m>,
        mut code: impl FnMut(&Group) -> Option<u64>,
    ) -> Result<CompactTable<'m>, CompactError> {
        let mut groups = Vec::with_capacity(map.groups().len());
        for group in map.groups() {
            let Some(code) = code(&group) else { continue };
            let last = group.behind.checked_sub(1).and_then(|chunk| map.calls_of_chunk(chunk).last());
            let (first, last) = (map.chunk_return(group.first), last.map(|call| call.return_offset));
            let address = |offset: Option<u32>| code.checked_add(u64::from(offset?));
            let wrong = CompactError::Group { at: group.place_at };
            let (first, last) = (address(first).ok_or(wrong)?, address(last).ok_or(wrong)?);
            groups.push(PlacedGroup { code, first, last, group });
        }
        groups.sort_unstable_by_key(|group| group.first);
        let low = groups.iter().map(|group| group.code).min().unwrap_or(0);
        let noted = map.calls.clamp(1, NOTED_MAX).next_power_of_two();
        let noted = (0..noted).map(|_| AtomicU64::new(0)).collect();
        Ok(CompactTable { map, groups: groups.into_boxed_slice(), low, noted })
    }

    pub(crate) fn len(&self) -> usize {
        self.map.calls
    }

    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        Some((self.groups.first()?.first, self.groups.iter().map(|group| group.last).max()?))
    }

    /// All frames, ordered by return address within each section of code.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let groups = self.groups.iter();
        let calls = groups.flat_map(|group| self.map.calls(&group.group).map(|call| (group.code, call.return_offset)));
        calls.filter_map(|(code, offset)| self.lookup(code.wrapping_add(u64::from(offset))))
    }

    /// The function that holds the call which returns to `pc`.
    #[cold]
    pub(crate) fn function(&self, pc: u64) -> PlacedFunction {
        match self.search(pc) {
            Some((_, call)) => PlacedFunction {
                address: pc.wrapping_sub(u64::from(call.return_offset.wrapping_sub(call.function))),
                stack_size: self.map.lists.frame_size(call.list),
            },
            None => PlacedFunction { address: pc, stack_size: None },
        }
    }

    /// Expected: ⌈log₂ chunks⌉ steps, and a scan of 8 calls.
    #[cold]
    fn search(&self, pc: u64) -> Option<(&PlacedGroup, Call)> {
        let begun = self.groups.partition_point(|group| group.first <= pc);
        let group = self.groups[..begun].last().filter(|group| pc <= group.last)?;
        let offset = u32::try_from(pc - group.code).ok()?;
        let (mut low, mut behind) = (group.group.first, group.group.behind);
        while behind - low > 1 {
            let middle = low + (behind - low) / 2;
            match self.map.chunk_return(middle)? <= offset {
                true => low = middle,
                false => behind = middle,
            }
        }
        Some((group, self.map.open(low).ok()?.find(offset, &self.map.lists)?))
    }

    #[inline]
    fn frame(&self, pc: u64, list: Option<u32>) -> Frame<'_> {
        let roots = self.map.lists.roots(list);
        let stack_size = self.map.lists.frame_size(list);
        Frame {
            pc,
            described: Described::InPlace { table: self, stack_size },
            roots: Roots::Packed(roots),
            needs_rbx: roots.needs_base(),
            needs_unwinder: Machine::NATIVE.needs_frame_size() && stack_size.is_none(),
            counts_from_prologue: false,
        }
    }
}

impl Lookup for CompactTable<'_> {
    #[inline]
    fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
        let noted = &self.noted[home(pc, self.noted.len() - 1)];
        let offset = pc.wrapping_sub(self.low);
        let entry = noted.load(Ordering::Relaxed);
        if entry as u32 == offset as u32 && offset >> 32 == 0 && entry >> 32 != 0 {
            return Some(self.frame(pc, ((entry >> 32) as u32).checked_sub(NOTED_LIST)));
        }
        let (_, call) = self.search(pc)?;
        if offset >> 32 == 0 {
            let list = call.list.map_or(NOTED_NONE, |list| list + NOTED_LIST);
            noted.store(offset | u64::from(list) << 32, Ordering::Relaxed);
        }
        Some(self.frame(pc, call.list))
    }
}

/// What is noted of a call without a list, and of one with the first. Nothing noted is 0.
const NOTED_NONE: u32 = 1;
const NOTED_LIST: u32 = 2;
