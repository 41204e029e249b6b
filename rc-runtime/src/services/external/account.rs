//! External bytes are counted; host objects are made.

use super::{HostPointer, HostValue};
use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::out_of_memory::OutOfMemory;
use crate::services::builtin;
use std::any::Any;
use std::ffi::c_void;

impl Heap {
    /// The object owns so many bytes outside the heap more than before, or fewer; it never owns fewer than none.
    pub fn add_external_bytes(&mut self, object: ObjectRef, delta: i64) {
        let rest = self.rest(object);
        let before = rest.external;
        let now = before.saturating_add_signed(delta);
        rest.external = now;
        self.tidy_special(object);
        self.services.external.sum = self.services.external.sum - u128::from(before) + u128::from(now);
        self.note_bytes_outside(now.saturating_sub(before));
        self.note_growth();
    }

    /// So many bytes more are held outside the heap until a collection finds something dead: they count as allocated.
    pub(in crate::services) fn note_bytes_outside(&mut self, added: u64) {
        self.clock.given_bytes = self.clock.given_bytes.saturating_add(added);
        if added != 0 && self.clock.given_bytes >= self.options.epoch_bytes && !self.services.external.is_due {
            self.services.external.is_due = true;
            self.request_work_at_allocation();
        }
    }

    /// The object that owned so many is gone.
    pub(crate) fn release_external_bytes(&mut self, bytes: u64) {
        if bytes != 0 {
            self.services.external.sum -= u128::from(bytes);
            self.note_growth();
        }
    }

    /// Bytes of blocks, but for those on their way back to the system, and of what objects own outside.
    pub(crate) fn pressure_bytes(&self) -> u64 {
        self.kept_bytes().saturating_add(self.services.external.bytes())
    }

    /// Prompt plan: whether a mark is due, not just a round.
    pub(crate) fn external_bytes_want_a_mark(&mut self) -> bool {
        self.services.external.is_due = false;
        self.services.external.bytes()
            > self.services.external.left.saturating_mul(2).saturating_add(self.options.epoch_bytes)
    }

    /// Prompt plan: that mark was made.
    pub(crate) fn note_external_mark(&mut self) {
        self.services.external.left = self.services.external.bytes();
    }

    /// A new object that owns `value`. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the value is dropped then.
    pub fn new_host_object(&mut self, value: Box<dyn Any>) -> Result<ObjectRef, OutOfMemory> {
        let value = HostValue::new(value);
        let object = self.allocate_cell(builtin::host(), 0)?;
        self.rest(object).host = Some(value);
        Ok(object)
    }

    /// The object owns `value` from now on, which is dropped when its memory goes; an object of any type.
    pub fn set_host_value(&mut self, object: ObjectRef, value: Box<dyn Any>) {
        self.rest(object).host = Some(HostValue::new(value));
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
        self.rest_of(object)?.host.as_ref()?.get()
    }
}
