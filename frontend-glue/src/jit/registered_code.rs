//! Code that a host's own JIT has put into this process: told to the runtime when it is there, and again before it goes.
//!
//! A lowered module has a *record*, the variable `tally.module` ([`RECORD`]), which leads to its stack maps, types and global roots. The
//! module's constructor hands it to the runtime. A JIT that runs no constructors, or that must know whether code may go, calls
//! [`register`] and [`unregister`] with the record's address, which it finds among the symbols of the object: before anything of the
//! module runs, and before its memory is given back. A record that both the constructor and the host register is registered once.

use tally_compiled::module::record::ModuleRecord;
use tally_compiled::module::registry;
use tally_compiled::program::host_code;
use tally_compiled::stack::roots;

use super::SessionError;

/// The symbol of a module's record in its object: a local one.
pub const RECORD: &str = "tally.module";

/// Tells the runtime of code.
///
/// # Errors
/// [`SessionError::Registration`]: the record is wrong, for instance the descriptor of a type. Nothing is registered then.
///
/// # Safety
/// `record` is the address of a lowered module's record, and all that it leads to stays until [`unregister`]. The module keeps the
/// contract (`docs/port/ir-contract.md`).
pub unsafe fn register(record: *const u8) -> Result<(), SessionError> {
    let record = record.cast::<ModuleRecord>();
    // SAFETY: the caller's duty.
    let refused = |what| SessionError::Registration { module: unsafe { name_of(record) }, what };
    // SAFETY: the caller's duty.
    unsafe { host_code::register(record) }.map_err(refused)
}

/// Takes code back: its globals are no roots any more, and its frames are unknown. Objects of its types stay valid, unless the type has a
/// `trace` function or a finalizer, which goes with the code: finalizers run now. Under the prompt plan this is a safepoint.
/// A record that is not registered is passed over.
///
/// # Errors
/// [`SessionError::Active`] when this thread is inside the code, [`SessionError::Hidden`] when that is not known. The code must stay
/// then.
///
/// # Safety
/// The code is still there. Every reference that the host holds is in a root; no other thread is in the code or will call it.
pub unsafe fn unregister(record: *const u8) -> Result<(), SessionError> {
    let record = record.cast::<ModuleRecord>();
    // SAFETY: the caller's duty.
    check_inactive(Some(record as u64), &unsafe { name_of(record) })?;
    // SAFETY: the caller's duty.
    unsafe { host_code::unregister(record) };
    Ok(())
}

/// # Safety
/// The address of a record.
unsafe fn name_of(record: *const ModuleRecord) -> String {
    // SAFETY: the caller's duty.
    let name = unsafe { (*record).name };
    // SAFETY: names are C string constants.
    unsafe { registry::text(name) }.unwrap_or_default()
}

/// Refuses a module, registered under `key`, that has a frame on the calling thread's stack.
pub(super) fn check_inactive(key: Option<u64>, name: &str) -> Result<(), SessionError> {
    match key.map_or(Ok(None), roots::active_function) {
        Ok(None) => Ok(()),
        Ok(Some(function)) => Err(SessionError::Active { module: name.to_owned(), function }),
        Err(place) => Err(SessionError::Hidden { module: name.to_owned(), place }),
    }
}
