//! Objects that their finalizers bring back.

use std::ffi::c_void;
use tally_heap::{ObjectRef, TypeDescriptor};
use tally_kit::nodes::in_finalizer;

// SAFETY: `rise` takes any object of the type.
pub(super) static RISEN: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Risen", 24, &[]).finalized(rise) };

/// A root holds the object again.
unsafe extern "C-unwind" fn rise(object: *mut c_void) {
    // SAFETY: [HEADER] the object that is finalized.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    _ = in_finalizer(|m| _ = m.push_root(Some(object)));
}
