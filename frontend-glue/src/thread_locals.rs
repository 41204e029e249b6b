//! Thread-local variables of a program that is to run in this process: refused, by name.
//!
//! An executable's loader gives every thread its copy; ORC has no such loader here, and what LLVM
//! would make of the variable without one (emulated thread-local storage) needs a library that is
//! not in the process. A clear word before the linker's unclear one. Tally's own thread-local
//! context is not concerned: for the JIT the lowering reaches it by its distance from the thread
//! pointer.

use std::path::Path;

use inkwell::module::Module;
use inkwell::values::BasicValue;
use thiserror::Error;

/// A thread-local variable where there can be none.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}: thread-local variable `{variable}` is not supported by `tally run`; use `tally build`")]
pub struct ThreadLocalError {
    /// The module's file.
    pub file: String,
    /// The variable.
    pub variable: String,
}

/// Looks for thread-local variables that `module` uses.
pub fn refuse(module: &Module, file: &Path) -> Result<(), ThreadLocalError> {
    let used = |global: &inkwell::values::GlobalValue| {
        global.is_thread_local() && global.as_pointer_value().get_first_use().is_some()
    };
    match module.get_globals().find(used) {
        None => Ok(()),
        Some(global) => Err(ThreadLocalError {
            file: file.display().to_string(),
            variable: global.get_name().to_string_lossy().into_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    #[test]
    fn a_used_thread_local_is_named() {
        let text = "@idle = external thread_local global i32\n@count = thread_local global i32 0\n\
            define ptr @f() {\n  %p = call ptr @llvm.threadlocal.address.p0(ptr @count)\n  ret ptr %p\n}\n";
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "m.ll");
        let module = context.create_module_from_ir(buffer).unwrap();
        assert_eq!(refuse(&module, Path::new("m.ll")).unwrap_err().variable, "count");
    }
}
