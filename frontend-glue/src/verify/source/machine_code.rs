//! What LLVM makes no x86-64 ELF code of, and says so in a fatal error without the function's name, or by crashing.
//!
//! Scalable vectors and the types of other targets have no size here, so this is asked before anything that asks for sizes. Code
//! that an optimiser would remove is refused, too: it is no code for this machine at any level.

use crate::diagnostic::Diagnostic;
use crate::llvm::{HandleSet, Module, Opcode, Type, TypeKind, Value};

/// The functions that no code can be made of.
pub(super) fn errors(module: Module, name: &str) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut fine: HandleSet<Type> = HandleSet::default();
    for function in module.functions().filter(|function| function.has_body()) {
        let fault = |value: Value, of: Type| {
            let message = format!("the type {}, of which there is no x86-64 code", of.print());
            Diagnostic::at(name, value, message).help("compile for x86-64")
        };
        let signature = std::iter::once(function.value_type().return_type()).chain(function.value_type().parameters());
        if let Some(of) = signature.into_iter().find(|&of| !is_of_x86(of, &mut fine)) {
            let message = format!("the type {}, of which there is no x86-64 code", of.print());
            findings.push(Diagnostic::about_function(name, function, message).help("compile for x86-64"));
            continue;
        }
        let types = |it: Value| {
            let memory = match it.opcode() {
                Some(Opcode::LLVMAlloca) => Some(it.allocated_type()),
                Some(Opcode::LLVMGetElementPtr) => Some(it.source_element_type()),
                Some(Opcode::LLVMStore) => Some(it.operand(0).type_of()),
                _ => None,
            };
            [Some(it.type_of()), memory].into_iter().flatten().map(move |of| (it, of))
        };
        let mut found = function.instructions().into_iter().flat_map(types);
        findings.extend(found.find(|&(_, of)| !is_of_x86(of, &mut fine)).map(|(at, of)| fault(at, of)));
    }
    findings
}

fn is_of_x86(of: Type, fine: &mut HandleSet<Type>) -> bool {
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
