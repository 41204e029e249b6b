//! Operand bundles of the frontend's own: those that can be kept beside Tally's, and those that are refused.
//!
//! A safepoint gets a bundle of roots, and LLVM 22 makes its code in another way than for ordinary calls
//! (`LowerCallSiteWithDeoptBundle`), which silently drops the effect of most other bundles. For some bundles LLVM can
//! make no code at all; there it would stop the whole process without naming a place. Known to work are bundles of
//! convergence tokens, which mean nothing on this machine, deoptimisation state, and at leaves those that LLVM knows here. Bundles of
//! intrinsics (`llvm.assume`) are not checked.

use crate::analysis::callee::Callees;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{Type, TypeKind, Value};

/// Bundles that LLVM drops at a safepoint and knows at other calls: the loss, and advice.
const DROPPED: [(&str, &str, &str); 4] = [
    ("kcfi", "LLVM drops the kcfi check of a safepoint call", "compile without -fsanitize=kcfi"),
    ("cfguardtarget", "LLVM drops the cfguardtarget of a safepoint call", "compile without control flow guard"),
    (
        "clang.arc.attachedcall",
        "LLVM drops the attached call of a safepoint call",
        "call the function on the result instead",
    ),
    (
        "deactivation-symbol",
        "LLVM drops the deactivation symbol of a safepoint call",
        "compile without pointer field protection",
    ),
];

/// Bundles for which no call can be compiled: the reason, and advice.
const IMPOSSIBLE: [(&str, &str, &str); 3] = [
    ("funclet", "a funclet has no frame that a walk could read", "use landing pads for exceptions"),
    ("preallocated", "LLVM passes preallocated arguments on 32-bit machines only", "pass the argument byval"),
    ("ptrauth", "this machine has no authenticated calls", "compile without -fptrauth-calls"),
];

/// The faults in the bundles of these calls, which are in a module with managed functions.
pub(super) fn errors(name: &str, callees: &Callees, calls: &[Call]) -> Vec<Diagnostic> {
    let with_tags = calls.iter().flat_map(|&call| call.bundle_tags().into_iter().map(move |tag| (call, tag)));
    let of_functions = with_tags.filter(|(call, _)| call.callee().intrinsic_id() == 0);
    let faults = of_functions.filter_map(|(call, tag)| {
        let (message, help) = fault(call, &tag, callees.is_safepoint(call) && !call.is_musttail())?;
        Some(Diagnostic::at(name, call.value(), message).help(help))
    });
    faults.collect()
}

fn fault(call: Call, tag: &str, is_safepoint: bool) -> Option<(String, String)> {
    if tag == DEOPT {
        return fault_of_state(call);
    }
    if tag == "convergencectrl" {
        return None;
    }
    if let Some((_, message, help)) = DROPPED.into_iter().find(|(known, ..)| *known == tag) {
        let known_here = !(tag == "deactivation-symbol" && call.is_invoke());
        if is_safepoint || !known_here {
            return Some((message.into(), format!("{help}, or mark the call \"gc-leaf-function\"")));
        }
        return None;
    }
    let impossible = IMPOSSIBLE.into_iter().find(|(known, ..)| *known == tag);
    let (why, help) = impossible.map_or(
        (
            "LLVM generates no code for a bundle of this name",
            "take the bundle off, or run the pass that reads it first",
        ),
        |(_, why, help)| (why, help),
    );
    Some((format!("the call has a \"{tag}\" bundle: {why}"), help.into()))
}

/// Why no code keeps the deoptimisation state of a call.
fn fault_of_state(call: Call) -> Option<(String, String)> {
    if call.is_musttail() {
        let message = "the call has a \"deopt\" bundle, and its frame is gone when the callee runs";
        return Some((message.into(), "take the bundle off, or call without musttail".into()));
    }
    let has_place = |of: Type| {
        let is_single = !matches!(of.kind(), TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind);
        is_single && !matches!(of.kind(), TypeKind::LLVMTokenTypeKind | TypeKind::LLVMMetadataTypeKind)
    };
    let operand = call.bundle(DEOPT)?.into_iter().map(Value::type_of).find(|&of| !has_place(of))?;
    let message = format!(
        "an operand of its \"deopt\" bundle has the type {}, which has no place in a stack map",
        operand.print()
    );
    Some((message, "name its members one by one".into()))
}
