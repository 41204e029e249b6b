//! Deferred plan: functions that lend roots note their frames. Both plans: functions that call `setjmp` report its
//! return, or a finalizer that was left by the jump would count as running (`tally_heap::services::finalizer`).
//!
//! A flip may leave the older frames of a deep stack for slices, because frames that are not active do not change,
//! with one exception: code that has a root's address may store to the root, and no count would be kept for the
//! reference that it held at the flip. So a function with such a root notes its frame pointer at its entry, if it is
//! the highest so far:
//!
//! ```text
//!   context.address_taken_high = max(context.address_taken_high, frame pointer)
//! ```
//!
//! The flip itself visits the frames up to that. Nothing is undone when the function ends, in any way: each walk
//! begins at 0, and at its end knows the frames that lend, by a bit of their roots' ids. A count of such frames, as
//! the prompt plan has it (`count/address_taken.rs`), would cost instructions on every way out, and stay too high
//! after an exception.
//!
//! Inlined, the note is about the frame that the slot lies in then.

use super::count::is_address_taken;
use super::roots::Root;
use super::runtime::{ContextAccess, context_field, declare};
use crate::analysis::callee::Callees;
use crate::llvm::call::Call;
use crate::llvm::surgery::split_normal_edge;
use crate::llvm::{Builder, Opcode, Value};
use tally_compiled::module::record::ADDRESS_TAKEN_ROOT;
use tally_heap::context::ADDRESS_TAKEN_HIGH;

/// Marks the roots that `function` lends, and lets it note its frame if there are any.
pub(super) fn note(builder: &Builder, context: ContextAccess, callees: &Callees, function: Value, roots: &mut [Root]) {
    let mut lends = false;
    for root in roots.iter_mut().filter(|root| is_address_taken(callees, root)) {
        root.id |= ADDRESS_TAKEN_ROOT;
        lends = true;
    }
    if !lends {
        return;
    }
    let module = builder.module();
    builder.before_unlocated(function.entry().behind_allocas());
    let find = module.intrinsic("llvm.frameaddress", &[module.pointer()]);
    let frame = builder.call(find.value_type(), find, &[builder.i32(0)]);
    let frame = builder.cast(Opcode::LLVMPtrToInt, frame, module.integer(64));
    let field = context_field(builder, context, ADDRESS_TAKEN_HIGH);
    let highest = builder.load(module.integer(64), field);
    let larger = module.intrinsic("llvm.umax", &[module.integer(64)]);
    let highest = builder.call(larger.value_type(), larger, &[highest, frame]);
    builder.store(highest, field);
}

/// Keeps the roots of functions that call `setjmp` in memory, so that behind its second return they hold what was stored to them
/// last. LLVM may take what a variable held before the call for what it holds after it, if no other code knows the variable.
pub(super) fn keep_in_memory(builder: &Builder, callees: &Callees, rooted: &[(Value, Vec<Root>)]) {
    let returns_twice = |function: Value| function.calls().any(|call| callees.returns_twice(call));
    for (function, roots) in rooted.iter().filter(|(function, roots)| !roots.is_empty() && returns_twice(*function)) {
        builder.before_unlocated(function.entry().behind_allocas());
        roots.iter().for_each(|root| builder.expose(root.slot));
    }
}

/// Notifies the runtime after each call that may return twice.
pub(super) fn announce_landings(builder: &Builder, callees: &Callees, function: Value) {
    let calls: Vec<Call> = function.calls().filter(|&call| callees.returns_twice(call)).collect();
    for call in calls.into_iter().filter(|call| !call.is_musttail()) {
        let behind = match call.is_invoke() {
            true => split_normal_edge(builder, call.value()).terminator(),
            false => call.value().next_instruction(),
        };
        let landed = declare(builder.module(), "tally_landed");
        builder.before_with_location_of(behind.expect("a call is no terminator"), call.value());
        builder.call(landed.value_type(), landed, &[]);
    }
}
