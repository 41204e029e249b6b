//! Whether a process has the LLVM that Tally is bound to, for shared libraries that others load.
//!
//! Two LLVMs in a process have the same names for different things: a module of one, given to the other, is a crash far from its cause.
//! The dynamic linker's search finds the LLVM of the program first, because the program and the libraries that it names come before what those
//! name. If that is not the library that Tally is linked with, the program works with another: of another version, or one of its own
//! inside.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use inkwell::llvm_sys::core::LLVMGetVersion;

/// The library that Tally is linked with.
const OURS: &CStr = c"libLLVM.so.22.1";
const MAJOR: u32 = 22;

/// The constructor of contexts, which every program with LLVM has.
const ANY: &CStr = c"_ZN4llvm11LLVMContextC1Ev";

/// The version of the LLVM whose functions this process calls.
pub fn version() -> [u32; 3] {
    let [mut major, mut minor, mut patch] = [0; 3];
    // SAFETY: places for three numbers.
    unsafe { LLVMGetVersion(&raw mut major, &raw mut minor, &raw mut patch) };
    [major, minor, patch]
}

/// Returns a message if the process has another LLVM.
pub fn is_another() -> Option<&'static str> {
    static ANSWER: OnceLock<Option<String>> = OnceLock::new();
    ANSWER.get_or_init(ask).as_deref()
}

/// Says so on standard error, and what follows from it. Whether the process has another LLVM.
pub fn tell_if_another(consequence: &str) -> bool {
    let another = is_another();
    if let Some(message) = another {
        tally_heap::tell_line!("tally: {message}{consequence}");
    }
    another.is_some()
}

fn ask() -> Option<String> {
    let [major, ..] = version();
    if major != MAJOR {
        return Some(format!("Tally is for LLVM {MAJOR}, and this process has LLVM {major}"));
    }
    // SAFETY: a C string; the library is only looked for.
    let library = unsafe { libc::dlopen(OURS.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        // An LLVM of another distribution's name, of the right version.
        return None;
    }
    // SAFETY: a handle that was just given, and a C string.
    let ours = unsafe { libc::dlsym(library, ANY.as_ptr()) };
    // SAFETY: a C string.
    let of_process = unsafe { libc::dlsym(libc::RTLD_DEFAULT, ANY.as_ptr()) };
    if ours == of_process {
        return None;
    }
    let other = file_of(of_process).unwrap_or_else(|| "an unknown file".to_owned());
    let ours = OURS.to_string_lossy();
    Some(format!("Tally needs {ours}, and this process has the LLVM of {other}"))
}

fn file_of(address: *const c_void) -> Option<String> {
    // SAFETY: all-zero is a valid `Dl_info`.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for.
    let is_found = unsafe { libc::dladdr(address, &raw mut found) } != 0;
    // SAFETY: a C string of the dynamic linker's, if there is one.
    (is_found && !found.dli_fname.is_null())
        .then(|| unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into())
}
