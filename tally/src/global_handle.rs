//! Global handles: roots that live as long as their owners say.
//!
//! One may be dropped anywhere, where its heap is not at hand, and after its heap is gone. So it only notes that its
//! word is free; the heap takes such words back when it is used next. The note is shared by count, on one thread: a
//! [`Global`] is not `Send`, like its heap.

use std::cell::RefCell;
use std::rc::Rc;
use tally_heap::memory::list::List;

/// Keeps an object until it is dropped. Read with [`Scope::open`](crate::Scope::open).
///
/// ```
/// use tally::{Global, Heap, HeapOptions, TypeBuilder};
///
/// struct Interpreter { heap: Heap, globals: Vec<Global> }
///
/// let mut it = Interpreter { heap: Heap::new(HeapOptions::new())?, globals: vec![] };
/// let cell = TypeBuilder::new("Cell", 8).register()?;
/// let mut scope = it.heap.scope();
/// let cell = scope.allocate(cell)?;
/// scope.set_word(scope.get(cell), 0, 7);
/// it.globals.push(scope.global(scope.get(cell)));
/// drop(scope);
/// assert_eq!(it.heap.scope().open(&it.globals[0]).word(0), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Global {
    word: u64,
    freed: Freed,
}

/// Words of one heap's global handles whose owners are gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Freed(Rc<RefCell<List<u64>>>);

impl Freed {
    /// The owner of a new global handle.
    pub(crate) fn global(&self, word: u64) -> Global {
        Global { word, freed: self.clone() }
    }

    /// Those that were dropped since the last time.
    pub(crate) fn take(&self) -> List<u64> {
        if self.0.borrow().is_empty() { List::new() } else { self.0.take() }
    }
}

impl Global {
    /// The word in it, if it belongs to the heap that asks.
    pub(crate) fn word_of(&self, heap: &Freed) -> u64 {
        assert!(Rc::ptr_eq(&self.freed.0, &heap.0), "a global handle of another heap");
        // SAFETY: the heap is there, and its global handles stay until they are freed.
        unsafe { *(self.word as *const u64) }
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        self.freed.0.borrow_mut().push(self.word);
    }
}
