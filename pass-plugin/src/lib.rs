//! The pass plugin: `libtally_pass.so`, by which tools of LLVM 22 lower gc functions themselves.
//!
//! ```text
//!   opt-22 -load-pass-plugin=libtally_pass.so -passes=tally-lower     clang-22 -O2 -fpass-plugin=libtally_pass.so
//! ```
//!
//! LLVM loads the library and calls [`llvmGetPassPluginInfo`]. The passes are C++ (`passes.cpp`), because LLVM's registers of passes,
//! diagnostics and printers are; they call back the steps below, which are those of [`tally_llvm::pipeline::other_tools`].
//! A module belongs to the tool and to the thread that gives it: a linker runs several at once.

mod report;
mod steps;

use std::ffi::{c_char, c_int, c_void};

use steps::{STEPS, Steps};
use tally_llvm::guard::loaded_llvm;

/// LLVM's `PassPluginLibraryInfo`, version 2 (`passes.cpp` asserts its size).
#[repr(C)]
#[derive(Debug)]
pub struct PassPluginLibraryInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: unsafe extern "C" fn(*mut c_void),
    before_code: unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *mut c_void) -> bool,
}

const API_VERSION: u32 = 2;

/// A version that no tool takes.
const NO_VERSION: u32 = 0;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

unsafe extern "C" {
    fn tally_passes_register(pass_builder: *mut c_void, steps: *const Steps);
    fn tally_passes_before_code(
        module: *mut c_void,
        machine: *mut c_void,
        kind: c_int,
        out: *mut c_void,
        steps: *const Steps,
    ) -> bool;
}

/// The entry of the plugin, which LLVM's tools look for.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
    let has_another = loaded_llvm::tell_if_another(": this tool cannot take the plugin");
    PassPluginLibraryInfo {
        api_version: if has_another { NO_VERSION } else { API_VERSION },
        name: c"tally".as_ptr(),
        version: VERSION.as_ptr().cast(),
        register,
        before_code,
    }
}

/// # Safety
/// `pass_builder` is LLVM's.
unsafe extern "C" fn register(pass_builder: *mut c_void) {
    // SAFETY: the caller's duty; the steps live as long as the library, which LLVM never unloads.
    unsafe { tally_passes_register(pass_builder, &raw const STEPS) };
}

/// # Safety
/// `module` is a module that is complete; the others are LLVM's, for its code.
unsafe extern "C" fn before_code(module: *mut c_void, machine: *mut c_void, kind: c_int, out: *mut c_void) -> bool {
    // SAFETY: the caller's duty.
    unsafe { tally_passes_before_code(module, machine, kind, out, &raw const STEPS) }
}
