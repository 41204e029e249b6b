//! Safepoints get their bundles: `"deopt"(i64 id, ptr slot, …)` on every call that may run an epoch.
//!
//! SelectionDAG lowers a call with a deopt bundle as a statepoint and writes a stack map record at its exact return
//! address; the operands are kept as they are, and an alloca becomes "frame register plus offset". The inliner
//! concatenates the bundles of caller and callee, as it should: pairs (id, slot) need no header that concatenation
//! could break. That is also why *every* function of the module gets at least empty bundles: a bare call inlined into
//! a rooted function would lose the caller's roots.
//!
//! Calls without a bundle are: leaves, intrinsics, inline asm, and `musttail` calls, whose frame is gone when the
//! callee runs (a function with one is never inlined, or its bare call would end up in a frame that still exists).

use super::leaves;
use super::result_thunk::Thunks;
use super::roots::Root;
use crate::analysis::callee::{Callees, LEAF};
use crate::llvm::call::Call;
use crate::llvm::{Builder, HandleSet, Value};

/// The operands that name the roots numbered by `named`.
pub(super) fn operands(builder: &Builder, roots: &[Root], named: impl Iterator<Item = usize>) -> Vec<Value> {
    named.flat_map(|root| [builder.i64(roots[root].id), roots[root].slot]).collect()
}

/// Gives one safepoint call its bundle; calls whose result LLVM cannot return from a safepoint go through a thunk.
pub(super) fn attach(builder: &Builder, thunks: &mut Thunks, call: Call, operands: &[Value]) {
    if thunks.needed_for(call) {
        thunks.route(builder, call, operands);
    } else {
        call.rebuild(builder, operands);
    }
}

/// Gives every safepoint of a function without roots an empty bundle.
pub(super) fn attach_empty(builder: &Builder, callees: &Callees, thunks: &mut Thunks, function: Value) -> usize {
    let mut count = 0;
    let calls: Vec<Call> = function.calls().collect();
    for call in calls {
        if callees.is_safepoint(call) && !call.is_musttail() {
            attach(builder, thunks, call, &[]);
            count += 1;
        }
    }
    count
}

/// The same for each plain function, one that is not `apart`; those that reach no safepoint are marked as leaves instead.
pub(super) fn attach_to_plain(
    builder: &Builder,
    callees: &Callees,
    thunks: &mut Thunks,
    bodies: &[Value],
    apart: &HandleSet<Value>,
) -> usize {
    let leaves = leaves::plain_leaves(callees, bodies, apart);
    let mut count = 0;
    for &function in bodies.iter().filter(|function| !apart.contains(function)) {
        if leaves.contains(&function) {
            function.set_string_attribute(LEAF, "");
        } else {
            count += attach_empty(builder, callees, thunks, function);
        }
    }
    count
}
