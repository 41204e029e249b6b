//! The lowering of modules that the host optimises and compiles itself.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;
use tally_llvm::emit::{landing_pads, target};
use tally_llvm::pipeline::other_tools::{self, Next};
use tally_llvm::pipeline::{self, CompileError, CompileOptions, Destination};

use crate::diagnostics::{Findings, ended};
use crate::options::given;

const FOR_LINKER: u32 = 0;
const FOR_THIS_PROCESS: u32 = 1;

/// A module that stays the caller's, and its name.
///
/// # Safety
/// A module that is alive.
pub(crate) unsafe fn lent<'a>(module: LLVMModuleRef) -> (ManuallyDrop<Module<'a>>, PathBuf) {
    // SAFETY: the caller's duty.
    let module = ManuallyDrop::new(unsafe { Module::new(module) });
    let name = PathBuf::from(module.get_name().to_string_lossy().into_owned());
    (module, name)
}

/// Does the work of a function that gets a module and options.
///
/// # Safety
/// A module that is alive, options that were created or null, and a place for findings or null.
pub(crate) unsafe fn with_module(
    module: LLVMModuleRef,
    options: *const CompileOptions,
    found: *mut *mut Findings,
    work: impl FnOnce(&Module, &Path, CompileOptions) -> Result<Findings, Findings>,
) -> i32 {
    // SAFETY: the caller's duty.
    let (module, name) = unsafe { lent(module) };
    // SAFETY: the caller's duty.
    let options = unsafe { given(options) };
    // SAFETY: the caller's duty.
    unsafe { ended(found, || work(&module, &name, options)) }
}

/// # Safety
/// A module that is alive, options that were created or null, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_verify_module(
    module: LLVMModuleRef,
    options: *const CompileOptions,
    found: *mut *mut Findings,
) -> i32 {
    let verify = |module: &Module, name: &Path, options: CompileOptions| {
        let machine = target::machine(options.level).map_err(CompileError::Target)?;
        pipeline::accept(module, name, &machine)?;
        let findings = pipeline::inspect(module, name, &options);
        match findings.errors.is_empty() {
            true => Ok(Findings::warnings(&findings.warnings)),
            false => Err(CompileError::Contract(findings.errors).into()),
        }
    };
    // SAFETY: the caller's duty.
    unsafe { with_module(module, options, found, verify) }
}

/// # Safety
/// As for `tally_verify_module`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_lower_module(
    module: LLVMModuleRef,
    options: *const CompileOptions,
    destination: u32,
    found: *mut *mut Findings,
) -> i32 {
    let lower = |module: &Module, name: &Path, options: CompileOptions| {
        let destination = match destination {
            FOR_LINKER => Destination::LinkedImage,
            FOR_THIS_PROCESS => Destination::ThisProcess,
            other => return Err(Findings::error(format!("no destination has the number {other}"))),
        };
        let options = CompileOptions { destination, ..options };
        let lowered = other_tools::lower(module, name, &options, Next::Nothing)?;
        Ok(Findings::warnings(&lowered.warnings))
    };
    // SAFETY: the caller's duty.
    unsafe { with_module(module, options, found, lower) }
}

/// # Safety
/// As for `tally_verify_module`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_finish_module(
    module: LLVMModuleRef,
    options: *const CompileOptions,
    found: *mut *mut Findings,
) -> i32 {
    let finish = |module: &Module, name: &Path, options: CompileOptions| {
        other_tools::finish(module, name, options.level, true)?;
        other_tools::before_code(module, name)?;
        landing_pads::keep_exceptions(module);
        Ok(Findings::default())
    };
    // SAFETY: the caller's duty.
    unsafe { with_module(module, options, found, finish) }
}
