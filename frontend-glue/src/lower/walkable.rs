//! The requirements of the stack walk on every function of a lowered module, ours and the program's: a frame pointer,
//! an unwind table, frames that touch each of their pages, and no inlining of bare tail calls and of patch points.

use super::{Mitigation, address_taken, variadic_calls};
use crate::analysis::callee::{Callee, Callees};
use crate::emit::target::Target;
use crate::llvm::call::{Call, Position};
use crate::llvm::{Builder, Value};

/// Gives `function` what the walk needs of any body, when its calls have their bundles.
pub(super) fn prepare(builder: &Builder, callees: &Callees, function: Value, without: Option<Mitigation>) {
    address_taken::announce_landings(builder, callees, function);
    make_walkable(function, without);
    // A patch point takes no bundle of roots: its function stays a frame of its own, below calls that name the roots.
    if function.calls().any(|call| callees.of_call(call) == Callee::PatchPoint) {
        keep_out_of_line(function);
    }
    variadic_calls::pass_as_integers(builder, function);
}

/// Gives `function` the attributes that the walk needs, except those that a test leaves out.
pub(super) fn make_walkable(function: Value, without: Option<Mitigation>) {
    if without != Some(Mitigation::FramePointers) {
        function.set_string_attribute("frame-pointer", "all");
    }
    if without != Some(Mitigation::UnwindTables) && !function.has_attribute("uwtable") {
        // 2: valid at every instruction, not only at calls.
        function.set_attribute("uwtable", 2);
    }
    touch_every_page(function);
    keep_frames_known(function);
    leave_return_addresses_plain(function);
    let has_musttail = || function.calls().any(Call::is_musttail);
    if without != Some(Mitigation::TailCallsOutOfLine) && has_musttail() {
        keep_out_of_line(function);
    }
}

fn keep_out_of_line(function: Value) {
    function.remove_attribute(Position::Function, "alwaysinline");
    function.set_attribute("noinline", 0);
}

/// A walk reads return addresses and replaces one while it pauses: they are neither signed nor kept twice (AArch64's PAC, RISC-V's Zicfiss, and a
/// shadow call stack). Code without roots may do either; unwind tables tell.
fn leave_return_addresses_plain(function: Value) {
    if function.string_attribute("sign-return-address").is_some() {
        function.set_string_attribute("sign-return-address", "none");
    }
    function.remove_string_attribute("ptrauth-returns");
    function.remove_string_attribute("hw-shadow-stack");
    function.remove_attribute(Position::Function, "shadowcallstack");
}

/// Features of RISC-V under which a walk would not know a frame: registers that a call or one instruction saves are not in the size that
/// LLVM writes to the stack map, nor are vectors that it keeps on the stack. And the linker shortens no code (`emit::target`).
fn keep_frames_known(function: Value) {
    const FEATURES: &str = "target-features";
    const WITHOUT: &str = "-relax,-save-restore,-zcmp,-xqccmp,-zve32x";
    let is_riscv = Target::of(function.module()) == Target::RiscV64;
    // Without the attribute the features are those of the machine that compiles, which `emit::target` names.
    if let Some(features) = function.string_attribute(FEATURES).filter(|_| is_riscv) {
        function.set_string_attribute(FEATURES, &format!("{features},{WITHOUT}"));
    }
}

/// A large frame touches each of its pages: it cannot step over the guard page into other memory. A frontend's value
/// for the distance is dropped if it is more than a page, or next to 0, at which LLVM crashes.
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
