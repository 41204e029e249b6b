//! A heap for hosts in Rust, safe: no program that compiles keeps a reference across a safepoint.
//!
//! | type | is | lives |
//! |---|---|---|
//! | [`HostHeap`] | the heap | as long as its owner |
//! | [`Scope`] | the right to use it; borrows the heap, or the scope around it | until it is dropped, with all its handles |
//! | [`Handle`] | a scoped root; a copy is the same root | as long as its scope |
//! | [`Global`] | a root of its own | until it is dropped |
//! | [`Ref`] | a bare reference; borrows the scope | until the next safepoint |
//!
//! Safepoints take `&mut Scope`, and a [`Ref`] borrows `&Scope`: one that is used after a safepoint does not compile. A
//! handle can be read only through a scope, and while it may still be used, the scopes around its own are borrowed by
//! that one: so none outlives its scope, either. What lifetimes cannot say is looked at: that an object belongs to this
//! heap and that a word is one of its fields.
//!
//! ```
//! use tally_collector::HostHeap;
//! use tally_heap::{HeapOptions, TypeDescriptor};
//!
//! static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
//!
//! let mut heap = HostHeap::new(HeapOptions::default())?;
//! let node = heap.register(&NODE)?;
//! let mut scope = heap.scope();
//! let list = scope.allocate(node)?;
//! for number in 0..1000 {
//!     let mut inner = scope.nested();
//!     let item = inner.allocate(node)?; // a safepoint: objects used later are in handles
//!     let (list, item) = (inner.get(list), inner.get(item));
//!     inner.set_word(item, 16, number);
//!     inner.set_field(item, 0, list.field(0)); // no safepoint: bare references stay good
//!     inner.set_field(list, 0, Some(item));
//! }
//! scope.collect();
//! assert_eq!(scope.get(list).field(0).expect("the last one").word(16), 999);
//! drop(scope);
//! assert_eq!(heap.scope().collect(), 1001);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A reference that is used after a safepoint is refused:
//!
//! ```compile_fail,E0502
//! # use tally_collector::HostHeap;
//! # use tally_heap::{HeapOptions, TypeDescriptor};
//! # static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
//! # let mut heap = HostHeap::new(HeapOptions::default())?;
//! # let node = heap.register(&NODE)?;
//! # let mut scope = heap.scope();
//! # let list = scope.allocate(node)?;
//! let first = scope.get(list).field(0);
//! scope.collect();
//! println!("{first:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::global_handle::{Freed, Global};
use crate::mutator::Mutator;
use std::any::Any;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use tally_heap::descriptor::DescriptorError;
use tally_heap::memory::range::{self, RangeError};
use tally_heap::report::statistics::Statistics;
use tally_heap::type_registry::Reading;
use tally_heap::{HeapOptions, ObjectRef, OutOfMemory, TypeDescriptor, TypeId, type_registry};

/// A heap of its own, for one thread.
#[derive(Debug)]
pub struct HostHeap {
    mutator: Mutator,
    freed: Freed,
}

/// The right to use a heap; its roots end with it.
#[derive(Debug)]
pub struct Scope<'h> {
    heap: &'h UnsafeCell<HostHeap>,
    mark: u64,
    /// Of one scope at a time.
    alone: PhantomData<&'h mut HostHeap>,
}

/// A scoped root.
#[derive(Debug, Clone, Copy)]
pub struct Handle<'s> {
    word: u64,
    scope: PhantomData<&'s Scope<'s>>,
}

/// A reference to an object, good until the next safepoint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ref<'a> {
    object: ObjectRef,
    scope: PhantomData<&'a Scope<'a>>,
}

impl HostHeap {
    /// A new, empty heap.
    ///
    /// # Errors
    /// [`RangeError`] when the heap range cannot be reserved.
    pub fn new(options: HeapOptions) -> Result<HostHeap, RangeError> {
        Ok(HostHeap { mutator: Mutator::new(options)?, freed: Freed::default() })
    }

    /// Registers a type.
    ///
    /// # Errors
    /// [`DescriptorError`] names the fault of the descriptor.
    pub fn register(&mut self, descriptor: &'static TypeDescriptor) -> Result<TypeId, DescriptorError> {
        type_registry::register(descriptor)
    }

    /// Opens a scope.
    pub fn scope(&mut self) -> Scope<'_> {
        self.free_dropped_globals();
        let mark = self.mutator.heap().open_handles();
        // SAFETY: `UnsafeCell<T>` has the layout of `T`; the heap is borrowed mutably for as long as the scope.
        let heap = unsafe { &*(&raw mut *self).cast::<UnsafeCell<HostHeap>>() };
        Scope { heap, mark, alone: PhantomData }
    }

    /// The counters.
    pub fn statistics(&self) -> Statistics {
        self.mutator.statistics()
    }

    /// The mutator behind it.
    ///
    /// # Safety
    /// No reference that comes from it is used after a safepoint, and no type is used whose finalizer or trace function
    /// keeps one.
    pub unsafe fn mutator(&mut self) -> &mut Mutator {
        &mut self.mutator
    }

    fn free_dropped_globals(&mut self) {
        for word in self.freed.take() {
            // SAFETY: a global handle of this heap whose owner is gone.
            unsafe { self.mutator.heap().free_global(word) };
        }
    }
}

impl<'h> Scope<'h> {
    /// The heap, for the duration of one of the functions below.
    #[expect(clippy::mut_from_ref, reason = "each function below ends its borrow before it returns")]
    fn heap(&self) -> &mut HostHeap {
        // SAFETY: a scope is on one thread and alone has the heap; no function below calls another while it holds this.
        unsafe { &mut *self.heap.get() }
    }

    /// Opens a scope in this one, which waits meanwhile. Handles of this one may be used in it.
    pub fn nested(&mut self) -> Scope<'_> {
        Scope { heap: self.heap, mark: self.heap().mutator.heap().open_handles(), alone: PhantomData }
    }

    /// A new object without tail elements, in a handle; its payload is zero. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn allocate(&mut self, type_id: TypeId) -> Result<Handle<'h>, OutOfMemory> {
        self.allocate_array(type_id, 0)
    }

    /// The same with `length` tail elements. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn allocate_array(&mut self, type_id: TypeId, length: u64) -> Result<Handle<'h>, OutOfMemory> {
        let host = self.heap();
        host.free_dropped_globals();
        let heap = host.mutator.heap();
        let object = heap.allocate_owned(type_id.info(), length)?;
        Ok(Handle { word: heap.new_owning_handle(object), scope: PhantomData })
    }

    /// A new object that owns `value`, in a handle. The value is dropped when the object's memory goes. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the value is dropped then.
    pub fn allocate_host<T: Any>(&mut self, value: T) -> Result<Handle<'h>, OutOfMemory> {
        let host = self.heap();
        host.free_dropped_globals();
        let heap = host.mutator.heap();
        let object = heap.new_host_object(Box::new(value))?;
        Ok(Handle { word: heap.new_handle(object.address()), scope: PhantomData })
    }

    /// The value that a host object owns, good until the next safepoint; `None` if it owns no `T`.
    pub fn host<T: Any>(&self, object: Ref<'_>) -> Option<&T> {
        self.check(object.object.address());
        self.heap().mutator.heap().host_value(object.object)?.downcast_ref()
    }

    /// The object owns so many bytes outside the heap more than before, or fewer.
    pub fn add_external_bytes(&self, object: Ref<'_>, delta: i64) {
        self.check(object.object.address());
        self.heap().mutator.heap().add_external_bytes(object.object, delta);
    }

    /// The object and what it reaches never die.
    pub fn make_immortal(&self, object: Ref<'_>) {
        self.check(object.object.address());
        self.heap().mutator.heap().make_immortal(object.object);
    }

    /// Roots an object until this scope ends.
    pub fn root(&self, object: Ref<'_>) -> Handle<'h> {
        self.check(object.address());
        Handle { word: self.heap().mutator.heap().new_handle(object.object.address()), scope: PhantomData }
    }

    /// Roots it for as long as the result lives.
    pub fn global(&self, object: Ref<'_>) -> Global {
        self.check(object.address());
        let host = self.heap();
        host.freed.global(host.mutator.heap().new_global(object.object.address()))
    }

    /// Returns the object of a handle.
    pub fn get(&self, handle: Handle<'_>) -> Ref<'_> {
        // SAFETY: the word of a handle stays while the lifetime of its scope lasts.
        self.reference(unsafe { *(handle.word as *const u64) })
    }

    /// Returns the object of a global handle of this heap.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn open(&self, global: &Global) -> Ref<'_> {
        self.reference(global.word_of(&self.heap().freed))
    }

    fn reference(&self, word: u64) -> Ref<'_> {
        self.check(word);
        // SAFETY: [ROOT] handles hold references, and this one is of this heap, so that its scope is open.
        Ref { object: unsafe { ObjectRef::from_address(word) }, scope: PhantomData }
    }

    /// A handle or a reference of another heap is good for another time.
    #[inline(always)]
    fn check(&self, address: u64) {
        let owned = range::in_heap(address) && self.heap().mutator.heap().owns_address(address);
        assert!(owned, "a handle, a reference or an object of another heap");
    }

    /// Writes a reference into the field at `offset`, with the barrier.
    ///
    /// # Panics
    /// When the type has no reference there.
    pub fn set_field(&self, object: Ref<'_>, offset: u64, value: Option<Ref<'_>>) {
        self.check(object.address());
        value.into_iter().for_each(|value| self.check(value.address()));
        object.expect_field(offset);
        let word = value.map_or(0, |value| value.object.address());
        self.heap().mutator.write(object.object, object.object.slot(offset), word);
    }

    /// Stores a word that is no reference.
    ///
    /// # Panics
    /// When the type has a reference there, its length, or nothing.
    pub fn set_word(&self, object: Ref<'_>, offset: u64, word: u64) {
        self.check(object.address());
        object.expect_word(offset);
        let info = object.object.type_info();
        let is_length = info.stride != 0 && offset == info.length_offset;
        assert!(!object.is_field(offset) && !is_length, "`{}` has no plain word at {offset}", info.name);
        object.object.slot(offset).store(word);
    }

    /// A safepoint at which work that is due is done.
    pub fn poll(&mut self) {
        self.heap().free_dropped_globals();
        self.heap().mutator.poll();
    }

    /// Collects everything that nothing reaches. Answers how many objects died.
    pub fn collect(&mut self) -> u64 {
        self.heap().free_dropped_globals();
        self.heap().mutator.collect()
    }

    /// All objects that are there never die. A safepoint.
    pub fn freeze(&mut self) {
        self.heap().free_dropped_globals();
        self.heap().mutator.freeze();
    }

    /// Objects that were made immortal are mortal again.
    pub fn unfreeze(&mut self) {
        self.heap().mutator.unfreeze();
    }

    /// A part of such a collection that takes about `ns` nanoseconds; true when it is complete.
    pub fn collect_for(&mut self, ns: u64) -> bool {
        self.heap().free_dropped_globals();
        self.heap().mutator.collect_for(ns)
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.heap().mutator.heap().close_handles(self.mark);
    }
}

impl<'a> Ref<'a> {
    /// The reference in the field at `offset`.
    ///
    /// # Panics
    /// When the type has no reference there.
    pub fn field(self, offset: u64) -> Option<Ref<'a>> {
        self.expect_field(offset);
        let object = self.object.type_info().decode(self.object.slot(offset).read());
        object.filter(|object| range::in_heap(object.address())).map(|object| Ref { object, scope: PhantomData })
    }

    /// Returns the word at `offset`.
    ///
    /// # Panics
    /// When it lies outside the object.
    pub fn word(self, offset: u64) -> u64 {
        self.expect_word(offset);
        self.object.slot(offset).read()
    }

    /// Tail elements.
    pub fn length(self) -> u64 {
        let info = self.object.type_info();
        if info.stride == 0 { 0 } else { self.object.slot(info.length_offset).read() }
    }

    /// Name of the object's type.
    pub fn type_name(self) -> &'static str {
        &self.object.type_info().name
    }

    /// Where it is: the same as long as it lives.
    pub fn address(self) -> u64 {
        self.object.address()
    }

    fn is_field(self, offset: u64) -> bool {
        let info = self.object.type_info();
        match offset.checked_sub(info.size) {
            None => info.fixed.contains(&(offset as u32)),
            Some(at) => info.stride != 0 && info.element.contains(&((at % info.stride) as u32)),
        }
    }

    fn expect_field(self, offset: u64) {
        self.expect_word(offset);
        let info = self.object.type_info();
        let plain = matches!(info.reading, Reading::Plain);
        assert!(plain && self.is_field(offset), "`{}` has no plain reference at {offset}", info.name);
    }

    fn expect_word(self, offset: u64) {
        let info = self.object.type_info();
        let end = info.size + info.stride * self.length();
        let inside = offset.is_multiple_of(8) && offset.checked_add(8).is_some_and(|next| next <= end);
        assert!(inside, "`{}` has no word at {offset}", info.name);
    }
}

impl std::fmt::Debug for Ref<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:#x}", self.type_name(), self.address())
    }
}
