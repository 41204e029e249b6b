//! Floating-point arguments of **variadic** calls on RISC-V, as integers of the same bits.
//!
//! A variadic function takes its variable arguments from general registers there. LLVM 22 forgets which arguments are variable when it makes a
//! statepoint of a call with a bundle, and passes a `double` in a floating-point register: `printf` would print something else. An
//! integer goes where the function looks. So `lower` calls this for every function of a module, in which each call may carry a bundle.
//!
//! What cannot be an integer of one register is refused before (`verify::source::variadic_calls`): values of 16 bytes begin at an even
//! register where they are variable, and LLVM has forgotten that as well.

use crate::emit::target::Target;
use crate::llvm::call::{Call, Position};
use crate::llvm::{Builder, Opcode, Type, TypeKind, Value};

/// Replaces variable arguments of floating-point type in the calls of `function`, on RISC-V.
pub(super) fn pass_as_integers(builder: &Builder, function: Value) {
    if Target::of(builder.module()) != Target::RiscV64 {
        return;
    }
    let calls: Vec<Call> = function.calls().filter(|&call| is_variadic(call)).collect();
    for call in calls {
        for (index, argument) in variable_arguments(call) {
            let Some(bits) = floating_bits(argument.type_of()) else { continue };
            builder.before(call.value());
            let integer = builder.cast(Opcode::LLVMBitCast, argument, builder.module().integer(bits));
            call.remove_attribute(Position::Parameter(index), "nofpclass");
            call.set_argument(index, integer);
        }
    }
}

/// Whether a call passes variable arguments to a function. (LLVM's own variadic functions are none.)
pub(crate) fn is_variadic(call: Call) -> bool {
    call.function_type().is_variadic() && !call.is_musttail() && !call.callee().name().starts_with("llvm.")
}

/// The variable arguments, with their places among all.
pub(crate) fn variable_arguments(call: Call) -> impl Iterator<Item = (u32, Value)> {
    let fixed = call.function_type().parameters().len();
    call.arguments().into_iter().enumerate().skip(fixed).map(|(index, argument)| (index as u32, argument))
}

/// The size of a floating-point type that becomes an integer.
pub(crate) fn floating_bits(of: Type) -> Option<u32> {
    match of.kind() {
        TypeKind::LLVMDoubleTypeKind => Some(64),
        TypeKind::LLVMFloatTypeKind => Some(32),
        TypeKind::LLVMHalfTypeKind => Some(16),
        _ => None,
    }
}
