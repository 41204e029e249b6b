//! Finalizers and callbacks: closures of the host that the collector calls, each with a scope of its own.
//!
//! A closure stands in a table of the thread, by the id of its type; that of a weak reference is a host value of its
//! object, and goes with it. The heap of the inner crates knows functions in C only, so it calls one of the two functions
//! below, which finds heap and closure. A panic in the closure is caught by the heap that calls.

use crate::field::Ref;
use crate::heap_core::Core;
use crate::scope::{Handle, Scope};
use crate::weak::Callback;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Deref;
use std::rc::Rc;
use tally_heap::ObjectRef;
use tally_heap::services::finalizer::call_program::running_heap;

/// A closure for an object: a finalizer, or a callback of a weak reference.
pub(crate) type Finalize = dyn for<'f> Fn(&mut FinalizerScope<'f>, Handle<'f>);

thread_local! {
    /// By the ids of their types.
    static FINALIZERS: RefCell<HashMap<u32, Rc<Finalize>>> = RefCell::default();
}

/// The type has that finalizer.
pub(crate) fn enter(id: u32, finalize: Rc<Finalize>) {
    FINALIZERS.with_borrow_mut(|finalizers| finalizers.insert(id, finalize));
}

/// What a finalizer, or a callback of a weak reference, may do with the heap that has called it: all that a [`Scope`] can.
///
/// It is used like a `&Scope`; what may collect goes through [`nested`](Self::nested).
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
/// use tally::{FinalizerScope, Global, Handle, Heap, HeapOptions, TypeBuilder};
///
/// /// Keeps the objects that die: they live on.
/// fn save(scope: &mut FinalizerScope<'_>, object: Handle<'_>, saved: &RefCell<Vec<Global>>) {
///     scope.nested().collect(); // put off until this returns
///     saved.borrow_mut().push(scope.global(scope.get(object)));
/// }
///
/// let saved = Rc::new(RefCell::new(vec![]));
/// let into = saved.clone();
/// let ghost = TypeBuilder::new("Ghost", 8).finalizer(move |scope, ghost| save(scope, ghost, &into)).register()?;
/// let mut heap = Heap::new(HeapOptions::new())?;
/// heap.scope().allocate(ghost)?;
/// assert_eq!(heap.scope().collect(), 0);
/// assert_eq!(heap.scope().open(&saved.borrow()[0]).type_name(), "Ghost");
/// # saved.borrow_mut().clear();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FinalizerScope<'f> {
    scope: Scope<'f>,
}

impl<'f> FinalizerScope<'f> {
    /// Opens a scope in this one, for safepoints.
    pub fn nested(&mut self) -> Scope<'_> {
        self.scope.nested()
    }
}

impl<'f> Deref for FinalizerScope<'f> {
    type Target = Scope<'f>;

    fn deref(&self) -> &Scope<'f> {
        &self.scope
    }
}

/// Calls the closure that `find` knows with the object, in a scope of the heap that is running.
fn call(object: *mut c_void, find: impl FnOnce(&Scope<'_>, ObjectRef) -> Option<Rc<Finalize>>) {
    // None: the thread ends, and its closures have gone.
    let Some(core) = Core::of(running_heap()) else { return };
    // SAFETY: [HEADER] the heap calls with an object of its own, which a count holds meanwhile.
    let object = unsafe { ObjectRef::from_address(object as u64) };
    let mut scope = FinalizerScope { scope: Scope::enter(&core, core.inner()) };
    if let Some(closure) = find(&scope, object) {
        let handle = scope.root(Ref::new(object));
        closure(&mut scope, handle);
    }
}

/// What the heap calls for an object of a type with a finalizer.
///
/// # Safety
/// `object` is one of the running heap.
pub(crate) unsafe extern "C-unwind" fn finalize(object: *mut c_void) {
    call(object, |_, object| {
        let id = object.type_info().id;
        FINALIZERS.try_with(|finalizers| finalizers.borrow().get(&id).cloned()).ok().flatten()
    });
}

/// What it calls for a weak reference that was cleared.
///
/// # Safety
/// As for [`finalize`].
pub(crate) unsafe extern "C-unwind" fn weak_was_cleared(weak: *mut c_void) {
    call(weak, |scope, weak| scope.host::<Callback>(Ref::new(weak)).map(|callback| callback.0.clone()));
}

impl Scope<'_> {
    /// The object's finalizer is to run when it is found dead: for types that are finalized on request, and once more if
    /// it has run. False: its type has none.
    ///
    /// ```
    /// # use tally::{Heap, HeapOptions, TypeBuilder};
    /// # let mut heap = Heap::new(HeapOptions::new())?;
    /// let userdata = TypeBuilder::new("Userdata", 8).finalizer(|_, _| {}).finalize_on_request().register()?;
    /// let mut scope = heap.scope();
    /// let userdata = scope.allocate(userdata)?;
    /// assert!(scope.register_finalizer(scope.get(userdata)));
    /// scope.forget_finalizer(scope.get(userdata));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn register_finalizer(&self, object: Ref<'_>) -> bool {
        self.check(object.address());
        self.leaf(|inner| inner.register_finalizer(object.object))
    }

    /// The object's finalizer is not to run, also if the object was found dead already.
    ///
    /// # Panics
    /// When it belongs to another heap.
    pub fn forget_finalizer(&self, object: Ref<'_>) {
        self.check(object.address());
        self.leaf(|inner| inner.forget_finalizer(object.object));
    }
}
