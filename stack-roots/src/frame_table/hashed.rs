//! Calls by return address in a table that is made when a module is registered.
//!
//! ```text
//! hash(pc) ─► call_sites  [ pc | function | first root, count ] …   open addressing, linear probing, at most half full
//!                              │            └──────► roots      [ id | location ] …   equal lists stored once
//!                              └───────────────────► functions  [ address | stack size ] …
//! ```
//!
//! One probe touches one 24-byte entry, and the roots lie side by side: two cache lines a frame.

use super::frame::{Described, Frame, PlacedFunction, Roots};
use crate::root_records::RootSlot;

/// The calls of one module.
#[derive(Debug)]
pub(super) struct CallSites {
    pub(super) call_sites: Box<[CallSite]>,
    pub(super) functions: Box<[PlacedFunction]>,
    pub(super) roots: Box<[RootSlot]>,
    pub(super) calls: usize,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl CallSites {
    pub(super) fn len(&self) -> usize {
        self.calls
    }

    pub(super) fn range(&self) -> Option<(u64, u64)> {
        (self.calls != 0).then_some((self.first, self.last))
    }

    pub(super) fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut sites: Vec<&CallSite> = self.call_sites.iter().filter(|site| site.is_taken()).collect();
        sites.sort_unstable_by_key(|site| site.pc);
        sites.into_iter().map(|site| self.frame(site))
    }

    #[inline]
    fn frame(&self, site: &CallSite) -> Frame<'_> {
        let first = site.first_root as usize;
        Frame {
            pc: site.pc,
            described: Described::Placed(&self.functions[site.function as usize]),
            roots: Roots::Slots(&self.roots[first..first + usize::from(site.root_count)]),
            needs_rbx: site.needs_rbx,
            needs_unwinder: site.needs_unwinder,
            counts_from_prologue: site.counts_from_prologue,
        }
    }

    /// Expected: 1 multiplication, 1–2 entries looked at.
    #[inline]
    pub(super) fn lookup(&self, pc: u64) -> Option<Frame<'_>> {
        let mask = self.call_sites.len() - 1;
        let mut index = home(pc, mask);
        loop {
            let site = &self.call_sites[index];
            if !site.is_taken() {
                return None;
            }
            if site.pc == pc {
                return Some(self.frame(site));
            }
            index = (index + 1) & mask;
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CallSite {
    pub(super) pc: u64,
    pub(super) function: u32,
    pub(super) first_root: u32,
    pub(super) root_count: u16,
    pub(super) needs_rbx: bool,
    pub(super) needs_unwinder: bool,
    pub(super) counts_from_prologue: bool,
}

const _: () = assert!(size_of::<CallSite>() == 24);

impl CallSite {
    pub(super) const VACANT: CallSite = CallSite {
        pc: 0,
        function: u32::MAX,
        first_root: 0,
        root_count: 0,
        needs_rbx: false,
        needs_unwinder: false,
        counts_from_prologue: false,
    };

    #[inline]
    pub(super) fn is_taken(&self) -> bool {
        self.function != u32::MAX
    }
}

/// Where the search for `pc` begins. Return addresses differ in their low bits; the product spreads them to the top.
#[inline]
pub(crate) fn home(pc: u64, mask: usize) -> usize {
    (pc.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask
}
