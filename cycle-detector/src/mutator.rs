//! One heap and its collector, as a Rust host sees them: tests, embedders, benches.
//!
//! Compiled code does not come through here; it allocates through its thread's context. A `Mutator` keeps its own context, so
//! any number of them can live on one thread.
//!
//! References that the host holds across a safepoint (any allocation, `poll`, `epoch`, `collect`) belong into its root stack; the
//! others are valid until the next one starts.

use crate::plan;
use crate::root_source::{NoStack, RootSource};
use tally_heap::heap::HeapEntry;
use tally_heap::memory::range::RangeError;
use tally_heap::object::flag;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::report::statistics::Statistics;
use tally_heap::report::violation::Violation;
use tally_heap::services::builtin::Callback;
use tally_heap::services::finalizer::FinalizerError;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::services::inventory::LeakReport;
use tally_heap::services::weak::WeakKind;
use tally_heap::services::weak_map::{WeakMode, object_of};
use tally_heap::{Heap, HeapOptions, ObjectRef, OutOfMemory, Slot, TypeId};

/// One heap with its collector, for tests and hosts that uphold the rules of references themselves.
#[derive(Debug)]
pub struct Mutator {
    heap: Box<Heap>,
}

/// A heap with a collector behind its epoch door; `stack` knows the roots of compiled code.
///
/// # Errors
/// [`RangeError`] when the heap range cannot be reserved.
///
/// # Safety
/// As for [`Mutator::new`]; `stack` visits every root of compiled code, and nothing else.
pub unsafe fn new_heap(options: HeapOptions, stack: Box<dyn RootSource>) -> Result<Box<Heap>, RangeError> {
    let driver = plan::make_driver(options.plan)(stack);
    // SAFETY: [HELD] by the caller's promise; the driver is of the plan.
    unsafe { Heap::new(options, driver) }
}

impl Mutator {
    /// A new, empty heap.
    ///
    /// # Errors
    /// [`RangeError`] when the heap range cannot be reserved.
    ///
    /// # Safety
    /// References and slots are used as `[HELD]` says: while their object lives, which a root that the mutator knows sees to
    /// at each safepoint, on this thread, and with this heap alone. The heap is not replaced or dropped while it runs.
    pub unsafe fn new(options: HeapOptions) -> Result<Mutator, RangeError> {
        // SAFETY: [HELD] by the caller's promise; there is no compiled code.
        unsafe { Mutator::with_stack(options, Box::new(NoStack)) }
    }

    /// The same beside frames that `stack` knows.
    ///
    /// # Errors
    /// As for [`Mutator::new`].
    ///
    /// # Safety
    /// As for [`new_heap`].
    pub unsafe fn with_stack(options: HeapOptions, stack: Box<dyn RootSource>) -> Result<Mutator, RangeError> {
        // SAFETY: [HELD] by the caller's promise.
        Ok(Mutator { heap: unsafe { new_heap(options, stack) }? })
    }

    /// The heap itself.
    pub fn heap(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// Allocates an object without tail elements; its payload is zero. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn allocate(&mut self, type_id: TypeId) -> Result<ObjectRef, OutOfMemory> {
        self.heap.allocate(type_id)
    }

    /// Allocates an object with `length` tail elements; its payload is zero but for the length. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn allocate_array(&mut self, type_id: TypeId, length: u64) -> Result<ObjectRef, OutOfMemory> {
        self.heap.allocate_array(type_id, length)
    }

    /// Writes `word` into `slot` of `object`, with the barrier.
    #[inline]
    pub fn write(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        self.heap.write(object, slot, word);
    }

    /// Copies `count` words from `source` to `target` in `object`, with the barrier; the ranges may overlap.
    ///
    /// # Safety
    /// `target` names `count` words of `object`, `source` `count` readable words.
    pub unsafe fn copy_refs(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        // SAFETY: by the caller's promise.
        unsafe { self.heap.copy_references(object, target, source, count) };
    }

    /// Writes `word` to `count` words from `target` in `object`, with the barrier.
    ///
    /// # Safety
    /// `target` names `count` words of `object`.
    pub unsafe fn fill_refs(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        // SAFETY: by the caller's promise.
        unsafe { self.heap.fill_references(object, target, word, count) };
    }

    /// A new weak reference to `target`: an object of a built-in type. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak(&mut self, target: ObjectRef) -> Result<ObjectRef, OutOfMemory> {
        self.heap.new_weak(Some(target))
    }

    /// Lets `slot` of `object`, a word that its descriptor does not name, refer to `target` without counting it.
    pub fn write_weak(&mut self, object: ObjectRef, slot: Slot, target: Option<ObjectRef>) {
        self.heap.write_weak(object, slot, target, WeakKind::Reference);
    }

    /// Returns the target of a weak slot, valid until the next safepoint; `None` when it is dead. The slot of a weak reference is
    /// its first word.
    pub fn read_weak(&mut self, slot: Slot) -> Option<ObjectRef> {
        self.heap.read_weak(slot)
    }

    /// The object's finalizer is to run when it is found dead: for types that are finalized on request, and once more
    /// if it has run. False: its type has none.
    pub fn register_finalizer(&mut self, object: ObjectRef) -> bool {
        self.heap.register_finalizer(object)
    }

    /// The object's finalizer is not to run, also if the object was found dead already.
    pub fn forget_finalizer(&mut self, object: ObjectRef) {
        self.heap.forget_finalizer(object);
    }

    /// The end: all finalizers run that have not, of reachable objects, too. Dropping a mutator runs none.
    pub fn finalize_all(&mut self) {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::finalize_all(unsafe { HeapEntry::of(heap) });
    }

    /// Sets the hook for exceptions that escape a finalizer, in place of a line on standard error.
    pub fn on_finalizer_error(&mut self, listener: impl FnMut(&FinalizerError<'_>) + 'static) {
        self.heap.services.finalizers.on_error = Some(Box::new(listener));
    }

    /// Inside a finalizer: calls `run` with the mutator whose collector has called it, which may do anything there.
    /// `None` outside.
    ///
    /// # Safety
    /// `run` does not replace the mutator, nor call this again while it has it; and as for [`Mutator::new`].
    pub unsafe fn in_finalizer<T>(run: impl FnOnce(&mut Mutator) -> T) -> Option<T> {
        let heap = tally_heap::services::finalizer::call_program::running_heap();
        if heap.is_null() {
            return None;
        }
        // SAFETY: a mutator's heap (or a thread's) that waits for this finalizer; its owner does not look at it
        // meanwhile, and this box is never dropped.
        let mut mutator = std::mem::ManuallyDrop::new(Mutator { heap: unsafe { Box::from_raw(heap) } });
        Some(run(&mut mutator))
    }

    /// The same with a callback, which is called with the weak reference at a safepoint after that was cleared, if that
    /// is alive then.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak_with(&mut self, target: ObjectRef, callback: Callback) -> Result<ObjectRef, OutOfMemory> {
        self.heap.new_weak_with(target, callback)
    }

    /// A new ephemeron: `value` lives as long as `key` does, if the ephemeron does. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_ephemeron(&mut self, key: ObjectRef, value: Option<ObjectRef>) -> Result<ObjectRef, OutOfMemory> {
        self.heap.new_ephemeron(key, value)
    }

    /// The value of an ephemeron, until the next safepoint; `None` when its key is dead.
    pub fn ephemeron_value(&mut self, ephemeron: ObjectRef) -> Option<ObjectRef> {
        self.heap.ephemeron_value(ephemeron)
    }

    /// A new, empty weak map. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new_weak_map(&mut self, mode: WeakMode) -> Result<ObjectRef, OutOfMemory> {
        self.heap.new_weak_map(mode)
    }

    /// Returns the value of a weak map for `key`, valid until the next safepoint.
    pub fn weak_map_get(&mut self, map: ObjectRef, key: ObjectRef) -> Option<ObjectRef> {
        // SAFETY: [HEADER] the key is an object's address.
        let word = unsafe { self.heap.weak_map_get(map, key.address()) };
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        unsafe { object_of(word) }
    }

    /// Lets a weak map have `value` for `key`. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn weak_map_set(&mut self, map: ObjectRef, key: ObjectRef, value: ObjectRef) -> Result<(), OutOfMemory> {
        // SAFETY: [HEADER] key and value are objects' addresses.
        unsafe { self.heap.weak_map_set(map, key.address(), value.address()) }
    }

    /// Removes the entry of `key`; whether there was one.
    pub fn weak_map_remove(&mut self, map: ObjectRef, key: ObjectRef) -> bool {
        // SAFETY: [HEADER] the key is an object's address.
        unsafe { self.heap.weak_map_remove(map, key.address()) }
    }

    /// Number of entries of a weak map.
    pub fn weak_map_count(&self, map: ObjectRef) -> u64 {
        self.heap.weak_map_count(map)
    }

    /// The entry after `position` (0: the first), with its position; `None` at the end. Entries may go meanwhile; an
    /// insertion may change all positions.
    pub fn weak_map_next(&mut self, map: ObjectRef, position: u64) -> Option<(u64, ObjectRef, ObjectRef)> {
        let position = self.heap.weak_map_next(map, position);
        let (key, value) = self.heap.weak_map_at(map, position);
        // SAFETY: [HEADER] what a weak map holds is a reference, or no address in the heap.
        let object = |word| unsafe { object_of(word) };
        Some((position, object(key)?, object(value)?))
    }

    /// The position of the entry of `key` in a weak map; `None` if it has none.
    pub fn weak_map_find(&mut self, map: ObjectRef, key: ObjectRef) -> Option<u64> {
        Some(self.heap.weak_map_find(map, key.address())).filter(|&position| position != 0)
    }

    /// Pushes a root.
    pub fn push_root(&mut self, object: Option<ObjectRef>) -> RootIndex {
        self.heap.recount_root(object, None);
        self.heap.services.host_roots.stack.push(object);
        RootIndex(self.heap.services.host_roots.stack.len() - 1)
    }

    /// Overwrites a root.
    pub fn set_root(&mut self, root: RootIndex, object: Option<ObjectRef>) {
        let old = std::mem::replace(&mut self.heap.services.host_roots.stack[root.0], object);
        self.heap.recount_root(object, old);
    }

    /// Returns the object of a root.
    pub fn root(&self, root: RootIndex) -> Option<ObjectRef> {
        self.heap.services.host_roots.stack[root.0]
    }

    /// Number of roots on the stack.
    pub fn root_count(&self) -> usize {
        self.heap.services.host_roots.stack.len()
    }

    /// Pops roots until `count` are left, the last first.
    pub fn truncate_roots(&mut self, count: usize) {
        self.heap.truncate_host_roots(count);
    }

    /// A safepoint: does a slice of pending work when one is due.
    pub fn poll(&mut self) {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::poll_if_asked(unsafe { HeapEntry::of(heap) });
    }

    /// Prompt plan: a safepoint at which objects at zero die, but for those that a word of `protected` leads to.
    pub fn drain(&mut self, protected: &[u64]) {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::prompt_safepoint(unsafe { HeapEntry::of(heap) }, protected);
    }

    /// Flips, if the passes of the last flip are done.
    pub fn flip(&mut self) {
        self.heap.with_driver(|driver, heap| driver.flip(heap));
    }

    /// Does about `units` of pending work, whatever the clock says; true while some is left.
    pub fn step(&mut self, units: u64) -> bool {
        let units = i64::try_from(units).unwrap_or(i64::MAX / 2);
        self.heap.with_driver(|driver, heap| driver.work(heap, units));
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::run_ready_finalizers(unsafe { HeapEntry::of(heap) });
        self.heap.with_driver(|driver, heap| driver.has_work(heap))
    }

    /// Flips and runs the passes of the flip to their end. Under the prompt plan: everything at zero dies, and all candidates
    /// are tried.
    pub fn epoch(&mut self) {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::epoch(unsafe { HeapEntry::of(heap) });
    }

    /// Runs everything to its end: what no root reaches is gone. Returns how many objects died.
    pub fn collect(&mut self) -> u64 {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::collect(unsafe { HeapEntry::of(heap) })
    }

    /// A part of such a collection that takes about `ns` nanoseconds; true when it is complete.
    pub fn collect_for(&mut self, ns: u64) -> bool {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::step(unsafe { HeapEntry::of(heap) }, ns)
    }

    /// From now on nothing dies by itself (`tally_heap::services::control`).
    pub fn stop(&mut self) {
        self.heap.stop();
    }

    /// Undoes [`stop`](Self::stop).
    pub fn restart(&mut self) {
        self.heap.restart();
    }

    /// Whether it is not stopped.
    pub fn is_running(&self) -> bool {
        self.heap.is_running()
    }

    /// Bytes allocated between two epochs: any number.
    pub fn set_epoch_bytes(&mut self, bytes: u64) {
        self.heap.set_epoch_bytes(bytes);
    }

    /// Longest stop to aim at, nanoseconds; 0 = none.
    pub fn set_pause_goal(&mut self, ns: u64) {
        self.heap.set_pause_goal(ns);
    }

    /// The object owns so many bytes outside the heap more than before, or fewer.
    pub fn add_external_bytes(&mut self, object: ObjectRef, delta: i64) {
        self.heap.add_external_bytes(object, delta);
    }

    /// A new object that owns `value`, which is dropped when its memory goes. A safepoint.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the value is dropped then.
    pub fn allocate_host(&mut self, value: Box<dyn std::any::Any>) -> Result<ObjectRef, OutOfMemory> {
        self.heap.new_host_object(value)
    }

    /// The object and what it reaches never die.
    pub fn make_immortal(&mut self, object: ObjectRef) {
        self.heap.make_immortal(object);
    }

    /// All objects that are there are immortal.
    pub fn freeze(&mut self) {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::freeze(unsafe { HeapEntry::of(heap) });
    }

    /// Immortal objects are mortal again.
    pub fn unfreeze(&mut self) {
        self.heap.unfreeze();
    }

    /// Bytes of blocks beyond which the host's callback is called, and those that must not be exceeded (`tally_heap::services::limits`).
    pub fn set_limits(&mut self, soft: Option<u64>, hard: Option<u64>) {
        self.heap.set_limits(soft, hard);
    }

    /// Calls `callback` at the first safepoint after each crossing of the soft limit, with the bytes that are in use.
    pub fn on_soft_limit(&mut self, callback: impl FnMut(&mut Heap, u64) + 'static) {
        drop(self.heap.on_soft_limit(Some(Box::new(callback))));
    }

    /// Asks `handler`, when a collection has not made room for so many bytes, whether to try again.
    pub fn on_out_of_memory(&mut self, handler: impl FnMut(&mut Heap, u64) -> bool + 'static) {
        drop(self.heap.on_out_of_memory(Some(Box::new(handler))));
    }

    /// Every object that is not known to be dead, once; under the deferred plan as of an epoch that runs first.
    pub fn objects(&mut self) -> Vec<ObjectRef> {
        let heap = &raw mut *self.heap;
        let mut objects = vec![];
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::for_each_object(unsafe { HeapEntry::of(heap) }, |object, _| objects.push(object));
        objects
    }

    /// Collects, and returns the objects that are left; `None` without any.
    pub fn leak_report(&mut self) -> Option<LeakReport> {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::leak_report(unsafe { HeapEntry::of(heap) })
    }

    /// Runs an epoch and recounts the heap from scratch.
    ///
    /// # Errors
    /// The first [`Violation`].
    pub fn verify(&mut self) -> Result<(), Violation> {
        let heap = &raw mut *self.heap;
        // SAFETY: [ALONE] the box stays where it is, and is not used until this returns.
        Heap::epoch_before_recount(unsafe { HeapEntry::of(heap) });
        self.heap.with_driver(|driver, heap| driver.verify(heap))
    }

    /// Every mature object that is not known to be dead, in address order within each block.
    pub fn live_objects(&mut self) -> Vec<ObjectRef> {
        let mut objects = vec![];
        self.heap.for_each_known(|heap, object| {
            if heap.count_of(object) != 0 && !object.has(flag::DEAD) {
                objects.push(object);
            }
        });
        objects
    }

    /// The object's count: at the last flip, where 255 is stuck; under the prompt plan as it is.
    pub fn count_of(&self, object: ObjectRef) -> u32 {
        self.heap.count_of(object)
    }

    /// The counters. Allocations of the running epoch are counted when their hole is retired.
    pub fn statistics(&self) -> Statistics {
        self.heap.statistics_now()
    }

    /// The report of the last finished epoch.
    pub fn last_report(&mut self) -> EpochReport {
        self.heap.with_driver(|driver, _| driver.last_report().clone())
    }
}
