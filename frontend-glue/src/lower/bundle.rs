//! Safepoints get their bundles: `"deopt"(i64 id, ptr slot, …)` on every call that may run an epoch.
//!
//! SelectionDAG lowers a call with a deopt bundle as a statepoint and writes a stack map record at its exact return
//! address; the operands are kept as they are, and an alloca becomes "frame register plus offset". The inliner
//! concatenates the bundles of caller and callee, which is the meaning wanted: pairs (id, slot) need no header that
//! concatenation could break. That is also why *every* function of the module gets at least empty bundles: a bare call
//! inlined into a rooted function would lose the caller's roots.
//!
//! Bare stay: leaves, intrinsics, inline asm, and `musttail` calls, whose frame is gone when the callee runs (a function
//! with one is never inlined, or its bare call would end up in a frame that is there).

use super::Cure;
use super::result_thunk::Thunks;
use super::roots::Root;
use crate::analysis::callee::Callees;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Value};

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

/// A large frame touches each of its pages: it cannot step over the guard page into other memory. What a frontend says of the
/// distance is dropped where it is more than a page, or nothing, at which LLVM crashes.
fn touch_every_page(function: Value) {
    const PROBE: &str = "probe-stack";
    const INLINE: &str = "inline-asm";
    const DISTANCE: &str = "stack-probe-size";
    if function.string_attribute(PROBE).is_some_and(|probe| probe != INLINE) {
        return;
    }
    function.set_string_attribute(PROBE, INLINE);
    // Under this one LLVM calls a function of the name `inline-asm`.
    function.remove_string_attribute("no-stack-arg-probe");
    let is_sound = |bytes: &str| bytes.parse::<u32>().is_ok_and(|bytes| (16..=4096).contains(&bytes));
    if function.string_attribute(DISTANCE).is_some_and(|bytes| !is_sound(&bytes)) {
        function.remove_string_attribute(DISTANCE);
    }
}

/// What the stack walk needs of every function: a frame pointer, an unwind table, and no inlining of bare tail calls.
pub(super) fn make_walkable(function: Value, without: Option<Cure>) {
    if without != Some(Cure::FramePointers) {
        function.set_string_attribute("frame-pointer", "all");
    }
    if without != Some(Cure::UnwindTables) && !function.has_attribute("uwtable") {
        // 2: valid at every instruction, not only at calls.
        function.set_attribute("uwtable", 2);
    }
    touch_every_page(function);
    let has_musttail = || function.calls().any(Call::is_musttail);
    if without != Some(Cure::TailCallsOutOfLine) && has_musttail() {
        function.remove_attribute(crate::llvm::call::Position::Function, "alwaysinline");
        function.set_attribute("noinline", 0);
    }
}
