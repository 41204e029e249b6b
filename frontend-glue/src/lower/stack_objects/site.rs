//! The place where an object is made that may be on the stack, and what is known of its type.

use crate::llvm::Value;
use crate::llvm::call::Call;

/// The mark of roots and safepoints of makers.
pub(super) const MADE: &str = "tally.made";

/// An allocation that may be put on the stack, or a call of a maker.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) call: Call,
    pub(super) descriptor: Value,
    pub(super) size: u64,
    pub(super) alignment: u32,
    /// Offsets of the references.
    pub(super) references: Vec<u32>,
}
