//! Scopes: the right to use a heap, and the roots that end with it.
//!
//! Safepoints take `&mut Scope`, and a [`Ref`] borrows `&Scope`: one that is used after a safepoint does not compile. A
//! handle can be read only through a scope, and while it may still be used, the scopes around its own are borrowed by
//! that one: so none outlives its scope, either. What lifetimes cannot say is looked at: that an object belongs to this
//! heap and that a word is one of its fields.

use crate::field::Ref;
use crate::global_handle::Global;
use crate::heap_core::{Core, Inner};
use crate::options::nanoseconds;
use crate::type_id::TypeId;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::Duration;
use tally_heap::heap::HeapEntry;
use tally_heap::memory::range;
use tally_heap::report::statistics::Statistics;
use tally_heap::services::collector_mode::CollectorMode;
use tally_heap::{Heap as InnerHeap, ObjectRef, OutOfMemory};

/// The right to use a heap; its handles end with it.
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 24).reference("next", 0).register()?;
/// let mut scope = heap.scope();
/// let list = scope.allocate(node)?;
/// for number in 0..10 {
///     let mut inner = scope.nested(); // its handles go at the end of each turn
///     let item = inner.allocate(node)?;
///     let (list, item) = (inner.get(list), inner.get(item));
///     inner.set_word(item, 16, number);
///     inner.set_field(item, 0, list.field(0));
///     inner.set_field(list, 0, Some(item));
/// }
/// assert_eq!(scope.collect(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Only one of two scopes that are nested may be used at a time:
///
/// ```compile_fail,E0499
/// # use tally::{Heap, HeapOptions};
/// # let mut heap = Heap::new(HeapOptions::new())?;
/// let mut scope = heap.scope();
/// let inner = scope.nested();
/// scope.collect();
/// drop(inner);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scope<'h> {
    core: &'h Core,
    inner: NonNull<Inner>,
    mark: u64,
    /// Of one scope at a time.
    alone: PhantomData<&'h mut Core>,
}

/// A scoped root; a copy is the same root. It may be used as long as its scope is open.
///
/// ```
/// # use tally::{Heap, HeapOptions, TypeBuilder};
/// # let mut heap = Heap::new(HeapOptions::new())?;
/// # let node = TypeBuilder::new("Node", 8).register()?;
/// let mut scope = heap.scope();
/// let node = scope.allocate(node)?;
/// scope.collect();
/// assert_eq!(scope.get(node).type_name(), "Node");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Handle<'s> {
    word: u64,
    scope: PhantomData<&'s Scope<'s>>,
}

impl<'h> Scope<'h> {
    /// Opens a scope of the heap that lives at `inner`, of which nothing else is in use.
    pub(crate) fn enter(core: &'h Core, inner: NonNull<Inner>) -> Scope<'h> {
        let mut scope = Scope { core, inner, mark: 0, alone: PhantomData };
        scope.mark = scope.leaf(InnerHeap::open_handles);
        scope
    }

    /// Runs a function that calls nothing of the program.
    #[inline(always)]
    pub(crate) fn leaf<T>(&self, call: impl FnOnce(&mut Inner) -> T) -> T {
        // SAFETY: a scope is on one thread and alone has the heap, which `core` keeps; `call` runs no other code that has it.
        call(unsafe { &mut *self.inner.as_ptr() })
    }

    /// Runs a safepoint, which has the heap's address alone: code of the program may come back to it.
    pub(crate) fn safepoint<T>(&mut self, call: impl FnOnce(HeapEntry) -> T) -> T {
        self.free_dropped_globals();
        // SAFETY: [HELD] the heap of this scope, which the facade borrows for a statement at most.
        let entry = unsafe { HeapEntry::of(self.inner.as_ptr()) };
        self.core.safepoint(|| call(entry))
    }

    pub(crate) fn core(&self) -> &'h Core {
        self.core
    }

    pub(crate) fn inner(&self) -> NonNull<Inner> {
        self.inner
    }

    pub(crate) fn free_dropped_globals(&self) {
        for word in self.core.freed.take() {
            // SAFETY: a global handle of this heap whose owner is gone.
            self.leaf(|inner| unsafe { inner.free_global(word) });
        }
    }

    /// Opens a scope in this one, which waits meanwhile. Handles of this one may be used in it.
    pub fn nested(&mut self) -> Scope<'_> {
        Scope::enter(self.core, self.inner)
    }

    /// A new object without elements, in a handle; its payload is zero. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn allocate(&mut self, type_id: TypeId) -> Result<Handle<'h>, OutOfMemory> {
        self.allocate_array(type_id, 0)
    }

    /// The same with `length` elements. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    ///
    /// # Panics
    /// When the type has no elements, and `length` is not 0.
    pub fn allocate_array(&mut self, type_id: TypeId, length: u64) -> Result<Handle<'h>, OutOfMemory> {
        let info = type_id.id.info();
        assert!(info.stride != 0 || length == 0, "`{}` has no elements", info.name);
        // The count of the object is the handle's before a panic of a callback goes on.
        let word = self.safepoint(|mut inner| {
            let object = inner.allocate_owned(info, length)?;
            Ok(inner.new_owning_handle(object))
        })?;
        Ok(self.handle(word))
    }

    /// A handle of a new object that a service has made.
    pub(crate) fn handle_of(&self, object: ObjectRef) -> Handle<'h> {
        // SAFETY: [ROOT] the word is a reference or null.
        self.handle(self.leaf(|inner| unsafe { inner.new_handle(object.address()) }))
    }

    fn handle(&self, word: u64) -> Handle<'h> {
        Handle { word, scope: PhantomData }
    }

    /// Roots an object until this scope ends.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn root(&self, object: Ref<'_>) -> Handle<'h> {
        self.check(object.address());
        self.handle_of(object.object)
    }

    /// Roots it for as long as the result lives.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn global(&self, object: Ref<'_>) -> Global {
        self.check(object.address());
        // SAFETY: [ROOT] the word is a reference or null.
        self.core.freed.global(self.leaf(|inner| unsafe { inner.new_global(object.address()) }))
    }

    /// Returns the object of a handle.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn get(&self, handle: Handle<'_>) -> Ref<'_> {
        // SAFETY: the word of a handle stays while the lifetime of its scope lasts.
        self.reference(unsafe { *(handle.word as *const u64) })
    }

    /// Returns the object of a global handle.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn open(&self, global: &Global) -> Ref<'_> {
        self.reference(global.word_of(&self.core.freed))
    }

    fn reference(&self, word: u64) -> Ref<'_> {
        self.check(word);
        // SAFETY: [ROOT] handles hold references, and this one is of this heap, so that its scope is open.
        Ref::new(unsafe { ObjectRef::from_address(word) })
    }

    /// A handle or a reference of another heap is good for another time.
    #[inline(always)]
    pub(crate) fn check(&self, address: u64) {
        // SAFETY: [MAPPED] an address in the reserved range.
        let owned = range::in_heap(address) && self.leaf(|inner| unsafe { inner.owns_address(address) });
        assert!(owned, "a handle, a reference or an object of another heap");
    }

    /// Whether an address, whatever it is, lies in memory of this heap's objects.
    pub fn contains(&self, address: u64) -> bool {
        self.leaf(|inner| inner.contains(address))
    }

    /// The counters.
    pub fn statistics(&self) -> Statistics {
        self.leaf(|inner| inner.statistics_now())
    }

    /// A safepoint at which work that is due is done.
    pub fn poll(&mut self) {
        self.safepoint(InnerHeap::poll_if_asked);
    }

    /// Collects everything that nothing reaches. Returns how many objects died.
    pub fn collect(&mut self) -> u64 {
        self.safepoint(InnerHeap::collect)
    }

    /// A part of such a collection that takes about `time`; true when it is complete. The next begins another.
    ///
    /// ```
    /// # use {std::time::Duration, tally::{Heap, HeapOptions}};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let mut scope = heap.scope();
    /// while !scope.collect_for(Duration::from_micros(500)) {
    ///     // look for input
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collect_for(&mut self, time: Duration) -> bool {
        self.safepoint(|inner| InnerHeap::step(inner, nanoseconds(time)))
    }

    /// The same, as large as the work that the collector owes for `bytes` of allocation: some 2 ms for each MiB.
    pub fn collect_for_bytes(&mut self, bytes: u64) -> bool {
        self.safepoint(|inner| InnerHeap::step_bytes(inner, bytes))
    }

    /// Bytes of the objects that are not known to be dead, young ones included.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let page = TypeBuilder::new("Page", 4096).register()?;
    /// let mut scope = heap.scope();
    /// scope.nested().allocate(page)?;
    /// let before = scope.live_bytes();
    /// while !scope.collect_for_bytes(1 << 20) {}
    /// assert!(before >= 4096 && scope.live_bytes() == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn live_bytes(&self) -> u64 {
        self.leaf(InnerHeap::live_bytes)
    }

    /// Runs an epoch: most of what died since the last one goes, and its finalizers run.
    pub fn epoch(&mut self) {
        self.safepoint(InnerHeap::epoch);
    }

    /// From now on nothing dies by itself, and no finalizer runs; explicit collections work.
    pub fn stop(&self) {
        self.leaf(InnerHeap::stop);
    }

    /// Undoes [`stop`](Self::stop).
    pub fn restart(&self) {
        self.leaf(InnerHeap::restart);
    }

    /// Whether it is not stopped.
    pub fn is_running(&self) -> bool {
        self.leaf(|inner| inner.is_running())
    }

    /// Bytes allocated between two epochs; fewer than 4096 mean 4096.
    pub fn set_epoch_bytes(&self, bytes: u64) {
        self.leaf(|inner| inner.set_epoch_bytes(bytes));
    }

    /// Says each epoch, collection, round or mark from now on in a line on standard error, or no more.
    pub fn log_collections(&self, on: bool) {
        self.leaf(|inner| inner.log_collections(on));
    }

    /// Takes a hint of a language that has such; returns the one before. It changes nothing: under every plan young objects are judged apart,
    /// and work goes in steps.
    pub fn set_collector_mode(&self, mode: CollectorMode) -> CollectorMode {
        self.leaf(|inner| inner.set_collector_mode(mode))
    }

    /// Notes from now on which fields close the cycles that are collected, for [`cycle_report`](Self::cycle_report), or no more.
    pub fn log_cycles(&self, on: bool) {
        self.leaf(|inner| inner.log_cycles(on));
    }

    /// Which fields closed cycles that were collected, as lines of text, the most frequent first: of a sample of the objects found dead
    /// since [`log_cycles`](Self::log_cycles). Empty when that is off.
    ///
    /// ```
    /// use tally::{Heap, HeapOptions, TypeBuilder};
    ///
    /// let node = TypeBuilder::new("Node", 8).reference("next", 0).register()?;
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// heap.scope().log_cycles(true);
    /// for _ in 0..100 {
    ///     let mut scope = heap.scope();
    ///     let ring = scope.allocate(node)?;
    ///     scope.set_field(scope.get(ring), 0, Some(scope.get(ring)));
    ///     scope.collect();
    /// }
    /// heap.scope().collect();
    /// assert!(heap.scope().cycle_report().contains("100 x Node.next"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cycle_report(&self) -> String {
        self.leaf(|inner| inner.cycle_report())
    }

    /// The longest stop to aim at; `None` for no goal.
    pub fn set_pause_goal(&self, goal: Option<Duration>) {
        self.leaf(|inner| inner.set_pause_goal(goal.map_or(0, nanoseconds)));
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.leaf(|inner| inner.close_handles(self.mark));
    }
}
