//! Structs in memory of the caller that are roots: each becomes a variable of the function. This is done first, when
//! a module is loaded (LLVM's verifier refuses such a gcroot), or lowered for a host.
//!
//! C compilers pass a struct of more than two words by the address of a copy (`byval`), and let the callee write such
//! a result to memory of the caller (`sret`). A bundle can name neither, so the function gets an alloca, which takes
//! the parameter's place:
//!
//! ```text
//!   byval   %own = alloca; copy %own <- %p at the entry                      the memory is the callee's own: no one else reads it
//!   sret    %own = alloca; copy %out <- %own before each return              `noalias`: no one else reads it before the return
//! ```
//!
//! A guaranteed tail call is a return, too. It goes on with the parameter itself, into which the variable is copied
//! before it. An exception or `longjmp` that leaves the function copies nothing: the result of a call that did not
//! return is undefined. `verify::source::intrinsics` has refused programs that could notice the copy. Only the
//! address of the variable differs from the address of the caller's memory, and like the address of any local
//! variable it must not be used after the return.

use crate::llvm::call::{Call, Position};
use crate::llvm::{Builder, HandleSet, Module, Opcode, Type, Value};
use crate::lower::roots::{rooted_variable, variable_type};

/// Gives functions variables of their own for the parameters that their gcroots name, all of which are in order.
pub(crate) fn of_rooted_parameters(module: Module) {
    let Some(gcroot) = module.function("llvm.gcroot") else { return };
    let calls = gcroot.users().filter_map(Value::as_call);
    let variables = calls.filter_map(|call| rooted_variable(call.argument(0)));
    let rooted: HandleSet<Value> = variables.filter(|variable| variable.is_argument()).collect();
    let functions: HandleSet<Value> = rooted.iter().map(|parameter| parameter.function_of_parameter()).collect();
    for function in module.functions().filter(|function| functions.contains(function)) {
        let builder = Builder::new(module);
        for parameter in (0..function.parameter_count()).map(|index| function.parameter(index)) {
            if rooted.contains(&parameter) {
                give_own_copy(&builder, function, parameter);
            }
        }
    }
}

fn give_own_copy(builder: &Builder, function: Value, parameter: Value) {
    let module = builder.module();
    let of = variable_type(parameter);
    let own = builder.alloca_at_entry(function, of, &parameter.name());
    own.set_alignment(parameter.alignment_of_parameter().max(module.alignment_of(of)));
    let tail_calls: Vec<Call> = function.calls().filter(|call| call.is_musttail()).collect();
    parameter.replace_all_uses(own);
    for call in &tail_calls {
        let taken = (0..call.argument_count()).filter(|&index| call.argument(index) == own);
        taken.collect::<Vec<_>>().into_iter().for_each(|index| call.set_argument(index, parameter));
    }
    if parameter.is_parameter_with("byval") {
        builder.before_unlocated(function.entry().behind_allocas());
        copy(builder, of, (own, own.alignment()), (parameter, parameter.alignment_of_parameter()));
        for call in tail_calls.iter().filter(|call| call.arguments().contains(&parameter)) {
            builder.before(call.value());
            copy(builder, of, (parameter, parameter.alignment_of_parameter()), (own, own.alignment()));
        }
    } else {
        for end in ends(function, &tail_calls) {
            builder.before(end);
            copy(builder, of, (parameter, parameter.alignment_of_parameter()), (own, own.alignment()));
        }
    }
    forget_promises(function, parameter);
}

/// The returns of a function, or the guaranteed tail call before a return.
fn ends(function: Value, tail_calls: &[Call]) -> Vec<Value> {
    let of_block = |end: Value| {
        let tail_call = tail_calls.iter().map(|call| call.value()).find(|call| call.block() == end.block());
        tail_call.unwrap_or(end)
    };
    let ends = function.blocks().filter_map(|block| block.terminator());
    ends.filter(|end| end.is(Opcode::LLVMRet)).map(of_block).collect()
}

fn copy(builder: &Builder, of: Type, (to, to_alignment): (Value, u32), (from, from_alignment): (Value, u32)) {
    if of.is_pointer() {
        // One word is a plain root, whose loads and stores are followed.
        builder.store(builder.load(of, from), to);
    } else {
        builder.copy((to, to_alignment), (from, from_alignment), builder.module().size_of(of));
    }
}

/// Removes promises that no longer hold. The function itself now writes to memory that it may only have read, or that
/// its callees wrote; and calls that got the caller's memory now get a variable of this frame, which a call marked
/// `tail` must not touch.
fn forget_promises(function: Value, parameter: Value) {
    let index = parameter.parameter_index().expect("a parameter");
    for promise in ["readonly", "readnone", "initializes"] {
        function.remove_attribute(Position::Parameter(index), promise);
    }
    function.remove_attribute(Position::Function, "memory");
    for call in function.calls().filter(|call| !call.is_invoke() && !call.is_musttail()) {
        call.forget_tail();
    }
}
