//! Objects and executables of modules, by the stages of `tally build`.

use std::ffi::{CStr, OsStr, c_char};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;
use tally_llvm::aot;
use tally_llvm::aot::link_line::Image;
use tally_llvm::emit::target::Target;
use tally_llvm::pipeline::{self, CompileOptions, Destination, Object};

use crate::diagnostics::{Findings, ended};
use crate::lowering::{lent, with_module};
use crate::options::given;

/// # Safety
/// A C string.
unsafe fn path<'a>(name: *const c_char) -> &'a Path {
    // SAFETY: the caller's duty.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

fn warnings(objects: &[Object]) -> Findings {
    Findings::warnings(&objects.iter().flat_map(|object| object.warnings.clone()).collect::<Vec<_>>())
}

/// # Safety
/// A module that is alive, options that were created or null, a C string, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_emit_object(
    module: LLVMModuleRef,
    options: *const CompileOptions,
    file: *const c_char,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let file = unsafe { path(file) };
    let emit = |module: &Module, name: &Path, options: CompileOptions| {
        let options = CompileOptions { destination: Destination::LinkedImage, ..options };
        let objects = pipeline::compile_modules(std::slice::from_ref(module), &[name.to_owned()], &options)?;
        let written = objects.iter().try_for_each(|object| std::fs::write(file, &object.bytes));
        written.map_err(|error| Findings::error(format!("{}: {error}", file.display())))?;
        Ok(warnings(&objects))
    };
    // SAFETY: the caller's duty.
    unsafe { with_module(module, options, found, emit) }
}

/// # Safety
/// As many modules that are alive as are counted, options that were created or null, a C string, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_link(
    modules: *const LLVMModuleRef,
    count: usize,
    options: *const CompileOptions,
    executable: *const c_char,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let raw = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(modules, count) } };
    // SAFETY: the caller's duty.
    let lent_ones = raw.iter().map(|&module| unsafe { lent(module) });
    let (modules, names): (Vec<Module>, Vec<PathBuf>) =
        lent_ones.map(|(module, name)| (ManuallyDrop::into_inner(module), name)).unzip();
    // They are the caller's.
    let modules = ManuallyDrop::new(modules);
    // SAFETY: the caller's duty.
    let options = CompileOptions { destination: Destination::Executable, ..unsafe { given(options) } };
    // SAFETY: the caller's duty.
    let executable = unsafe { path(executable) };
    let link = || {
        let objects = pipeline::compile_modules(&modules, &names, &options)?;
        aot::link(&objects, &[], &Image::executable(Target::host()), executable).map_err(Findings::error)?;
        Ok(warnings(&objects))
    };
    // SAFETY: the caller's duty.
    unsafe { ended(found, link) }
}
