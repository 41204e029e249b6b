//! Objects that are written to without a barrier while they are open: the stack of an interpreter that runs.

use crate::field::Ref;
use crate::global_handle::Global;
use crate::scope::Scope;

/// An object that [`Scope::open_object`] has opened. One that is dropped without [`Scope::close_object`] stays open, and so lives as long as
/// its heap. [`Scope::open_object`] has an example.
#[derive(Debug)]
pub struct OpenObject(Global);

impl Scope<'_> {
    /// Opens an object: it is held, and [`write_open`](Self::write_open) writes to it without a barrier where the plan allows that.
    /// Under the deferred plan each flip looks at all of it.
    ///
    /// ```
    /// use tally::{Heap, HeapOptions, TypeBuilder};
    ///
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let item = TypeBuilder::new("Item", 8).register()?;
    /// let stack = TypeBuilder::new("Stack", 8).elements(0, 8).element_reference("at", 0).register()?;
    /// let mut scope = heap.scope();
    /// let stack = scope.allocate_array(stack, 100)?;
    /// let running = scope.open_object(scope.get(stack));
    /// for place in 0..100 {
    ///     let mut inner = scope.nested();
    ///     let item = inner.allocate(item)?;
    ///     inner.write_open(&running, 8 + place * 8, Some(inner.get(item)));
    /// }
    /// assert_eq!(scope.collect(), 0);
    /// scope.close_object(running);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When it belongs to another heap, or is an ephemeron, whose references are alive only with its key.
    pub fn open_object(&self, object: Ref<'_>) -> OpenObject {
        let global = self.global(object);
        self.leaf(|inner| {
            if let Some(why) = inner.open_refuses(object.object) {
                panic!("the object cannot be open: {why}");
            }
            inner.open_object(object.object);
        });
        OpenObject(global)
    }

    /// The object that is open.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn opened(&self, open: &OpenObject) -> Ref<'_> {
        self.open(&open.0)
    }

    /// Writes a reference into the field at `offset` of an open object.
    ///
    /// # Panics
    /// When the type has no reference there, a tag tells what the field holds, or one of the objects belongs to another heap.
    pub fn write_open(&self, open: &OpenObject, offset: u64, value: Option<Ref<'_>>) {
        let word = self.word_of(value);
        let object = self.opened(open);
        object.expect_plain_reference(offset);
        self.leaf(|inner| inner.write_open(object.object, object.slot(offset), word));
    }

    /// The object is one like others again.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn close_object(&self, open: OpenObject) {
        let object = self.opened(&open);
        self.leaf(|inner| inner.close_object(object.object));
    }
}
