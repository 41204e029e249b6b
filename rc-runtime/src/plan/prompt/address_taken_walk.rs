//! How often drains walk the stack for address-taken roots. `[ROOT]` `[BOUND]`
//!
//! A root whose address was passed on may be written to by native code, which does not report it. So its object may be at zero, and
//! before anything dies such roots must be read: all of them, since one store to any of them leaves no trace elsewhere. No
//! scheme that frees at every safepoint does with less, unless each store of native code is caught. *N* nested frames that lend,
//! with a drain in each, were *N²* frames walked.
//!
//! So a drain that would walk a deep stack again is *put off* until the program has done as much as the walk will cost. What is
//! at zero stays pending meanwhile. A walk of *W* units (frames, root slots, and steps of the unwinder, each as some) is
//! followed by the next one after
//!
//! | | |
//! |---|---|
//! | *W* safepoints | at which anything was pending |
//! | or *W* more pending objects | |
//! | or *W* × [`BYTES_PER_UNIT`] bytes allocated | about what the stack itself takes |
//!
//! So all walks of a program cost a constant part of its safepoints, deaths and allocation. Garbage that waits was alive at
//! the last walk, or is of those few bytes. A walk of up to [`FEW`] units is made by every drain; so is any where no frame
//! lends. Explicit collections, limits and steps put nothing off, nor does zeal over a small heap.
//!
//! The stack may have become shorter: it has no more units than a fourth of its bytes, and that many are enough. It may have become
//! deeper by calls: those are the program's work, too.

mod pace;

/// Units of a walk that is never put off.
pub(crate) const FEW: u64 = 1024;
/// Bytes allocated that pay for a unit.
const BYTES_PER_UNIT: u64 = 64;
/// Bytes of stack that a unit takes, at least.
const STACK_PER_UNIT: u64 = 4;

/// The last walk.
#[derive(Debug, Default)]
pub(crate) struct AddressTakenWalk {
    /// What it cost.
    units: u64,
    /// One past the stack that it went through.
    stack_end: u64,
    /// Bytes allocated before it.
    allocated: u64,
    /// Objects that it left pending.
    pending: usize,
    /// Safepoints since then that have put their drain off.
    put_off: u64,
}
