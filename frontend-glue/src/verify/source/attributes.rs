//! Attributes that make LLVM add or change calls after the lowering, so that a safepoint would have no roots or no
//! code.
//!
//! In a module with managed functions they are refused on every function, since inlining carries code from one to
//! another. Thunks for indirect calls (retpolines and the like) are allowed if nothing is called through a register.
//!
//! Attributes that name a processor without code in LLVM are refused, too, on any function of any module.

use crate::analysis::callee::Callees;
use crate::diagnostic::Diagnostic;
use crate::emit::target::Target;
use crate::llvm::call::Call;
use crate::llvm::processor::Processor;
use crate::llvm::{Module, Value};

/// Attributes of LLVM's own: their effect, and advice.
const OF_LLVM: [(&str, &str, &str); 2] = [
    (
        "speculative_load_hardening",
        "LLVM cannot harden the calls at safepoints",
        "compile without -mspeculative-load-hardening",
    ),
    (
        "sanitize_alloc_token",
        "LLVM replaces allocation functions by others, in calls that carry no roots",
        "compile without -fsanitize=alloc-token",
    ),
];

/// Attributes that name a function which LLVM then calls.
const INSTRUMENTING: [&str; 4] = [
    "instrument-function-entry",
    "instrument-function-entry-inlined",
    "instrument-function-exit",
    "instrument-function-exit-inlined",
];

/// Features under which a call through a register goes through a thunk.
const THUNKS: [&str; 4] = ["+retpoline", "+retpoline-indirect-calls", "+lvi-cfi", "+seses"];

/// The faults in the attributes of `function`; `indirect` says whether the module has safepoints that are called
/// through a register.
pub(super) fn errors(name: &str, function: Value, indirect: bool) -> Vec<Diagnostic> {
    let refuse = |what: String, help: &str| Diagnostic::about_function(name, function, what).help(help);
    let mut findings = Vec::new();
    for (attribute, consequence, help) in OF_LLVM {
        if function.has_attribute(attribute) {
            findings.push(refuse(format!("attribute {attribute}: {consequence}"), help));
        }
    }
    for attribute in INSTRUMENTING {
        if let Some(callee) = function.string_attribute(attribute).filter(|callee| !callee.is_empty()) {
            let what = format!("attribute \"{attribute}\": LLVM adds a call of @{callee} that carries no roots");
            findings.push(refuse(
                what,
                "write the call into the function, or compile without -finstrument-functions and -pg",
            ));
        }
    }
    let features = function.string_attribute("target-features").filter(|_| indirect).unwrap_or_default();
    if let Some(feature) = features.split(',').find(|feature| THUNKS.contains(feature)) {
        let what = format!("target feature {feature}: LLVM makes no safepoint of an indirect call through a thunk");
        findings.push(refuse(what, "compile without -mretpoline and -mlvi-cfi, or call functions by name"));
    }
    findings
}

/// The fault of a processor that LLVM makes no code for; LLVM's own message would lack the function's name.
pub(super) fn processor_error(name: &str, function: Value, target: Target) -> Option<Diagnostic> {
    if target != Target::X86_64 {
        // LLVM passes over a name that it does not know, and says so.
        return None;
    }
    let features = function.string_attribute("target-features").unwrap_or_default();
    let said = features.split(',').rev().find_map(|feature| match feature {
        "+64bit" => Some(true),
        "-64bit" => Some(false),
        _ => None,
    });
    let processor = function.string_attribute("target-cpu").unwrap_or_default();
    let what = match (Processor::named(&processor), said) {
        (Processor::Unknown, _) => format!("\"target-cpu\"=\"{processor}\" is no x86 processor that this LLVM knows"),
        (_, Some(false)) => "\"target-features\" takes 64-bit code away (-64bit)".to_owned(),
        (Processor::Of32Bits, None) => format!("\"target-cpu\"=\"{processor}\" has no 64-bit code"),
        _ => return None,
    };
    Some(Diagnostic::about_function(name, function, what).help("say x86-64, or leave the attribute out"))
}

/// Whether any safepoint of the module is called through a register: by a pointer, or past the procedure linkage table.
pub(super) fn has_indirect_safepoints(module: Module, callees: &Callees) -> bool {
    let is_indirect = |call: Call| {
        let callee = call.callee();
        !callee.is_function() || callee.has_attribute("nonlazybind")
    };
    let bodies = module.functions().filter(|function| function.has_body());
    bodies.flat_map(Value::calls).any(|call| is_indirect(call) && callees.is_safepoint(call) && !call.is_musttail())
}
