//! Weak references and their callbacks, weak fields, ephemerons: objects of the runtime's own, held and stored like others.

use crate::field::Ref;
use crate::finalizer::{Finalize, FinalizerScope, weak_was_cleared};
use crate::host::HostValue;
use crate::scope::{Handle, Scope};
use std::rc::Rc;
use tally_heap::OutOfMemory;
use tally_heap::services::weak::WeakKind;
use tally_heap::services::{builtin, ephemeron};

/// The closure of a weak reference, its host value.
pub(crate) struct Callback(pub(crate) Rc<Finalize>);

impl<'h> Scope<'h> {
    /// A new weak reference to `target`: an object that does not keep it alive. A safepoint.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// # let node = TypeBuilder::new("Node", 8).register()?;
    /// let mut scope = heap.scope();
    /// let weak = {
    ///     let mut inner = scope.nested();
    ///     let node = inner.allocate(node)?;
    ///     let weak = inner.new_weak(node)?;
    ///     assert_eq!(inner.target(inner.get(weak)), Some(inner.get(node)));
    ///     inner.global(inner.get(weak))
    /// };
    /// scope.collect();
    /// assert_eq!(scope.target(scope.open(&weak)), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak(&mut self, target: Handle<'_>) -> Result<Handle<'h>, OutOfMemory> {
        let target = self.get(target).object;
        let weak = self.safepoint(|mut inner| inner.new_weak(Some(target)))?;
        Ok(self.handle_of(weak))
    }

    /// The same with a callback. It is called at a safepoint once the weak reference was cleared, if that is alive then.
    ///
    /// ```
    /// # use std::{cell::Cell, rc::Rc};
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// # let node = TypeBuilder::new("Node", 8).register()?;
    /// let cleared = Rc::new(Cell::new(0));
    /// let count = cleared.clone();
    /// let mut scope = heap.scope();
    /// let weak = {
    ///     let mut inner = scope.nested();
    ///     let node = inner.allocate(node)?;
    ///     let weak = inner.new_weak_with(node, move |scope, weak| {
    ///         assert_eq!(scope.target(scope.get(weak)), None);
    ///         count.set(count.get() + 1);
    ///     })?;
    ///     inner.global(inner.get(weak))
    /// };
    /// scope.collect();
    /// assert_eq!(cleared.get(), 1);
    /// # drop(weak);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`]; the callback is dropped then.
    pub fn new_weak_with(
        &mut self,
        target: Handle<'_>,
        callback: impl for<'f> Fn(&mut FinalizerScope<'f>, Handle<'f>) + 'static,
    ) -> Result<Handle<'h>, OutOfMemory> {
        let target = self.get(target).object;
        let weak = self.safepoint(|mut inner| inner.new_weak_with(target, weak_was_cleared))?;
        let closure = HostValue::new(Callback(Rc::new(callback)), self.core().errors.clone());
        self.leaf(|inner| inner.set_host_value(weak, Box::new(closure)));
        Ok(self.handle_of(weak))
    }

    /// The target of a weak reference; `None` once its reclaim has begun.
    ///
    /// # Panics
    /// When the object is no weak reference, or belongs to another heap.
    pub fn target(&self, weak: Ref<'_>) -> Option<Ref<'_>> {
        self.check(weak.address());
        assert!(builtin::is_weak(weak.object), "`{}` is no weak reference", weak.type_name());
        self.leaf(|inner| inner.read_weak(weak.object.slot(0))).map(Ref::new)
    }

    /// Lets the word at `offset`, a plain one, refer to `target` without keeping it alive. Read with
    /// [`weak_field`](Self::weak_field).
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let node = TypeBuilder::new("Node", 16).reference("child", 0).register()?; // its parent, weakly, at 8
    /// let mut scope = heap.scope();
    /// let child = scope.allocate(node)?;
    /// let mut inner = scope.nested();
    /// let parent = inner.allocate(node)?;
    /// inner.set_field(inner.get(parent), 0, Some(inner.get(child)));
    /// inner.set_weak_field(inner.get(child), 8, Some(inner.get(parent)));
    /// inner.collect();
    /// assert_eq!(inner.weak_field(inner.get(child), 8), Some(inner.get(parent)));
    /// drop(inner);
    /// scope.collect();
    /// assert_eq!(scope.weak_field(scope.get(child), 8), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`set_word`](Self::set_word), or when the target belongs to another heap.
    pub fn set_weak_field(&self, object: Ref<'_>, offset: u64, target: Option<Ref<'_>>) {
        self.word_of(target);
        self.check(object.address());
        object.expect_plain_word(offset);
        let target = target.map(|target| target.object);
        self.leaf(|inner| inner.write_weak(object.object, object.slot(offset), target, WeakKind::Reference));
    }

    /// The target of a weak field; `None` when it is dead, and where there is no weak field.
    ///
    /// # Panics
    /// When there is no word, or the object belongs to another heap.
    pub fn weak_field(&self, object: Ref<'_>, offset: u64) -> Option<Ref<'_>> {
        self.check(object.address());
        object.expect_word(offset);
        let slot = object.slot(offset);
        let target = self.leaf(|inner| match inner.weak_target(object.object, slot) {
            Some(_) => inner.read_weak(slot),
            None => None,
        });
        target.map(Ref::new)
    }

    /// A new ephemeron: `value` lives as long as `key` does, if the ephemeron does, and `key` is not kept alive. A safepoint.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// # let node = TypeBuilder::new("Node", 8).register()?;
    /// let mut scope = heap.scope();
    /// let (key, value) = (scope.allocate(node)?, scope.allocate(node)?);
    /// let pair = scope.new_ephemeron(key, Some(value))?;
    /// assert_eq!(scope.ephemeron_key(scope.get(pair)), Some(scope.get(key)));
    /// assert_eq!(scope.ephemeron_value(scope.get(pair)), Some(scope.get(value)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_ephemeron(&mut self, key: Handle<'_>, value: Option<Handle<'_>>) -> Result<Handle<'h>, OutOfMemory> {
        let (key, value) = (self.get(key).object, value.map(|value| self.get(value).object));
        let made = self.safepoint(|mut inner| inner.new_ephemeron(key, value))?;
        Ok(self.handle_of(made))
    }

    /// The value of an ephemeron; `None` when its key is dead, or it has none.
    ///
    /// # Panics
    /// When the object is no ephemeron, or belongs to another heap.
    pub fn ephemeron_value(&self, ephemeron: Ref<'_>) -> Option<Ref<'_>> {
        self.expect_ephemeron(ephemeron);
        self.leaf(|inner| inner.ephemeron_value(ephemeron.object)).map(Ref::new)
    }

    /// The key of an ephemeron; `None` when it is dead.
    ///
    /// # Panics
    /// As [`ephemeron_value`](Self::ephemeron_value).
    pub fn ephemeron_key(&self, ephemeron: Ref<'_>) -> Option<Ref<'_>> {
        self.expect_ephemeron(ephemeron);
        self.leaf(|inner| inner.read_weak(ephemeron.object.slot(ephemeron::KEY))).map(Ref::new)
    }

    fn expect_ephemeron(&self, object: Ref<'_>) {
        self.check(object.address());
        let info = object.object.type_info();
        assert!(info.id == builtin::ephemeron().id, "`{}` is no ephemeron", info.name);
    }
}
