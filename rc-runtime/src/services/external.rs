//! External memory: bytes that objects own outside the heap, and host values that are dropped with their object.
//!
//! Both stand in the record of a special object ([`crate::services::special`]) and end with its memory. External bytes count as
//! allocated when they are added, so that epochs come as often as for objects of that size, and towards the soft limit;
//! not towards the hard one, which is about blocks. Under the prompt plan nothing need be done for what dies by
//! counting; bytes that only a dead cycle holds are looked for when as many were added as make an epoch: a round of all
//! candidates, and a mark when they have doubled since the last.
//!
//! A *host object* is an object of a built-in type that owns a value of the host: a pointer with a function that frees
//! it, or anything in Rust. Its value is dropped once, when its memory goes. That is no finalizer: it runs in the
//! middle of a collection, cannot save the object, and calls nothing of this heap.
//!
//! A panic of its `drop` ends in `HostValue`, wherever the heap drops it: nothing may unwind through the collector's work.

mod account;

use crate::services::exception::guard;
use std::any::Any;
use std::ffi::c_void;

/// External bytes of one heap.
#[derive(Debug, Default)]
pub struct External {
    /// Of all objects. Each says a number of 64 bits, so the sum has more.
    sum: u128,
    /// As many were added as make an epoch.
    pub(crate) is_due: bool,
    /// Prompt plan: the bytes left by the last mark that was made for their sake.
    left: u64,
}

/// A pointer of the host, and the function that frees it.
struct HostPointer {
    pointer: *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

impl Drop for HostPointer {
    fn drop(&mut self) {
        // SAFETY: by the promise to `new_host_pointer`: the function may be called with the pointer, once.
        unsafe { (self.free)(self.pointer) };
    }
}

/// A value of the host. If it panics when it is dropped, that is said on standard error, and the heap goes on.
#[derive(Debug)]
pub(crate) struct HostValue(Option<Box<dyn Any>>);

impl HostValue {
    pub(crate) fn new(value: Box<dyn Any>) -> HostValue {
        HostValue(Some(value))
    }

    pub(crate) fn get(&self) -> Option<&dyn Any> {
        self.0.as_deref()
    }
}

impl Drop for HostValue {
    fn drop(&mut self) {
        let Err(escaped) = guard(|| drop(self.0.take())) else { return };
        let said = escaped.message();
        crate::tell_line!("tally: a host value was dropped, and {said}; the heap goes on");
        let mut escaped = Some(escaped);
        // The payload of a panic may panic as well.
        if let Err(again) = guard(|| drop(escaped.take())) {
            std::mem::forget(again);
        }
    }
}

impl External {
    /// Of all objects.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }
}
