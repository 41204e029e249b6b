//! Refuses variable arguments that LLVM would pass in the wrong registers, on RISC-V: [`crate::lower::variadic_calls`] has the reason.

use crate::analysis::callee::Callees;
use crate::diagnostic::Diagnostic;
use crate::llvm::{Type, TypeKind, Value};
use crate::lower::variadic_calls::{floating_bits, is_variadic, variable_arguments};

/// The variable arguments at safepoints of `function` that do not fit into a general register.
pub(super) fn errors(name: &str, function: Value, callees: &Callees) -> Vec<Diagnostic> {
    let calls = function.calls().filter(|&call| is_variadic(call) && callees.is_safepoint(call));
    let wrong = calls.filter_map(|call| {
        let (_, wide) = variable_arguments(call).find(|(_, argument)| !is_of_one_register(argument.type_of()))?;
        let what = format!(
            "a variable argument of type {} at a safepoint: LLVM would pass it in other registers than RISC-V's ABI says",
            wide.type_of().print()
        );
        let help = "pass a double or an integer of 64 bits, or make the call in a file without references";
        Some(Diagnostic::at(name, call.value(), what).help(help))
    });
    wrong.collect()
}

fn is_of_one_register(of: Type) -> bool {
    floating_bits(of).is_some() || is_plain(of)
}

/// Whether it is an integer, a pointer, or made of such.
fn is_plain(of: Type) -> bool {
    match of.kind() {
        TypeKind::LLVMIntegerTypeKind => of.integer_bits().is_some_and(|bits| bits <= 64),
        TypeKind::LLVMPointerTypeKind => true,
        TypeKind::LLVMArrayTypeKind | TypeKind::LLVMStructTypeKind => {
            of.members().into_iter().all(|(member, _)| is_plain(member))
        }
        _ => false,
    }
}
