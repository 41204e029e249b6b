//! From a module to the bytes of an ELF object, ready for the linker and for the JIT alike.
//!
//! Both ways of running a program begin with these same bytes, so that what is tested under one is
//! true of the other.

use inkwell::module::Module;
use inkwell::targets::{FileType, TargetMachine};
use thiserror::Error;

use crate::llvm::Module as Ir;
use crate::object_file::{self, ObjectError};
use crate::{callee_copy, llvm_messages};

/// Why no object came out.
#[derive(Debug, Error)]
pub enum EmitError {
    /// The code generator reported errors (inline assembly it cannot parse, for instance).
    #[error("LLVM cannot generate code: {}", .0.trim_end())]
    CodeGeneration(String),
    /// The object could not be finished.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// Generates code for a module and finishes the object.
pub fn object(module: &Module, machine: &TargetMachine) -> Result<Vec<u8>, EmitError> {
    callee_copy::before_code_generation(Ir::of(module));
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Object)
        .map_err(|message| EmitError::CodeGeneration(message.to_string()))?;
    if let Some(message) = llvm_messages::take_errors() {
        return Err(EmitError::CodeGeneration(message));
    }
    let mut bytes = buffer.as_slice().to_vec();
    object_file::finish(&mut bytes)?;
    Ok(bytes)
}
