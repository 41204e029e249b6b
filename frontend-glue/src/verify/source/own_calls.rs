//! Intrinsics that call a function by themselves: none of them can be a safepoint, and all of them may reach one.
//!
//! The other intrinsics are instructions, or calls of leaves. These call a function that the program names (a patch
//! point, a statepoint of the frontend's own), or that LLVM names for them (resuming a coroutine, leaving for an
//! interpreter), and take no bundle of roots; a few crash the code generator as well. In a function without gc such a
//! call is as bad, since that may be inlined into one with roots; only patch points are taken there.

use crate::diagnostic::Diagnostic;
use crate::llvm::{HandleSet, Module, Value};

/// In a function without gc it is taken: the lowering keeps that out of line.
const PATCH_POINT: &str = "llvm.experimental.patchpoint.";

/// The prefixes of their names, and advice.
const CALLING: [(&str, &str); 7] = [
    (PATCH_POINT, "call the function, or keep the patch point in a function without a gc strategy"),
    ("llvm.experimental.gc.statepoint.", "call the function; the lowering makes the stack maps"),
    ("llvm.experimental.deoptimize.", "call the function that goes on"),
    ("llvm.experimental.guard", "branch to a call"),
    ("llvm.call.preallocated.", "pass the argument with byval"),
    ("llvm.coro.", "keep coroutines in modules without gc functions"),
    ("llvm.objc.", "keep Objective-C in modules without gc functions"),
];

/// Intrinsics that LLVM's verifier accepts only with a statepoint, and in functions with a gc strategy; in dead code
/// the statepoint may be gone.
const OF_STATEPOINTS: [&str; 2] = ["llvm.experimental.gc.result.", "llvm.experimental.gc.relocate."];

/// What asks for the object that a pointer leads into: answered where roots are inferred, and gone then.
const OF_BASES: &str = "llvm.experimental.gc.get.pointer.";

/// The uses of such intrinsics in a module that has managed functions.
pub(super) fn errors(module: Module, name: &str, managed: &HandleSet<Value>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for function in module.functions().filter(|function| function.intrinsic_id() != 0) {
        let intrinsic = function.name();
        let calling = CALLING.iter().find(|(beginning, _)| intrinsic.starts_with(beginning));
        let of_statepoint = OF_STATEPOINTS.iter().any(|beginning| intrinsic.starts_with(beginning));
        let of_bases = intrinsic.starts_with(OF_BASES);
        if calling.is_none() && !of_statepoint && !of_bases {
            continue;
        }
        let is_taken = |user: Value| intrinsic.starts_with(PATCH_POINT) && !managed.contains(&user.function());
        let uses = function.users().filter(|&user| user.is_instruction() && !is_taken(user));
        // LLVM lists uses in the order of their creation, last first; one is enough.
        let Some(first) = uses.last() else { continue };
        findings.push(match calling {
            Some((_, help)) => refused(name, first, &intrinsic, help),
            None if of_bases => {
                Diagnostic::at(name, first, format!("{intrinsic} has no answer where roots are not inferred")).help(
                    "make it ptr addrspace(1), in a function with a gc strategy, or infer all roots: --roots auto",
                )
            }
            None => Diagnostic::at(name, first, format!("{intrinsic} belongs to a statepoint, and there is none"))
                .help("use the result of the call; the lowering makes the stack maps"),
        });
    }
    findings
}

fn refused(name: &str, place: Value, intrinsic: &str, help: &str) -> Diagnostic {
    Diagnostic::at(name, place, format!("{intrinsic} calls what may reach a safepoint, and carries no roots"))
        .help(help)
}
