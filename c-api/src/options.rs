//! The options of a compilation.

use std::ffi::{CStr, c_char};

use tally_llvm::pipeline::{CompileOptions, option_text};

use crate::diagnostics::{Findings, ended};

/// Options as those of the command are by themselves.
#[unsafe(no_mangle)]
pub extern "C" fn tally_options_create() -> *mut CompileOptions {
    Box::into_raw(Box::new(of_the_command()))
}

/// # Safety
/// Options that were created and not disposed of, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_options_dispose(options: *mut CompileOptions) {
    if !options.is_null() {
        // SAFETY: the caller's duty; `tally_options_create` has made the box.
        drop(unsafe { Box::from_raw(options) });
    }
}

/// # Safety
/// Options that were created, a C string, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_options_read(
    options: *mut CompileOptions,
    words: *const c_char,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let options = unsafe { &mut *options };
    // SAFETY: the caller's duty.
    let words = unsafe { CStr::from_ptr(words) }.to_string_lossy();
    let read = || option_text::read(&words, options).map(|()| Findings::default()).map_err(Findings::error);
    // SAFETY: the caller's duty.
    unsafe { ended(found, read) }
}

/// The options that a function was given; those of the command for null.
///
/// # Safety
/// Options that were created, or null.
pub(crate) unsafe fn given(options: *const CompileOptions) -> CompileOptions {
    // SAFETY: the caller's duty.
    let options = unsafe { options.as_ref() };
    options.cloned().unwrap_or_else(of_the_command)
}

fn of_the_command() -> CompileOptions {
    CompileOptions { warns: true, ..CompileOptions::default() }
}
