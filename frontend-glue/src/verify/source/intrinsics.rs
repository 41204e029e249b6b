//! Checks the uses of the gc intrinsics, twice: before LLVM's verifier reads a module, and from the rest of
//! `source.rs`.
//!
//! LLVM's verifier knows most of these rules, too, but prints an instruction without its function, and without
//! advice. So `load.rs` runs this check first, on a module that has only been parsed. The first rule is that an
//! intrinsic's arguments have the types of its declaration; nothing else is assumed.

use crate::analysis::callee::signature;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{Module, Opcode, Type, Value};
use crate::lower::STRATEGY;
use crate::lower::roots::{rooted_variable, slot_bytes, variable_count, variable_type};
use std::collections::HashSet;

/// The intrinsics and their signatures, in the letters of the runtime's list.
const INTRINSICS: [(&str, &str); 3] = [("llvm.gcroot", "v(pp)"), ("llvm.gcwrite", "v(ppp)"), ("llvm.gcread", "p(pp)")];

/// The largest root, in scalars and in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The wrong uses of the gc intrinsics in a module that LLVM's verifier has not checked.
pub(crate) fn misused(module: Module, name: &str) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut without_strategy = HashSet::new();
    for (intrinsic, text) in INTRINSICS {
        let Some(function) = module.function(intrinsic) else { continue };
        let short = intrinsic.trim_start_matches("llvm.");
        let wanted = signature(module, text);
        let help = format!("declare and call it as {}", wanted.print());
        if function.value_type() != wanted {
            let message = format!("{intrinsic} is declared as {}", function.value_type().print());
            findings.push(Diagnostic::about_module(name, message).help(help));
            continue;
        }
        // LLVM lists uses in the order of their making, last first.
        let users: Vec<Value> = function.users().collect();
        for user in users.into_iter().rev() {
            let at = |message: String, help: &str| Diagnostic::at(name, user, message).help(help);
            let Some(call) = user.as_call().filter(|call| call.callee() == function) else {
                let message = format!("the address of {intrinsic} is taken");
                let finding = if user.is_instruction() {
                    Diagnostic::at(name, user, message)
                } else {
                    Diagnostic::about_module(name, message)
                };
                findings.push(finding.help("intrinsics can only be called"));
                continue;
            };
            if call.function_type() != wanted {
                findings.push(at(format!("{short} is called as {}", call.function_type().print()), &help));
            } else if call.is_invoke() {
                findings.push(at(format!("{short} is invoked"), "call it: it never unwinds"));
            } else if user.function().gc().is_none() {
                if without_strategy.insert(user.function()) {
                    let help = format!("add gc \"{STRATEGY}\" to the function");
                    findings.push(at(format!("{short} in a function without a gc strategy"), &help));
                }
            } else if intrinsic == "llvm.gcroot"
                && let Err(finding) = rooted_slot(module, name, call)
            {
                findings.push(*finding);
            }
        }
    }
    findings
}

/// The variable that a gcroot names, if it is one that can be named in bundles.
pub(crate) fn rooted_slot(module: Module, name: &str, call: Call) -> Result<Value, Box<Diagnostic>> {
    let refuse = |message: &str, help: &str| Err(Box::new(Diagnostic::at(name, call.value(), message).help(help)));
    let how = call.argument(1);
    let Some(slot) = rooted_variable(call.argument(0)) else {
        return refuse(
            "gcroot of something that is no alloca",
            "keep the reference in an alloca and root that; an element of an array is rooted with the whole array, through a descriptor",
        );
    };
    let Some(bytes) = slot_bytes(module, slot) else {
        let help = "give the alloca a constant size, or keep the references in an object on the heap";
        return refuse("gcroot of an alloca whose size is not constant", help);
    };
    let of = variable_type(slot);
    if bytes > MOST_BYTES || scalars(of, variable_count(slot)).is_none_or(|scalars| scalars > MOST_BYTES) {
        let help = "keep the references in an object on the heap";
        return refuse("gcroot of an alloca of more than 1 GiB, which no stack holds", help);
    }
    if of.is_pointer() && module.size_of(of) != 8 {
        let help = "a reference is a pointer of 64 bits; root one, and cast the loaded value";
        return refuse("gcroot of a pointer that is not as wide as a reference", help);
    }
    if !how.is_constant() || how.is_undef() {
        let help = "pass null or the address of a constant type descriptor";
        return refuse("the second argument of gcroot is no constant", help);
    }
    if how.is_null() && !(of.is_pointer() && bytes == module.size_of(of)) {
        let what = if of.integer_bits().is_some() { "an integer" } else { "an aggregate" };
        let help = "pass a type descriptor as second argument: it says which words of the slot are references";
        return refuse(&format!("gcroot of {what} without a descriptor"), help);
    }
    if slot.is_parameter_with("sret")
        && let Some((message, help)) = shared_result(slot)
    {
        return refuse(message, help);
    }
    Ok(slot)
}

/// The reason why a copy cannot replace the memory of a result until the function returns.
fn shared_result(result: Value) -> Option<(&'static str, &'static str)> {
    const COPY: &str = "build the struct in another alloca that is a root, and return a copy of that";
    if !result.is_parameter_with("noalias") {
        let help = "mark the parameter noalias, or build the struct in another alloca that is a root, and return a copy of that";
        return Some(("gcroot of a struct that is returned in memory that other code may see", help));
    }
    result.function_of_parameter().instructions().into_iter().find_map(|user| match user.opcode() {
        Some(Opcode::LLVMStore) if user.operand(0).base() == result && user.operand(1).base() == result => Some((
            "gcroot of a struct that is returned and holds its own address, which is another when it has been returned",
            COPY,
        )),
        Some(Opcode::LLVMCall) => {
            let call = user.as_call().filter(|call| call.is_musttail())?;
            let is_part = |value: &Value| value.base() == result && *value != result;
            call.arguments()
                .iter()
                .any(is_part)
                .then_some(("gcroot of a struct that is returned and passed in part to a guaranteed tail call", COPY))
        }
        _ => None,
    })
}

/// The least number of scalars, if that is known; sizes that LLVM computes wrap around.
fn scalars(of: Type, count: Option<u64>) -> Option<u64> {
    let members = of.members().into_iter();
    let each = members.map(|(member, times)| scalars(member, Some(times)));
    let all = each.reduce(|sum, more| sum?.checked_add(more?)).unwrap_or(Some(1))?;
    count?.checked_mul(all)
}
