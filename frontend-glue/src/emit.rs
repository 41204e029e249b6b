//! From a module to the bytes of an ELF object, ready for the linker and for the JIT alike.
//!
//! Both ways of running a program begin with these same bytes, so that a test of one also holds for the other.

pub(crate) mod appending;
pub(crate) mod callee_copy;
pub(crate) mod compact_maps;
pub mod constructors;
mod data_layout;
pub(crate) mod heap_tests;
pub mod landing_pads;
pub mod level;
pub(crate) mod loop_alignment;
pub mod object_file;
pub(crate) mod shadow_stack;
pub(crate) mod sibling_calls;
pub(crate) mod sunk_roots;
pub mod target;
pub mod thread_locals;
pub(crate) mod undefined_symbols;
pub(crate) mod zeal_default;

use std::ptr;

use inkwell::llvm_sys::target_machine::{LLVMCodeGenFileType, LLVMTargetMachineEmitToMemoryBuffer};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use thiserror::Error;

use crate::emit::object_file::{MapFormat, ObjectError};
use crate::guard::messages;
use crate::guard::out_of_memory::Emitting;
use crate::llvm::{Module as Ir, owned_message};

/// Why no object was made.
#[derive(Debug, Error)]
pub enum EmitError {
    /// The code generator reported errors (inline assembly it cannot parse, for instance).
    #[error("LLVM cannot generate code: {}", .0.trim_end())]
    CodeGeneration(String),
    /// The object is larger than the memory that is left.
    #[error("{}", crate::guard::out_of_memory::NO_ROOM_FOR_OBJECT)]
    OutOfMemory,
    /// The object could not be finished.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// The form in which code is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// An ELF object.
    #[default]
    Object,
    /// Text for an assembler, with LLVM's stack maps, which it makes read-only.
    Assembly,
    /// The module from which code would be made, as bitcode.
    Bitcode,
    /// The same as text.
    Text,
}

/// The module itself, if that is the form; `None` if code is to be made of it.
pub(crate) fn module_as(module: &Module, form: Form) -> Option<Vec<u8>> {
    match form {
        Form::Object | Form::Assembly => None,
        Form::Bitcode => {
            callee_copy::for_other_tools(module);
            Some(module.write_bitcode_to_memory().as_slice().to_vec())
        }
        Form::Text => {
            callee_copy::for_other_tools(module);
            Some(module.print_to_string().to_bytes().to_vec())
        }
    }
}

/// Generates code for a module, as text for an assembler.
pub(crate) fn assembly(module: &Module, machine: &TargetMachine) -> Result<Vec<u8>, EmitError> {
    make_ready(module);
    generate(module, machine, LLVMCodeGenFileType::LLVMAssemblyFile)
}

/// Generates code for a module and finishes the object.
pub fn object(module: &Module, machine: &TargetMachine) -> Result<Vec<u8>, EmitError> {
    object_as(module, machine, MapFormat::Compact)
}

/// The same with stack maps in that format.
pub(crate) fn object_as(module: &Module, machine: &TargetMachine, maps: MapFormat) -> Result<Vec<u8>, EmitError> {
    make_ready(module);
    let mut bytes = generate(module, machine, LLVMCodeGenFileType::LLVMObjectFile)?;
    object_file::finish_as(&mut bytes, maps)?;
    Ok(bytes)
}

fn make_ready(module: &Module) {
    callee_copy::before_code_generation(Ir::of(module));
    shadow_stack::make_ready(Ir::of(module));
    landing_pads::keep_exceptions(module);
}

/// The bytes that LLVM's code generator makes of a module.
fn generate(module: &Module, machine: &TargetMachine, kind: LLVMCodeGenFileType) -> Result<Vec<u8>, EmitError> {
    let buffer = buffer_of(module, machine, kind)?;
    if let Some(message) = messages::take_errors() {
        return Err(EmitError::CodeGeneration(message));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(buffer.as_slice().len()).map_err(|_| EmitError::OutOfMemory)?;
    bytes.extend_from_slice(buffer.as_slice());
    Ok(bytes)
}

/// Without inkwell, which assumes that there is memory for the object.
fn buffer_of(
    module: &Module,
    machine: &TargetMachine,
    kind: LLVMCodeGenFileType,
) -> Result<MemoryBuffer<'static>, EmitError> {
    let _emitting = Emitting::begin();
    let (mut message, mut buffer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: machine and module are alive, and both places are written before they are read.
    let failed = unsafe {
        LLVMTargetMachineEmitToMemoryBuffer(machine.as_mut_ptr(), module.as_mut_ptr(), kind, &mut message, &mut buffer)
    };
    if failed != 0 {
        return Err(EmitError::CodeGeneration(owned_message(message)));
    }
    if buffer.is_null() {
        return Err(EmitError::OutOfMemory);
    }
    // SAFETY: LLVM has made the buffer, which is ours.
    Ok(unsafe { MemoryBuffer::new(buffer) })
}

/// The object of a module of text.
#[cfg(test)]
pub(crate) fn object_of_text(text: &str, level: level::Level) -> Vec<u8> {
    let context = inkwell::context::Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
    let module = context.create_module_from_ir(buffer).expect("valid IR");
    object(&module, &target::machine(level).expect("a machine")).expect("an object")
}
