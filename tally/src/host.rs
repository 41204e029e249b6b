//! What objects own outside the heap, and which never die.
//!
//! A host value is dropped in the middle of a collection, so a panic of its `drop` ends here and is told when the
//! safepoint is over ([`FinalizerError`](crate::FinalizerError)).

use crate::errors::Errors;
use crate::field::Ref;
use crate::scope::{Handle, Scope};
use std::any::Any;
use tally_heap::OutOfMemory;

/// A value of the host, whose `drop` may panic.
pub(crate) struct HostValue<T> {
    value: Option<T>,
    errors: Errors,
}

impl<T> HostValue<T> {
    pub(crate) fn new(value: T, errors: Errors) -> HostValue<T> {
        HostValue { value: Some(value), errors }
    }

    /// The value, which is there until it is dropped.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is not dropped")
    }
}

impl<T> Drop for HostValue<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.errors.drop_value(value);
        }
    }
}

impl<'h> Scope<'h> {
    /// A new object that owns `value`, in a handle. The value is dropped when the object's memory goes: in the middle of a
    /// collection, or with the heap. A safepoint.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let mut scope = heap.scope();
    /// let text = scope.allocate_host(String::from("a text"))?;
    /// assert_eq!(scope.host::<String>(scope.get(text)).map(String::as_str), Some("a text"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`]; the value is dropped then.
    pub fn allocate_host<T: Any>(&mut self, value: T) -> Result<Handle<'h>, OutOfMemory> {
        let value = Box::new(HostValue::new(value, self.core().errors.clone()));
        let object = self.safepoint(|mut inner| inner.new_host_object(value))?;
        Ok(self.handle_of(object))
    }

    /// The value that a host object owns, good until the next safepoint; `None` if it owns no `T`.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn host<T: Any>(&self, object: Ref<'_>) -> Option<&T> {
        self.check(object.address());
        // SAFETY: as for `leaf`; the value stays where it is until the object's memory goes, which is at a safepoint.
        let value = unsafe { (*self.inner().as_ptr()).host_value(object.object) }?;
        value.downcast_ref::<HostValue<T>>()?.value.as_ref()
    }

    /// The object owns so many bytes outside the heap more than before, or fewer: epochs come as often as if they were
    /// inside.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let mut scope = heap.scope();
    /// let image = scope.allocate_host(vec![0_u8; 1 << 20])?;
    /// scope.add_external_bytes(scope.get(image), 1 << 20);
    /// assert_eq!(scope.statistics().external_bytes, 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn add_external_bytes(&self, object: Ref<'_>, delta: i64) {
        self.check(object.address());
        self.leaf(|inner| inner.add_external_bytes(object.object, delta));
    }

    /// The object and what it reaches never die.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn make_immortal(&self, object: Ref<'_>) {
        self.check(object.address());
        self.leaf(|inner| inner.make_immortal(object.object));
    }

    /// All objects that are there never die. A safepoint.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// # let node = TypeBuilder::new("Node", 8).register()?;
    /// heap.scope().allocate(node)?; // a standard library
    /// let mut scope = heap.scope();
    /// scope.freeze();
    /// assert_eq!(scope.collect(), 0);
    /// scope.unfreeze();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn freeze(&mut self) {
        self.safepoint(tally_heap::Heap::freeze);
    }

    /// Objects that were made immortal are mortal again.
    pub fn unfreeze(&mut self) {
        self.leaf(|inner| inner.unfreeze());
    }
}
