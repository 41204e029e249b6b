//! Modules that a host puts into this process and takes away again: a session's, and those of a JIT of the host's own.
//!
//! Crates that link hosts call these, and not the C symbols that are behind them, which one of them also names as data.

use crate::abi::tally_collect;
use crate::module::record::ModuleRecord;
use crate::module::registry;
use crate::program::{registered_by, tally_register_module};

/// Registers a module, as its constructor does. One that is registered already is registered anew.
///
/// # Errors
/// The fault in the record, or in its types. Nothing is registered then.
///
/// # Safety
/// The record and what it points to stay valid until the module is unregistered.
#[inline(never)]
pub unsafe fn register(record: *const ModuleRecord) -> Result<(), String> {
    // SAFETY: the caller's duty.
    registered_by(|| unsafe { tally_register_module(record) }).map(|_| ())
}

/// Lets objects die that only the globals of the module `key` hold, while the code of their destructors is there. They are no roots
/// any more.
///
/// # Safety
/// The module's globals are still there. The calling thread holds no reference outside roots.
#[inline(never)]
pub unsafe fn release_globals(key: u64) {
    // SAFETY: the caller's duty.
    if unsafe { registry::release_module_globals(key) } {
        // SAFETY: the caller's duty.
        unsafe { tally_collect() };
    }
}

/// Lets go of a module's globals, and forgets it.
///
/// # Safety
/// Its code is still there, and no frame of it is on a stack.
#[inline(never)]
pub unsafe fn unregister(record: *const ModuleRecord) {
    // SAFETY: the caller's duty.
    unsafe { release_globals(record as u64) };
    // SAFETY: the caller's duty.
    unsafe { registry::unregister(record) };
}
