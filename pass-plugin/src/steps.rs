//! The steps of a compilation, as the passes call them: a module in, findings out, no panic across the border.

use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use inkwell::module::Module;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::object_file;
use tally_llvm::pipeline::other_tools::{self, Next};
use tally_llvm::pipeline::{CompileError, CompileOptions, option_text};

use crate::report::{Report, Reports};

/// What `passes.cpp` calls `TallySteps`.
#[repr(C)]
pub(crate) struct Steps {
    lower: unsafe extern "C" fn(LLVMModuleRef, *const c_char, u32, bool, Report, LLVMModuleRef) -> c_int,
    join: unsafe extern "C" fn(LLVMModuleRef, Report, LLVMModuleRef) -> c_int,
    finish: unsafe extern "C" fn(LLVMModuleRef, u32, bool, Report, LLVMModuleRef) -> c_int,
    before_code: unsafe extern "C" fn(LLVMModuleRef, Report, LLVMModuleRef) -> c_int,
    finish_object: unsafe extern "C" fn(*mut u8, usize, *const c_char),
}

pub(crate) static STEPS: Steps = Steps { lower, join, finish, before_code, finish_object };

const UNTOUCHED: c_int = 0;
const OURS: c_int = 1;
const REFUSED: c_int = -1;

/// The variable with options for tools whose command line cannot be changed.
const OPTIONS: &str = "TALLY_PASS";

/// # Safety
/// A module of the calling thread, a C string, and a function that takes findings about that module.
unsafe extern "C" fn lower(
    module: LLVMModuleRef,
    words: *const c_char,
    level: u32,
    is_finished: bool,
    report: Report,
    context: LLVMModuleRef,
) -> c_int {
    // SAFETY: the caller's duty.
    let words = unsafe { CStr::from_ptr(words) }.to_string_lossy();
    let next = if is_finished { Next::Finish } else { Next::Nothing };
    let step = |module: &Module, name: &PathBuf, reports: &Reports| {
        let mut options = CompileOptions { level: self::level(level), warns: true, ..CompileOptions::default() };
        let of_environment = std::env::var(OPTIONS).unwrap_or_default();
        let read = option_text::read(&of_environment, &mut options).map_err(|wrong| format!("{OPTIONS}: {wrong}"));
        read.and_then(|()| option_text::read(&words, &mut options)).map_err(Failure::Words)?;
        let lowered = other_tools::lower(module, name, &options, next).map_err(Failure::Program)?;
        lowered.warnings.iter().for_each(|warning| reports.warning(warning));
        Ok(lowered.touched)
    };
    // SAFETY: the caller's duty.
    unsafe { run(module, report, context, step) }
}

/// # Safety
/// As for `lower`.
unsafe extern "C" fn join(module: LLVMModuleRef, report: Report, context: LLVMModuleRef) -> c_int {
    let step = |module: &Module, name: &PathBuf, _: &Reports| Ok(other_tools::join(module, name));
    // SAFETY: the caller's duty.
    unsafe { run(module, report, context, step) }
}

/// # Safety
/// As for `lower`.
unsafe extern "C" fn finish(
    module: LLVMModuleRef,
    level: u32,
    is_last: bool,
    report: Report,
    context: LLVMModuleRef,
) -> c_int {
    let step = |module: &Module, name: &PathBuf, _: &Reports| {
        other_tools::finish(module, name, self::level(level), is_last).map_err(Failure::Program)
    };
    // SAFETY: the caller's duty.
    unsafe { run(module, report, context, step) }
}

/// # Safety
/// As for `lower`.
unsafe extern "C" fn before_code(module: LLVMModuleRef, report: Report, context: LLVMModuleRef) -> c_int {
    let step =
        |module: &Module, name: &PathBuf, _: &Reports| other_tools::before_code(module, name).map_err(Failure::Program);
    // SAFETY: the caller's duty.
    unsafe { run(module, report, context, step) }
}

/// # Safety
/// As many bytes, of an object, and a C string.
unsafe extern "C" fn finish_object(bytes: *mut u8, size: usize, words: *const c_char) {
    // SAFETY: the caller's duty.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, size) };
    // SAFETY: the caller's duty.
    let words = unsafe { CStr::from_ptr(words) }.to_string_lossy();
    // The lowering has read the options, and has told what is wrong in them.
    let mut options = CompileOptions::default();
    let of_environment = std::env::var(OPTIONS).unwrap_or_default();
    let _ = option_text::read(&of_environment, &mut options).and_then(|()| option_text::read(&words, &mut options));
    let finish = || object_file::finish_as(bytes, options.maps);
    // What cannot be read is left as LLVM has made it.
    let _ = catch_unwind(AssertUnwindSafe(finish));
}

enum Failure {
    Program(CompileError),
    /// Options that are not understood.
    Words(String),
}

/// Runs a step, reports its failure, and returns what the passes do next.
///
/// # Safety
/// As for `lower`.
unsafe fn run(
    module: LLVMModuleRef,
    report: Report,
    context: LLVMModuleRef,
    step: impl FnOnce(&Module, &PathBuf, &Reports) -> Result<bool, Failure>,
) -> c_int {
    // SAFETY: the caller's module, which stays the caller's: it is not dropped here.
    let module = ManuallyDrop::new(unsafe { Module::new(module) });
    let name = PathBuf::from(module.get_name().to_string_lossy().into_owned());
    let reports = Reports::new(report, context);
    match catch_unwind(AssertUnwindSafe(|| step(&module, &name, &reports))) {
        Ok(Ok(true)) => return OURS,
        Ok(Ok(false)) => return UNTOUCHED,
        Ok(Err(Failure::Program(error))) => match error.findings() {
            Some(findings) => findings.iter().for_each(|finding| reports.error(finding)),
            None => reports.text(&error.to_string()),
        },
        Ok(Err(Failure::Words(wrong))) => reports.text(&wrong),
        Err(_) => reports.text("the lowering stopped by a defect of its own, which is printed above: report it"),
    }
    REFUSED
}

/// The level of a tool's pipeline.
fn level(number: u32) -> Level {
    match number {
        0 => Level::O0,
        1 => Level::O1,
        2 => Level::O2,
        3 => Level::O3,
        _ => Level::Os,
    }
}
