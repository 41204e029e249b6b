//! What a stopped stack ends in: the words that `swap` has pushed, or that make a new stack look the same (`crate::arch`).

use std::ffi::c_void;

pub(super) use crate::arch::{prepare, stopped_registers as registers};

/// `void *entry(void *value)`.
pub(crate) type Entry = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
