//! Gives a called pointer a register of its own, because LLVM calls the wrong pointer otherwise.
//!
//! Where a call with a `"deopt"` bundle, or a statepoint, calls an element of an aggregate (a closure passed or returned as
//! `{ environment, code }`), the code generator of LLVM 22 calls the aggregate's *first* element, at every level: it
//! forgets which result of the node it was (`LowerAsSTATEPOINT`; llvm-project issue 207508). So such a pointer goes
//! through
//!
//! ```text
//!   %copy = call ptr asm "", "=r,0"(ptr %callee)      no instruction, one result
//! ```
//!
//! which hides its origin from LLVM. That would also hide a function which the optimiser could discover and inline;
//! so `emit.rs` does it after all passes. Other tools compile the output of `tally lower`: there every pointer is
//! copied at once, since a later pass can turn it into an element (when it takes a struct to registers).

use crate::llvm::call::DEOPT;
use crate::llvm::{Builder, Module, Opcode, Value};
use crate::lower::LOWERED_FLAG;
use crate::verify::source::foreign::STATEPOINT;

/// The argument of a statepoint that is called.
const STATEPOINT_CALLEE: u32 = 2;

/// Copies the callees that LLVM would confuse, in a module that goes only to the code generator from now on.
pub(crate) fn before_code_generation(module: Module) {
    copy_where(module, |callee| !is_one_result(callee));
}

/// Copies all callees that passes might turn into such elements.
pub(crate) fn for_other_tools(module: &inkwell::module::Module) {
    let is_copy = |callee: Value| callee.as_call().is_some_and(|call| call.callee().is_inline_asm());
    copy_where(Module::of(module), |callee| !is_copy(callee));
}

fn copy_where(module: Module, wanted: impl Fn(Value) -> bool) {
    if !module.has_flag(LOWERED_FLAG) {
        return;
    }
    let builder = Builder::new(module);
    for function in module.functions().filter(|function| function.has_body()) {
        for call in function.instructions().into_iter().filter_map(Value::as_call) {
            let is_statepoint = call.callee().intrinsic_id() != 0 && call.callee().name().starts_with(STATEPOINT);
            let callee = if is_statepoint { call.argument(STATEPOINT_CALLEE) } else { call.callee() };
            let is_pointer = !callee.is_constant() && !callee.is_inline_asm();
            if is_pointer && wanted(callee) && (is_statepoint || call.bundle(DEOPT).is_some()) {
                builder.before(call.value());
                let copy = builder.opaque_copy(callee);
                match is_statepoint {
                    true => call.set_argument(STATEPOINT_CALLEE, copy),
                    false => call.set_callee(copy),
                }
            }
        }
    }
}

/// Whether the callee is known to become a node with one result, or its first: any other callee is copied, which
/// costs nothing.
fn is_one_result(callee: Value) -> bool {
    match callee.opcode() {
        None => callee.is_argument(),
        Some(Opcode::LLVMLoad | Opcode::LLVMPHI | Opcode::LLVMSelect) => true,
        // An intrinsic may only be another name for its argument.
        Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
            let called = callee.as_call().expect("a call").callee();
            !called.is_function() || called.intrinsic_id() == 0
        }
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    const CALLS: &str = "
declare { ptr, ptr } @both()
declare ptr @llvm.launder.invariant.group.p0(ptr)
define void @f({ ptr, ptr } %pair, ptr %plain, ptr %table) {
  %element = extractvalue { ptr, ptr } %pair, 1
  call void %element() [ \"deopt\"() ]
  %renamed = call ptr @llvm.launder.invariant.group.p0(ptr %element)
  call void %renamed() [ \"deopt\"() ]
  call void %element()
  call void %plain() [ \"deopt\"() ]
  %loaded = load ptr, ptr %table
  call void %loaded() [ \"deopt\"() ]
  call void @g() [ \"deopt\"() ]
  ret void
}
declare void @g()
";

    fn copies(act: impl Fn(&inkwell::module::Module)) -> usize {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(CALLS.as_bytes(), "calls.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        Module::of(&module).set_flag(LOWERED_FLAG, 1);
        act(&module);
        module.verify().unwrap();
        module.print_to_string().to_string().matches("asm \"\", \"=r,0\"").count()
    }

    #[test]
    fn elements_of_aggregates_are_copied_and_plain_pointers_only_for_other_tools() {
        assert_eq!(copies(|module| before_code_generation(Module::of(module))), 2);
        assert_eq!(copies(for_other_tools), 4);
    }
}
