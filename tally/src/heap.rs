//! The heap as its owner has it: made, used through scopes, asked what it has done, and dropped.

use crate::errors::FinalizerError;
use crate::heap_core::Core;
use crate::options::{HeapOptions, nanoseconds};
use crate::scope::Scope;
use std::rc::Rc;
use tally_collector::{EpochReport, Mutator, Violation};
use tally_heap::memory::range::RangeError;
use tally_heap::report::statistics::Statistics;
use tally_heap::services::inventory::LeakReport;

/// A heap of its own, for one thread; any number of them may live on it.
///
/// ```
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let node = TypeBuilder::new("Node", 16).reference("next", 0).register()?;
/// let kept = {
///     let mut scope = heap.scope();
///     let node = scope.allocate(node)?;
///     scope.global(scope.get(node))
/// };
/// assert_eq!(heap.scope().collect(), 0);
/// drop(kept);
/// assert_eq!(heap.scope().collect(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Heap {
    core: Rc<Core>,
}

impl Heap {
    /// A new, empty heap.
    ///
    /// # Errors
    /// [`RangeError`] when the heap range cannot be reserved.
    pub fn new(options: HeapOptions) -> Result<Heap, RangeError> {
        let mut heap = Heap { core: Core::new(options.inner())? };
        if let Some(goal) = options.goal() {
            heap.scope().leaf(|inner| inner.set_pause_goal(nanoseconds(goal)));
        }
        Ok(heap)
    }

    /// Opens a scope.
    pub fn scope(&mut self) -> Scope<'_> {
        let scope = Scope::enter(&self.core, self.core.inner());
        scope.free_dropped_globals();
        scope
    }

    /// The counters of `docs/use/running.md`: objects and bytes, epochs, pauses and their histogram, the least
    /// utilisation of any 5, 20 and 100 ms. Under the deferred plan an object is counted as live from its first epoch on.
    pub fn statistics(&self) -> Statistics {
        // SAFETY: no scope is open, and nothing of the program is called.
        let mutator = unsafe { &*self.core.mutator.get() };
        mutator.statistics()
    }

    /// Collects, and returns the objects that are left, by type; `None` without any.
    ///
    /// ```
    /// use tally::{Heap, HeapOptions, TypeBuilder};
    ///
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let node = TypeBuilder::new("Node", 8).register()?;
    /// let mut scope = heap.scope();
    /// let node = scope.allocate(node)?;
    /// let forgotten = scope.global(scope.get(node));
    /// drop(scope);
    /// let report = heap.leak_report().expect("a node is left");
    /// assert_eq!((report.types[0].name.as_str(), report.objects(), report.host_roots), ("Node", 1, 1));
    /// # drop(forgotten);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leak_report(&mut self) -> Option<LeakReport> {
        self.scope().safepoint(tally_heap::Heap::leak_report)
    }

    /// The end of a program: the finalizers of all objects that are left run, of reachable ones, too. Dropping a heap runs
    /// none.
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    /// use tally::{Heap, HeapOptions, TypeBuilder};
    ///
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// let closed = Rc::new(Cell::new(0));
    /// let count = closed.clone();
    /// let file = TypeBuilder::new("File", 8).finalizer(move |_, _| count.set(count.get() + 1)).register()?;
    /// let file = { let mut scope = heap.scope(); let file = scope.allocate(file)?; scope.global(scope.get(file)) };
    /// heap.finalize_all();
    /// assert_eq!(closed.get(), 1);
    /// # drop(file);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finalize_all(&mut self) {
        self.scope().safepoint(tally_heap::Heap::finalize_all);
    }

    /// Calls `listener` with what escapes from finalizers, callbacks and the `drop` of host values, in place of a line on
    /// standard error. It is called when the safepoint is over.
    pub fn on_finalizer_error(&mut self, listener: impl FnMut(&FinalizerError) + 'static) {
        self.core.errors.listen(Box::new(listener));
    }

    /// What the last epoch did.
    ///
    /// ```
    /// use tally::{Heap, HeapOptions};
    ///
    /// let mut heap = Heap::new(HeapOptions::new())?;
    /// heap.scope().epoch();
    /// assert_eq!(heap.last_report().freed_by_count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_report(&mut self) -> EpochReport {
        self.scope().leaf(|inner| inner.with_driver(|driver, _| driver.last_report().clone()))
    }

    /// Runs an epoch and recounts the heap from scratch: for tests of a host.
    ///
    /// # Errors
    /// The first [`Violation`].
    ///
    /// ```
    /// use tally::{Heap, HeapOptions};
    ///
    /// Heap::new(HeapOptions::new())?.verify()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&mut self) -> Result<(), Violation> {
        let mut scope = self.scope();
        scope.safepoint(tally_heap::Heap::epoch_before_recount);
        scope.leaf(|inner| inner.with_driver(|driver, heap| driver.verify(heap)))
    }

    /// The mutator behind it, with the functions of the inner crates.
    ///
    /// # Safety
    /// No reference that comes from it is used after a safepoint, and no type is used whose finalizer or trace function
    /// keeps one.
    pub unsafe fn mutator(&mut self) -> &mut Mutator {
        // SAFETY: `&mut self`.
        unsafe { &mut *self.core.mutator.get() }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.core.forget();
    }
}
