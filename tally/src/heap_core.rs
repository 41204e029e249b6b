//! What a heap has behind its scopes: the heap of the inner crates, and what the program has said of it.
//!
//! A function of this crate either is a *leaf*, which runs nothing of the program, or a *safepoint*. A leaf borrows the
//! inner heap while it runs ([`Scope::leaf`](crate::Scope)). A safepoint has its address only, since finalizers and
//! callbacks come back to the heap by scopes of their own. What goes wrong in those is told when the safepoint is over:
//! nothing unwinds through the collector.

use crate::errors::Errors;
use crate::global_handle::Freed;
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::rc::{Rc, Weak};
use std::sync::OnceLock;
use tally_collector::Mutator;
use tally_heap::memory::range::RangeError;
use tally_heap::services::builtin;
use tally_heap::services::weak_map::WeakMode;

/// The heap of the inner crates.
pub(crate) type Inner = tally_heap::Heap;

/// See the file's first lines.
pub(crate) struct Core {
    inner: NonNull<Inner>,
    pub(crate) mutator: UnsafeCell<Mutator>,
    pub(crate) freed: Freed,
    /// After the mutator: drops of the last host values are told.
    pub(crate) errors: Errors,
    panic: Cell<Option<Box<dyn Any + Send>>>,
    /// Safepoints that are running, one inside the other.
    depth: Cell<u32>,
}

thread_local! {
    /// The heaps of this thread.
    static HEAPS: RefCell<Vec<Weak<Core>>> = const { RefCell::new(vec![]) };
}

/// Types of the runtime's own objects, whose words no program reads.
static BUILTIN: OnceLock<[u32; 12]> = OnceLock::new();

/// Whether the type with that id is one of them.
#[inline(always)]
pub(crate) fn is_builtin(id: u32) -> bool {
    BUILTIN.get().is_some_and(|ids| ids.contains(&id))
}

fn builtin_ids() -> [u32; 12] {
    let [keys, values, both] = [WeakMode::Keys, WeakMode::Values, WeakMode::Both].map(builtin::weak_map_entry);
    let (weak, told, ephemeron) = (builtin::weak(), builtin::weak_with_callback(), builtin::ephemeron());
    let (map, table, bucket) = (builtin::weak_map(), builtin::weak_map_table(), builtin::weak_map_bucket());
    let (set, set_table) = (builtin::weak_set(), builtin::weak_set_table());
    [builtin::host(), weak, told, ephemeron, map, table, bucket, keys, values, both, set, set_table].map(|info| info.id)
}

impl Core {
    pub(crate) fn new(options: tally_heap::HeapOptions) -> Result<Rc<Core>, RangeError> {
        // SAFETY: [HELD] references are used as it says.
        let mut mutator = unsafe { Mutator::new(options) }?;
        BUILTIN.get_or_init(builtin_ids);
        let (inner, errors) = (NonNull::from(mutator.heap()), Errors::default());
        let later = errors.clone();
        mutator.on_finalizer_error(move |error| later.note(error.type_name, error.message));
        let (freed, panic, depth) = (Freed::default(), Cell::default(), Cell::default());
        let core = Rc::new(Core { inner, mutator: UnsafeCell::new(mutator), freed, errors, panic, depth });
        // Where the thread's own variables have gone callbacks do not find the heap, and are not called.
        let _ = HEAPS.try_with(|heaps| heaps.borrow_mut().push(Rc::downgrade(&core)));
        Ok(core)
    }

    /// The heap of this thread with that inner heap; none where the thread's own variables have gone.
    pub(crate) fn of(inner: *mut Inner) -> Option<Rc<Core>> {
        let find = |heaps: &Vec<Weak<Core>>| {
            heaps.iter().rev().filter_map(Weak::upgrade).find(|core| std::ptr::eq(core.inner.as_ptr(), inner))
        };
        HEAPS.try_with(|heaps| find(&heaps.borrow())).ok().flatten()
    }

    /// Its owner goes.
    pub(crate) fn forget(&self) {
        let others = |core: &Weak<Core>| !std::ptr::eq(core.as_ptr(), self);
        // Without the thread's own variables there is no list.
        let _ = HEAPS.try_with(|heaps| heaps.borrow_mut().retain(others));
    }

    pub(crate) fn inner(&self) -> NonNull<Inner> {
        self.inner
    }

    /// Runs code of the program in the middle of a safepoint. A panic goes on when that is over.
    pub(crate) fn guard<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        catch_unwind(AssertUnwindSafe(call)).map_err(|panic| self.panic.set(Some(panic))).ok()
    }

    /// Runs a safepoint. Afterwards a panic of a callback that it has called goes on, and the outermost tells of errors.
    pub(crate) fn safepoint<T>(&self, call: impl FnOnce() -> T) -> T {
        self.depth.update(|depth| depth + 1);
        let answer = call();
        self.depth.update(|depth| depth - 1);
        if self.depth.get() == 0 {
            self.errors.tell();
        }
        if let Some(panic) = self.panic.take() {
            std::panic::resume_unwind(panic);
        }
        answer
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "heap {:p}", self.inner)
    }
}
