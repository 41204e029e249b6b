//! Code of a host's own JIT: told to the runtime, and taken back.

use std::ffi::c_void;

use tally_llvm::jit::registered_code;

use crate::diagnostics::{Findings, ended};

/// # Safety
/// The address of a lowered module's record, whose code and data stay until it is unregistered, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_register_code(record: *mut c_void, found: *mut *mut Findings) -> i32 {
    // SAFETY: the caller's duty.
    let register = || unsafe { registered_code::register(record.cast()) };
    // SAFETY: the caller's duty.
    unsafe { ended(found, || register().map(|()| Findings::default()).map_err(Findings::from)) }
}

/// # Safety
/// The address of a lowered module's record, whose code is still there, and a place for findings or null. Every reference of the
/// host's is in a root, and no other thread is in the code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_unregister_code(record: *mut c_void, found: *mut *mut Findings) -> i32 {
    // SAFETY: the caller's duty.
    let unregister = || unsafe { registered_code::unregister(record.cast()) };
    // SAFETY: the caller's duty.
    unsafe { ended(found, || unregister().map(|()| Findings::default()).map_err(Findings::from)) }
}
