//! Frames that lend roots: other code has a root's address, and may store references to it.
//!
//! Such a store counts nothing (it may be in native code, which does not know that this is a root), so the object in
//! the root may be at zero when a callee's safepoint drains. The frame's next safepoint would count it, too late. So
//! a frame that lends increments a counter of its thread. While that is not zero, drains that may free something walk the stack and protect
//! the objects in roots, and are postponed if the stack is deep (`tally_heap::plan::prompt`'s `address_taken_walk`).
//! `[ROOT]`
//!
//! Roots whose address only out-parameters of this module have do not need this (`out_parameters`).
//!
//! A `longjmp` past such a frame leaves the counter too high: drains go on walking, at a cost in proportion, and
//! there is no other effect.

use crate::llvm::{Builder, Opcode, Value};
use crate::lower::ContextAccess;
use crate::lower::runtime::context_field;
use tally_heap::context::ADDRESS_TAKEN;

/// Changes the counter in front of `place`.
pub(super) fn change(builder: &Builder, context: ContextAccess, place: Value, begins: bool) {
    builder.before(place);
    let field = context_field(builder, context, ADDRESS_TAKEN);
    let frames = builder.load(builder.module().integer(64), field);
    let change = builder.i64(if begins { 1 } else { u64::MAX });
    let changed = builder.binary(Opcode::LLVMAdd, frames, change);
    builder.store(changed, field);
}
