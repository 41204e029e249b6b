//! Finds functions that LLVM cannot compile to ELF for the target: it would stop with a fatal error without the function's
//! name, or crash.
//!
//! Scalable vectors and the types of other targets have no size here, so functions with a gc strategy are checked
//! before sizes are computed, and in others the types in memory and of possible references. The rest of those is
//! checked when code is generated: `tally lower` leaves them to the tool that compiles its output.

use super::is_managed;
use crate::diagnostic::Diagnostic;
use crate::emit::target::Target;
use crate::llvm::{HandleSet, Module, Opcode, Type, TypeKind, Value};
use crate::lower::Plan;

/// The functions that cannot be analysed.
pub(super) fn errors(module: Module, name: &str, gc_names: &[(String, Plan)]) -> Vec<Diagnostic> {
    faults(module, name, |function, of, is_in_memory| {
        is_in_memory || is_managed(function, gc_names) || of.print().contains("ptr")
    })
}

/// The functions that no code can be made of, or none that ELF can hold.
pub(crate) fn all_errors(module: Module, name: &str) -> Vec<Diagnostic> {
    let mut findings = faults(module, name, |_, _, _| true);
    findings.extend(module.functions().filter(|function| function.comdat_is_foreign()).map(|function| {
        let message = "its comdat is of a kind that only other object formats know";
        Diagnostic::about_function(name, function, message).help("use comdat any, or nodeduplicate")
    }));
    findings
}

/// The first type of each function for which there is no code and `matters` is true; `matters` gets the function, the
/// type, and whether memory has it.
fn faults(module: Module, name: &str, matters: impl Fn(Value, Type, bool) -> bool) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut fine: HandleSet<Type> = HandleSet::default();
    let target = Target::of(module);
    let message = |of: Type| format!("the type {}, which has no {} code", of.print(), target.name());
    // AArch64 and RISC-V have registers for scalable vectors, but a walk that pauses would not keep a result there.
    let help = match target {
        Target::X86_64 => "compile for x86-64",
        Target::AArch64 => "compile without scalable vectors (SVE)",
        Target::RiscV64 => "compile without scalable vectors (the V extension)",
    };
    for function in module.functions().filter(|function| function.has_body()) {
        let fault = |value: Value, of: Type| Diagnostic::at(name, value, message(of)).help(help);
        let signature = std::iter::once(function.value_type().return_type()).chain(function.value_type().parameters());
        if let Some(of) = signature.into_iter().find(|&of| !is_of_x86(of, &mut fine) && matters(function, of, false)) {
            findings.push(Diagnostic::about_function(name, function, message(of)).help(help));
            continue;
        }
        let types = |it: Value| {
            let memory = match it.opcode() {
                Some(Opcode::LLVMAlloca) => Some(it.allocated_type()),
                Some(Opcode::LLVMGetElementPtr) => Some(it.source_element_type()),
                Some(Opcode::LLVMStore) => Some(it.operand(0).type_of()),
                _ => None,
            };
            [(Some(it.type_of()), false), (memory, true)]
                .into_iter()
                .filter_map(move |(of, is_in_memory)| Some((it, of?, is_in_memory)))
        };
        let mut found = function.instructions().into_iter().flat_map(types);
        let first =
            found.find(|&(_, of, is_in_memory)| !is_of_x86(of, &mut fine) && matters(function, of, is_in_memory));
        findings.extend(first.map(|(at, of, _)| fault(at, of)));
    }
    findings
}

fn is_of_x86(of: Type, fine: &mut HandleSet<Type>) -> bool {
    use TypeKind::{LLVMIntegerTypeKind, LLVMPointerTypeKind, LLVMVoidTypeKind};
    if matches!(of.kind(), LLVMIntegerTypeKind | LLVMPointerTypeKind | LLVMVoidTypeKind) || fine.contains(&of) {
        return true;
    }
    let mut open = vec![of];
    while let Some(of) = open.pop() {
        if fine.contains(&of) {
            continue;
        }
        match of.kind() {
            TypeKind::LLVMScalableVectorTypeKind | TypeKind::LLVMTargetExtTypeKind => return false,
            TypeKind::LLVMStructTypeKind | TypeKind::LLVMArrayTypeKind => {
                open.extend(of.members().into_iter().map(|(member, _)| member));
            }
            _ => {}
        }
    }
    fine.insert(of);
    true
}
