//! The stages as steps of a compiler that is not ours: clang, `opt`, a linker with link-time optimisation, a host over LLVM's C API.
//!
//! Such a tool loads, optimises and emits by itself. It must call [`lower()`] before its first pass and [`finish`] after its last, and
//! [`before_code`] just before it generates code, if it can. A tool that only calls [`lower()`] makes right code too, if it says so:
//! then the pointers that LLVM's code generator would confuse are hidden at once (`callee_copy`).
//!
//! A linker with link-time optimisation calls [`join`] before it inlines, and [`finish`].
//!
//! A host that compiles and links by our own stages has [`compile_modules`](super::compile_modules).
//!
//! Each step leaves a module without anything of Tally as it is.

use std::path::{Path, PathBuf};

use inkwell::module::Module;

use super::{CompileError, CompileOptions, Identity, agree, check, inspect, is_lowered, lower as lower_module, polish};
use crate::diagnostic::Diagnostic;
use crate::emit::level::Level;
use crate::emit::{appending, callee_copy, shadow_stack, target, zeal_default};
use crate::guard::crash_net::WorkingOn;
use crate::load::{self, c_header};
use crate::lower::{self, Remark, joined};
use crate::pipeline::whole_program;
use crate::verify::source::machine_code;

/// The result of a lowering.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// Whether there was anything for Tally in the module, and it was not lowered before.
    pub touched: bool,
    /// The findings of the verifier, if they were asked for.
    pub warnings: Vec<Diagnostic>,
    /// Counts that the prompt plan saved, and objects that are on the stack.
    pub remarks: Vec<Remark>,
}

/// The steps that follow a lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The tool calls [`finish`] after its passes.
    Finish,
    /// Nothing of ours: the tool's output goes anywhere.
    Nothing,
}

/// Lowers a module in place, as one that is compiled alone.
///
/// # Errors
/// The faults of the module. It is in no state to be compiled then.
pub fn lower(module: &Module, name: &Path, options: &CompileOptions, next: Next) -> Result<Lowered, CompileError> {
    let _working = WorkingOn::file(name);
    let (one, names) = (std::slice::from_ref(module), [PathBuf::from(name)]);
    if is_lowered(module) {
        return Ok(Lowered::default());
    }
    let raw = crate::llvm::Module::of(module);
    if !c_header::is_included(module) && !whole_program::has_a_heap(one, &options.gc_names) {
        return Ok(Lowered::default());
    }
    load::accept(module, name, &target::machine_for(module, options.level)?)?;
    let options = CompileOptions { identity: Identity::Content, ..agree(one, &names, options)? };
    let warnings = if options.warns { inspect(module, name, &options).warnings } else { Vec::new() };
    let remarks = lower_module(module, name, &options)?;
    if !is_lowered(module) {
        return Ok(Lowered { touched: true, ..Lowered::default() });
    }
    if options.zeal {
        zeal_default::add_to_list(module);
    }
    appending::tidy_structors(raw);
    if next == Next::Nothing {
        callee_copy::for_other_tools(module);
    }
    Ok(Lowered { touched: true, warnings, remarks })
}

/// Makes one of a module that a linker has put together, or has imported code into, before its first inlining: some of it may come from
/// files without anything of Tally. Returns whether it has changed.
pub fn join(module: &Module, name: &Path) -> bool {
    let _working = WorkingOn::file(name);
    let raw = crate::llvm::Module::of(module);
    lower::plan_of_lowered(raw).is_some_and(|plan| joined::join(raw, plan, &name.to_string_lossy()))
}

/// Checks a module after the tool's passes, and does what those do not. `is_last` says that code is generated from it, rather than
/// bitcode for a linker. Returns whether it is one of Tally's.
///
/// # Errors
/// A root could get lost.
pub fn finish(module: &Module, name: &Path, level: Level, is_last: bool) -> Result<bool, CompileError> {
    if !is_lowered(module) {
        return Ok(false);
    }
    let _working = WorkingOn::file(name);
    if is_last && level.passes().is_some() {
        polish(module, name)?;
    } else {
        check(module, name, "optimisation")?;
    }
    callee_copy::for_other_tools(module);
    Ok(true)
}

/// Makes a module ready for LLVM's code generator. Returns whether it is one of Tally's.
///
/// # Errors
/// The functions of which no code can be made.
pub fn before_code(module: &Module, name: &Path) -> Result<bool, CompileError> {
    if !is_lowered(module) {
        return Ok(false);
    }
    let raw = crate::llvm::Module::of(module);
    let errors = machine_code::all_errors(raw, &name.to_string_lossy());
    if !errors.is_empty() {
        return Err(CompileError::Contract(errors));
    }
    callee_copy::before_code_generation(raw);
    shadow_stack::make_ready(raw);
    Ok(true)
}
