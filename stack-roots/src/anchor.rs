//! Anchors: native code that no unwinder can cross records where managed code called it.
//!
//! Code without an unwind table hides its callers. A host that has such code between managed frames writes an
//! *anchor* into its own frame, the registers of the managed caller, and calls back through the runtime's trampoline,
//! which keeps the anchor's address in its frame. The walker knows the trampoline's return address
//! ([`Entries::reentry`]) and goes on at the anchor:
//!
//! ```text
//! higher │ managed frame            ◄─────────────┐  pc, sp, fp: as it is when its call has returned
//!        │ native frame: anchor { pc, sp, fp }  ◄─┼─┐
//!        │ native frames without tables           │ │
//!        │ trampoline: [sp + 8] = address of the anchor, or 0: nothing managed lies below
//! lower  │ managed frame, or the runtime             sp = stack pointer when its call has returned
//! ```
//!
//! There is no list of anchors, and nothing to undo: an anchor is valid as long as a trampoline that names it is on
//! the stack. So longjmp and exceptions, which remove the frames, remove the anchor as well.
//!
//! `[ADVANCE]` The anchor's stack pointer lies above the trampoline's, or the walk stops.

use crate::stack_fault::StackFault;
use crate::walk::Registers;

/// The return addresses by which a walk knows that managed code was entered, and those that were replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The return address of the call that entered the outermost managed code: the bottom.
    pub bottom: u64,
    /// The return address of the trampoline's call back into managed code.
    pub reentry: u64,
    /// The returns that are diverted now.
    pub diversion: Option<Diversion>,
}

/// Returns that are diverted, two at most: how a pair of return address and saved frame pointer looks then.
///
/// ```text
///               as it was             diverted
/// fp + 8        pc                    through
/// fp            the caller's fp       the address of { fp, pc }, which looks like any saved pair
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diversion {
    /// The address that replaces the return address.
    pub through: u64,
    /// The pairs, as they were.
    pub pairs: [DivertedPair; 2],
}

/// A return address and the saved frame pointer beside it, as they were before they were replaced in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DivertedPair {
    /// The address that replaces the saved frame pointer; 0: nothing is diverted by it.
    pub record: u64,
    /// The return address.
    pub pc: u64,
    /// The caller's frame pointer.
    pub fp: u64,
}

impl From<u64> for Entries {
    /// A bottom, without trampolines and diverted returns.
    fn from(bottom: u64) -> Entries {
        Entries { bottom, reentry: u64::MAX, diversion: None }
    }
}

/// The managed frame named by the anchor of the trampoline whose frame is at `sp`; none if the trampoline is the
/// bottom.
pub(crate) fn behind(sp: u64, read_word: &mut impl FnMut(u64) -> Option<u64>) -> Result<Option<Registers>, StackFault> {
    let mut word = |address| read_word(address).ok_or(StackFault::Unreadable { address });
    let anchor = word(sp.wrapping_add(8))?;
    if anchor == 0 {
        return Ok(None);
    }
    let (pc, anchored_sp, fp) = (word(anchor)?, word(anchor.wrapping_add(8))?, word(anchor.wrapping_add(16))?);
    if anchored_sp <= sp {
        return Err(StackFault::NotAbove { sp: anchored_sp, callee_sp: sp });
    }
    Ok(Some(Registers { pc, sp: anchored_sp, fp, rbx: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind_of(stack: &[u64]) -> Result<Option<Registers>, StackFault> {
        behind(0x7000, &mut |address: u64| {
            let offset = address.checked_sub(0x7000)?;
            stack.get(usize::try_from(offset / 8).ok()?).copied().filter(|_| offset % 8 == 0)
        })
    }

    #[test]
    fn anchor_leads_to_its_managed_frame() {
        let registers = Registers { pc: 0x1005, sp: 0x7040, fp: 0x7060, rbx: None };
        assert_eq!(behind_of(&[0, 0x7010, 0x1005, 0x7040, 0x7060]), Ok(Some(registers)));
        assert_eq!(behind_of(&[0, 0]), Ok(None));
    }

    #[test]
    fn anchor_that_leads_back_or_nowhere_is_refused() {
        let fault = StackFault::NotAbove { sp: 0x7000, callee_sp: 0x7000 };
        assert_eq!(behind_of(&[0, 0x7010, 0x1005, 0x7000, 0x7060]), Err(fault));
        assert_eq!(behind_of(&[0, 0x9000]), Err(StackFault::Unreadable { address: 0x9000 }));
        assert_eq!(behind_of(&[0, u64::MAX - 7]), Err(StackFault::Unreadable { address: u64::MAX - 7 }));
        assert_eq!(behind_of(&[0]), Err(StackFault::Unreadable { address: 0x7008 }));
    }
}
