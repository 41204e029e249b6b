//! Types of objects, described field after field.

use std::ffi::{CStr, c_char};

use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::values::AsValueRef;
use tally_llvm::lower::type_description::layout::{FieldKind, Layout, Tags};

use crate::diagnostics::{Findings, ended};
use crate::lowering::lent;

/// # Safety
/// A C string.
unsafe fn text(name: *const c_char) -> String {
    // SAFETY: the caller's duty.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// # Safety
/// A C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_create(name: *const c_char) -> *mut Layout {
    // SAFETY: the caller's duty.
    let name = unsafe { text(name) };
    Box::into_raw(Box::new(Layout::new(&name)))
}

/// # Safety
/// A type that was created and not disposed of, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_dispose(of: *mut Layout) {
    if !of.is_null() {
        // SAFETY: the caller's duty; `tally_type_create` has made the box.
        drop(unsafe { Box::from_raw(of) });
    }
}

/// # Safety
/// A type that was created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_set_tags(of: *mut Layout, mask: u64, pattern: u64, pointer: u64) {
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.set_tags(Tags { mask, pattern, pointer });
}

/// # Safety
/// A type that was created, and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_add_reference(of: *mut Layout, field: *const c_char) -> u64 {
    // SAFETY: the caller's duty.
    let field = unsafe { text(field) };
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.reference(&field)
}

/// # Safety
/// A type that was created, and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_add_tagged(of: *mut Layout, field: *const c_char) -> u64 {
    // SAFETY: the caller's duty.
    let field = unsafe { text(field) };
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.tagged(&field)
}

/// # Safety
/// A type that was created, and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_add_plain(of: *mut Layout, field: *const c_char, bytes: u64, align: u64) -> u64 {
    // SAFETY: the caller's duty.
    let field = unsafe { text(field) };
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.plain(&field, bytes, align)
}

/// # Safety
/// A type that was created, and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_add_length(of: *mut Layout, field: *const c_char) -> u64 {
    // SAFETY: the caller's duty.
    let field = unsafe { text(field) };
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.length(&field)
}

/// # Safety
/// A type that was created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_set_elements(of: *mut Layout, kind: u32, bytes: u64) -> u64 {
    // SAFETY: the caller's duty.
    let layout = unsafe { &mut *of };
    let kind = match kind {
        0 => FieldKind::Reference,
        1 => FieldKind::Tagged,
        2 => FieldKind::Plain,
        other => {
            layout
                .refuse(format!("has elements of kind {other}; known are 0 (references), 1 (tagged words), 2 (plain)"));
            FieldKind::Plain
        }
    };
    layout.elements(kind, bytes)
}

/// # Safety
/// A type that was created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_set_flags(of: *mut Layout, flags: u32) {
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.flags = flags;
}

/// # Safety
/// A type that was created, and a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_set_finalizer(of: *mut Layout, function: *const c_char) {
    // SAFETY: the caller's duty.
    let function = unsafe { text(function) };
    // SAFETY: the caller's duty.
    unsafe { &mut *of }.finalize = Some(function);
}

/// # Safety
/// A type that was created, a module that is alive, a C string, and places for a value and for findings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_define(
    of: *const Layout,
    module: LLVMModuleRef,
    global: *const c_char,
    descriptor: *mut LLVMValueRef,
    found: *mut *mut Findings,
) -> i32 {
    // SAFETY: the caller's duty.
    let layout = unsafe { &*of };
    // SAFETY: the caller's duty.
    let (module, _) = unsafe { lent(module) };
    // SAFETY: the caller's duty.
    let name = unsafe { text(global) };
    let define = || {
        if name.is_empty() {
            return Err(Findings::error("a type has no name for its global; give it one".to_owned()));
        }
        let defined = layout.describe().and_then(|description| description.define(&module, &name));
        defined.map_err(|fault| Findings::error(format!("type `{name}` {fault}")))?;
        let value = module.get_global(&name).map_or(std::ptr::null_mut(), |global| global.as_value_ref());
        // SAFETY: the caller's duty.
        unsafe { descriptor.write(value) };
        Ok(Findings::default())
    };
    // SAFETY: the caller's duty.
    unsafe { ended(found, define) }
}
