//! Frames that lend roots: others have a root's address, and may store references to it.
//!
//! Such a store counts nothing (who makes it may be native code, and does not know that there is a root), so what the root
//! holds may be at zero when a callee's safepoint drains. The frame's next safepoint would count it, too late. So a frame
//! that lends says so, in a counter of its thread; while that is not zero, drains walk the stack and protect what
//! roots hold, and are put off where that is deep (`tally_heap::plan::prompt`'s `address_taken_walk`). `[ROOT]`
//!
//! Roots whose address only out-parameters of this module have are spared that (`out_parameters`).
//!
//! A `longjmp` past such a frame leaves the counter too high: drains go on walking, in proportion, and nothing else comes of it.

use crate::llvm::{Builder, Opcode, Value};
use crate::lower::ContextAccess;
use crate::lower::runtime::context_field;
use tally_heap::context::LENT;

/// Changes the counter in front of `place`.
pub(super) fn change(builder: &Builder, context: ContextAccess, place: Value, begins: bool) {
    builder.before(place);
    let field = context_field(builder, context, LENT);
    let frames = builder.load(builder.module().integer(64), field);
    let change = builder.i64(if begins { 1 } else { u64::MAX });
    let changed = builder.binary(Opcode::LLVMAdd, frames, change);
    builder.store(changed, field);
}
