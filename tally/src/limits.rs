//! Limits: what the host is asked when memory becomes short, and when it runs out.

use crate::heap_core::Core;
use crate::host::HostValue;
use crate::scope::Scope;
use std::ops::Deref;
use std::ptr::NonNull;
use tally_heap::services::limits::{OutOfMemoryHandler, SoftLimitCallback};

/// What a callback of the limits may do with the heap that has called it: all that a [`Scope`] can.
///
/// It is used like a `&Scope`; what may collect goes through [`nested`](Self::nested). A panic in the callback goes on
/// from the safepoint that has called it, when that is over.
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
/// use tally::{Global, Heap, HeapOptions, TypeBuilder};
///
/// let cache: Rc<RefCell<Vec<Global>>> = Rc::default();
/// let mut heap = Heap::new(HeapOptions::new().heap_limit(1 << 20))?;
/// let page = TypeBuilder::new("Page", 4096).register()?;
/// let dropped = cache.clone();
/// heap.scope().on_out_of_memory(move |_, _| !std::mem::take(&mut *dropped.borrow_mut()).is_empty());
/// for _ in 0..1000 {
///     let mut scope = heap.scope();
///     let page = scope.allocate(page)?; // there is room again when the cache has gone
///     cache.borrow_mut().push(scope.global(scope.get(page)));
/// }
/// assert!(cache.borrow().len() < 256);
/// # cache.borrow_mut().clear();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LimitScope<'l> {
    scope: Scope<'l>,
}

impl LimitScope<'_> {
    /// Opens a scope in this one, for safepoints.
    pub fn nested(&mut self) -> Scope<'_> {
        self.scope.nested()
    }
}

impl<'l> Deref for LimitScope<'l> {
    type Target = Scope<'l>;

    fn deref(&self) -> &Scope<'l> {
        &self.scope
    }
}

/// Runs a callback in a scope of its own; `None` when it panicked. What it has let go of is garbage when it returns.
fn call<T>(inner: &mut tally_heap::Heap, callback: impl FnOnce(&mut LimitScope<'_>) -> T) -> Option<T> {
    let inner = NonNull::from(inner);
    let core = Core::of(inner.as_ptr())?;
    let answer = core.guard(|| callback(&mut LimitScope { scope: Scope::enter(&core, inner) }));
    Scope::enter(&core, inner).free_dropped_globals();
    answer
}

impl Scope<'_> {
    /// Bytes of blocks beyond which the callback of [`on_soft_limit`](Self::on_soft_limit) is called, with what objects own
    /// outside, and bytes of blocks that must not be exceeded. `None` for no limit.
    pub fn set_limits(&self, soft: Option<u64>, hard: Option<u64>) {
        self.leaf(|inner| inner.set_limits(soft, hard));
    }

    /// Calls `callback` at the first safepoint after each crossing of the soft limit, with the bytes that are in use. Not
    /// while it runs already.
    ///
    /// ```
    /// # use std::{cell::Cell, rc::Rc};
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// # let page = TypeBuilder::new("Page", 4096).register()?;
    /// let told = Rc::new(Cell::new(0));
    /// let tell = told.clone();
    /// let mut scope = heap.scope();
    /// scope.on_soft_limit(move |scope, used| tell.set(used + scope.nested().collect()));
    /// scope.set_limits(Some(1 << 20), None);
    /// for _ in 0..1000 {
    ///     scope.nested().allocate(page)?;
    ///     scope.poll();
    /// }
    /// assert!(told.get() > 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_soft_limit(&self, callback: impl FnMut(&mut LimitScope<'_>, u64) + 'static) {
        let mut callback = HostValue::new(callback, self.core().errors.clone());
        let callback: SoftLimitCallback = Box::new(move |inner, used| {
            call(inner, |scope| callback.get_mut()(scope, used));
        });
        // What the one before owns may come back to this heap.
        drop(self.leaf(|inner| inner.on_soft_limit(Some(callback))));
    }

    /// Asks `handler`, when a collection has not made room for so many bytes, whether to try again: sixteen times at most for
    /// one allocation. Not about its own allocations.
    pub fn on_out_of_memory(&self, handler: impl FnMut(&mut LimitScope<'_>, u64) -> bool + 'static) {
        let mut handler = HostValue::new(handler, self.core().errors.clone());
        let handler: OutOfMemoryHandler =
            Box::new(move |inner, requested| call(inner, |scope| handler.get_mut()(scope, requested)).unwrap_or(false));
        // What the one before owns may come back to this heap.
        drop(self.leaf(|inner| inner.on_out_of_memory(Some(handler))));
    }
}
