//! What objects own outside the heap: bytes that the collector should reckon with, and values that are dropped with their object.
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

use crate::allocate::OutOfMemory;
use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::services::builtin;
use std::any::Any;
use std::ffi::c_void;

/// External bytes of one heap.
#[derive(Debug, Default)]
pub struct External {
    /// Of all objects. Each says a number of 64 bits, so the sum has more.
    sum: u128,
    /// As many were added as make an epoch.
    pub(crate) is_due: bool,
    /// Prompt plan: what was left by the last mark that was made for their sake.
    left: u64,
}

/// A pointer of the host, and who frees it.
struct HostPointer {
    pointer: *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

impl Drop for HostPointer {
    fn drop(&mut self) {
        // SAFETY: whoever made the host object promised that.
        unsafe { (self.free)(self.pointer) };
    }
}

impl External {
    /// Of all objects.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }
}

impl Heap {
    /// The object owns so many bytes outside the heap more than before, or fewer; it never owns fewer than none.
    pub fn add_external_bytes(&mut self, object: ObjectRef, delta: i64) {
        let rest = self.rest(object);
        let before = rest.external;
        let now = before.saturating_add_signed(delta);
        rest.external = now;
        self.tidy_special(object);
        self.external.sum = self.external.sum - u128::from(before) + u128::from(now);
        let added = now.saturating_sub(before);
        self.given_bytes = self.given_bytes.saturating_add(added);
        if added != 0 && self.given_bytes >= self.options.epoch_bytes && !self.external.is_due {
            self.external.is_due = true;
            self.request_work_at_allocation();
        }
        self.note_growth();
    }

    /// The object that owned so many is gone.
    pub(crate) fn release_external_bytes(&mut self, bytes: u64) {
        if bytes != 0 {
            self.external.sum -= u128::from(bytes);
            self.note_growth();
        }
    }

    /// Bytes of blocks, but for those on their way back to the system, and of what objects own outside.
    pub fn pressure_bytes(&self) -> u64 {
        self.kept_bytes().saturating_add(self.external.bytes())
    }

    /// Prompt plan: whether a mark is due, not just a round.
    pub(crate) fn external_bytes_want_a_mark(&mut self) -> bool {
        self.external.is_due = false;
        self.external.bytes() > self.external.left.saturating_mul(2).saturating_add(self.options.epoch_bytes)
    }

    /// Prompt plan: that mark was made.
    pub(crate) fn note_external_mark(&mut self) {
        self.external.left = self.external.bytes();
    }

    /// A new object that owns `value`. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the value is dropped then.
    pub fn new_host_object(&mut self, value: Box<dyn Any>) -> Result<ObjectRef, OutOfMemory> {
        let object = self.allocate_cell(builtin::host(), 0)?;
        self.rest(object).host = Some(value);
        Ok(object)
    }

    /// The same for a pointer, which is the object's first word, and the function that frees it. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the pointer is freed then.
    ///
    /// # Safety
    /// `free` may be called with `pointer`, once, at any time.
    pub unsafe fn new_host_pointer(
        &mut self,
        pointer: *mut c_void,
        free: unsafe extern "C" fn(*mut c_void),
    ) -> Result<ObjectRef, OutOfMemory> {
        let object = self.new_host_object(Box::new(HostPointer { pointer, free }))?;
        object.slot(0).store(pointer as u64);
        Ok(object)
    }

    /// The value that a host object owns, if it is one.
    pub fn host_value(&mut self, object: ObjectRef) -> Option<&dyn Any> {
        self.rest_of(object)?.host.as_deref()
    }
}
