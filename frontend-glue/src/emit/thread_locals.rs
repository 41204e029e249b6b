//! Thread-local variables of a program that will run in this process: each access becomes a call.
//!
//! An executable's loader gives every thread its copy; ORC has no such loader here. So just before emission a
//! variable becomes a constant that describes its copies, and `llvm.threadlocal.address` a call that finds or makes
//! the thread's copy (`jit/thread_storage.rs`):
//!
//! ```text
//!   @count = thread_local global i32 4       @tally.tls.count = global { i64 4, i64 4, ptr @initial, i64 0 }
//!   call ptr @llvm.threadlocal.address(      call ptr @tally.thread_local(ptr @tally.tls.count)
//!       ptr @count)                            size, align, first content (null: zeros), number
//! ```
//!
//! The constant has the variable's linkage, so that modules find each other's. The call runs no epoch and needs no
//! bundle. A variable with other uses (old IR names it as it names any global) is refused, by name. So is Tally's own
//! context, which modules that were lowered for executables name.

use std::path::Path;

use inkwell::llvm_sys::core::LLVMIsNull;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetMachine;
use inkwell::types::BasicType;
use inkwell::values::{AnyValueEnum, AsValueRef, BasicValue, GlobalValue, InstructionOpcode, InstructionValue};
use thiserror::Error;

/// A thread-local variable that cannot be supported.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "{file}: `tally run` supports the thread-local variable `{variable}` only through llvm.threadlocal.address; use `tally build`"
)]
pub struct ThreadLocalError {
    /// The module's file.
    pub file: String,
    /// The variable.
    pub variable: String,
}

/// The function that replaced accesses call; the JIT defines it.
pub const ADDRESS: &str = "tally.thread_local";

/// Prefix of the name of a variable's description.
pub(crate) const DESCRIPTION: &str = "tally.tls.";

/// Replaces the thread-local variables of `module`.
pub fn replace(module: &Module, file: &Path, machine: &TargetMachine) -> Result<(), ThreadLocalError> {
    for variable in module.get_globals().filter(|global| global.is_thread_local()).collect::<Vec<_>>() {
        let name = variable.get_name().to_string_lossy().into_owned();
        let used = variable.as_pointer_value().get_first_use().is_some();
        let refused = || ThreadLocalError { file: file.display().to_string(), variable: name.clone() };
        if name == "tally_context" && used {
            return Err(refused());
        }
        let description = describe(module, variable, &name, machine);
        while let Some(user) = variable.as_pointer_value().get_first_use() {
            let access = access(user.get_user()).ok_or_else(refused)?;
            call_instead(module, access, description);
        }
        // SAFETY: nothing uses it.
        unsafe { variable.delete() };
    }
    Ok(())
}

/// The constant that takes a variable's place.
fn describe<'c>(module: &Module<'c>, of: GlobalValue<'c>, name: &str, machine: &TargetMachine) -> GlobalValue<'c> {
    let context = module.get_context();
    let (word, pointer) = (context.i64_type(), context.ptr_type(inkwell::AddressSpace::default()));
    let shape = context.struct_type(&[word.into(), word.into(), pointer.into(), word.into()], false);
    let description = module.add_global(shape, None, &format!("{DESCRIPTION}{name}"));
    description.set_linkage(of.get_linkage());
    description.set_visibility(of.get_visibility());
    let Some(content) = of.get_initializer().filter(|_| of.get_linkage() != Linkage::AvailableExternally) else {
        description.set_linkage(Linkage::External);
        return description;
    };
    // SAFETY: asks about a constant.
    let first_content = match unsafe { LLVMIsNull(content.as_value_ref()) } {
        0 => {
            let constant = module.add_global(content.get_type().as_basic_type_enum(), None, "tally.tls.initial");
            constant.set_linkage(Linkage::Private);
            constant.set_constant(true);
            constant.set_initializer(&content);
            constant.as_pointer_value()
        }
        _ => pointer.const_null(),
    };
    let layout = machine.get_target_data();
    let size = layout.get_abi_size(&content.get_type());
    let align = layout.get_preferred_alignment_of_global(&of).max(of.get_alignment()).max(1);
    let words = [size, u64::from(align)].map(|value| word.const_int(value, false));
    let fields = [words[0].into(), words[1].into(), first_content.into(), word.const_zero().into()];
    description.set_initializer(&shape.const_named_struct(&fields));
    description
}

/// A use that is a call of `llvm.threadlocal.address`.
fn access(user: AnyValueEnum<'_>) -> Option<InstructionValue<'_>> {
    let AnyValueEnum::PointerValue(result) = user else { return None };
    let call = result.as_instruction().filter(|user| user.get_opcode() == InstructionOpcode::Call)?;
    let callee = call.get_operand(call.get_num_operands() - 1)?.value()?.into_pointer_value();
    callee.get_name().to_bytes().starts_with(b"llvm.threadlocal.address").then_some(call)
}

fn call_instead<'c>(module: &Module<'c>, access: InstructionValue<'c>, description: GlobalValue<'c>) {
    let context = module.get_context();
    let pointer = context.ptr_type(inkwell::AddressSpace::default());
    let function = module
        .get_function(ADDRESS)
        .unwrap_or_else(|| module.add_function(ADDRESS, pointer.fn_type(&[pointer.into()], false), None));
    let builder = context.create_builder();
    builder.position_before(&access);
    let call = builder.build_call(function, &[description.as_pointer_value().into()], "").expect("a call fits here");
    let result = call.try_as_basic_value().basic().and_then(|value| value.as_instruction_value()).expect("a call");
    access.replace_all_uses_with(&result);
    access.erase_from_basic_block();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::level::Level;
    use crate::emit::target;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    fn replaced(text: &str) -> Result<String, ThreadLocalError> {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        replace(&module, Path::new("m.ll"), &target::machine(Level::O1).unwrap())?;
        module.verify().unwrap();
        Ok(module.print_to_string().to_string())
    }

    #[test]
    fn access_becomes_a_call_and_the_variable_a_description() {
        let text = "@idle = external thread_local global i32\n@count = internal thread_local global i32 4, align 64\n\
            define ptr @f() {\n  %p = call ptr @llvm.threadlocal.address.p0(ptr @count)\n  ret ptr %p\n}\n";
        let text = replaced(text).unwrap();
        assert!(text.contains("@tally.tls.count = internal global { i64, i64, ptr, i64 } { i64 4, i64 64, ptr @tally.tls.initial, i64 0 }"), "{text}");
        assert!(text.contains("call ptr @tally.thread_local(ptr @tally.tls.count)"), "{text}");
        assert!(!text.contains("thread_local global"), "{text}");
    }

    #[test]
    fn use_that_names_the_variable_itself_is_refused() {
        let text =
            "@count = thread_local global i32 0\ndefine i32 @f() {\n  %x = load i32, ptr @count\n  ret i32 %x\n}\n";
        assert_eq!(replaced(text).unwrap_err().variable, "count");
    }
}
