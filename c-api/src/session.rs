//! Sessions: modules that are compiled and called in this process.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use tally_llvm::jit::{ModuleHandle, Session as Inner};
use tally_llvm::pipeline::CompileOptions;

use crate::diagnostics::{Findings, ended};
use crate::lowering::lent;
use crate::options::given;

/// `tally_session` of the header.
#[derive(Debug)]
pub struct Session {
    inner: Inner,
    modules: HashMap<u64, ModuleHandle>,
    added: u64,
}

/// # Safety
/// A C string.
unsafe fn text<'a>(name: *const c_char) -> std::borrow::Cow<'a, str> {
    // SAFETY: the caller's duty.
    unsafe { CStr::from_ptr(name) }.to_string_lossy()
}

/// # Safety
/// Options that were created or null, a place for a session, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_session_create(
    options: *const CompileOptions,
    session: *mut *mut Session,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let options = unsafe { given(options) };
    // SAFETY: the caller's duty.
    unsafe { session.write(std::ptr::null_mut()) };
    let create = || {
        let made = Session { inner: Inner::new(options)?, modules: HashMap::new(), added: 0 };
        // SAFETY: the caller's duty.
        unsafe { session.write(Box::into_raw(Box::new(made))) };
        Ok(Findings::default())
    };
    // SAFETY: the caller's duty.
    unsafe { ended(found, create) }
}

/// # Safety
/// A session that was created and not disposed of, or null; no thread is in its code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_session_dispose(session: *mut Session) {
    if !session.is_null() {
        // SAFETY: the caller's duty.
        drop(unsafe { Box::from_raw(session) });
    }
}

/// # Safety
/// A session of this thread, a C string, the address of what the modules declare under that name, and a place for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_session_define(
    session: *mut Session,
    name: *const c_char,
    address: *mut c_void,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let session = unsafe { &mut *session };
    // SAFETY: the caller's duty.
    let name = unsafe { text(name) };
    let define = || {
        session.inner.define(&name, address as *const ())?;
        Ok(Findings::default())
    };
    // SAFETY: the caller's duty.
    unsafe { ended(found, define) }
}

/// # Safety
/// A session of this thread, a module that keeps the contract (docs/port/ir-contract.md), a C string, a place for a handle, and one for
/// findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_session_add(
    session: *mut Session,
    module: LLVMModuleRef,
    name: *const c_char,
    added: *mut u64,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let session = unsafe { &mut *session };
    // SAFETY: the caller's duty.
    let (module, _) = unsafe { lent(module) };
    // SAFETY: the caller's duty.
    let name = unsafe { text(name) };
    let add = || {
        // SAFETY: the caller's duty.
        let (handle, warnings) = unsafe { session.inner.add_module_with_warnings(&name, &module) }?;
        session.added += 1;
        session.modules.insert(session.added, handle);
        // SAFETY: the caller's duty.
        unsafe { added.write(session.added) };
        Ok(Findings::warnings(&warnings))
    };
    // SAFETY: the caller's duty.
    unsafe { ended(found, add) }
}

/// # Safety
/// A session that was created, and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_session_lookup(session: *const Session, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller's duty.
    let session = unsafe { &*session };
    // SAFETY: the caller's duty.
    let name = unsafe { text(name) };
    session.inner.lookup(&name).map_or(std::ptr::null_mut(), |address| address as *mut c_void)
}

/// # Safety
/// A session of this thread, and a place for findings or null. Every reference of the host's is in a root, and no other thread is in
/// the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_session_remove(session: *mut Session, module: u64, found: *mut *mut Findings) -> i32 {
    // SAFETY: the caller's duty.
    let session = unsafe { &mut *session };
    let remove = || {
        let handle = session.modules.get(&module).copied();
        let handle = handle.ok_or_else(|| Findings::error("this module is not loaded"))?;
        // SAFETY: the caller's duty.
        unsafe { session.inner.remove(handle) }?;
        session.modules.remove(&module);
        Ok(Findings::default())
    };
    // SAFETY: the caller's duty.
    unsafe { ended(found, remove) }
}
