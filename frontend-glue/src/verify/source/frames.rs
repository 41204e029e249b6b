//! Functions whose frames cannot be found or read, and calls that LLVM cannot make into safepoints, by their own
//! attributes and conventions.
//!
//! A root is an address in a frame, relative to a frame pointer. Some calling conventions use the frame pointer for a
//! value of the program; some attributes move the slots elsewhere. The accepted ones are known to work.

use crate::analysis::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::llvm::Value;
use crate::llvm::call::Call;

/// LLVM's numbers of C, fast, cold, preserve_most, preserve_all, swift, cxx_fast_tls, tail, swifttail, x86_stdcall,
/// SysV, Win64, vectorcall, regcall and preserve_none.
const CONVENTIONS: [u32; 15] = [0, 8, 9, 14, 15, 16, 17, 18, 20, 64, 78, 79, 80, 92, 21];

/// A stack map counts the operands of a call in 16 bits: three constants, and a pair for each root.
pub(crate) const MOST_ROOTS: usize = (u16::MAX as usize - 3) / 2;

/// Attributes under which slots lie elsewhere, and the place.
const ELSEWHERE: [(&str, &str, &str); 3] = [
    ("safestack", "another stack", "compile without -fsanitize=safe-stack"),
    ("naked", "a frame that does not exist", "write all of it in assembler, without gc"),
    ("presplitcoroutine", "the coroutine's frame", "keep its references in an object on the heap, and root that"),
];

/// The faults of `function` and of its `calls`, in a module with managed functions.
pub(super) fn errors(name: &str, callees: &Callees, function: Value, calls: &[Call], managed: bool) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    if !CONVENTIONS.contains(&function.function_convention()) {
        let message = format!("calling convention {} leaves no frame to walk", function.function_convention());
        findings.push(Diagnostic::about_function(name, function, message).help("use tailcc or fastcc"));
    }
    if function.has_parameter_attribute("swiftasync") {
        let message = "a swiftasync parameter marks the frame pointer, and a walk does not know such a frame";
        let help = "pass the context as an ordinary parameter";
        findings.push(Diagnostic::about_function(name, function, message).help(help));
    }
    for (attribute, place, help) in ELSEWHERE {
        if managed && function.has_attribute(attribute) {
            let message = format!("attribute {attribute} moves root slots to {place}");
            findings.push(Diagnostic::about_function(name, function, message).help(help));
        }
    }
    let roots = calls.iter().filter(|call| callees.of_call(**call) == Callee::GcRoot).count();
    if roots > MOST_ROOTS {
        let message = format!("{roots} roots; a call can name {MOST_ROOTS} at most");
        let help = "keep them in an array with a descriptor, which is one root, or in an object on the heap";
        findings.push(Diagnostic::about_function(name, function, message).help(help));
    }
    for &call in calls.iter().filter(|call| callees.is_safepoint(**call) && !call.is_musttail()) {
        if !CONVENTIONS.contains(&call.convention()) {
            let message = format!("a call of calling convention {} cannot be a safepoint", call.convention());
            let help = "mark the callee \"gc-leaf-function\", or use tailcc or fastcc";
            findings.push(Diagnostic::at(name, call.value(), message).help(help));
        }
    }
    findings
}
