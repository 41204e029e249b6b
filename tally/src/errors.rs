//! Errors of finalizers: what escaped from a finalizer, a callback, or the `drop` of a host value.
//!
//! They are noted where they happen, in the middle of a collection, and told when the safepoint is over.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// What escaped from a finalizer, a callback of a weak reference, or the `drop` of a host value.
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
/// use tally::{Heap, HeapOptions, TypeBuilder};
///
/// let mut heap = Heap::new(HeapOptions::new())?;
/// let said = Rc::new(RefCell::new(vec![]));
/// let note = said.clone();
/// heap.on_finalizer_error(move |error| note.borrow_mut().push(error.to_string()));
/// let file = TypeBuilder::new("File", 8).finalizer(|_, _| panic!("it was open")).register()?;
/// heap.scope().allocate(file)?;
/// heap.scope().collect();
/// assert_eq!(*said.borrow(), ["`File` panicked: it was open"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalizerError {
    /// The type of the object, or of the host value in Rust.
    pub type_name: String,
    /// What escaped, as text.
    pub message: String,
}

impl std::fmt::Display for FinalizerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` {}", self.type_name, self.message)
    }
}

impl std::error::Error for FinalizerError {}

type Listener = Box<dyn FnMut(&FinalizerError)>;

#[derive(Default)]
struct Told {
    listener: RefCell<Option<Listener>>,
    waiting: RefCell<Vec<FinalizerError>>,
}

/// Those of one heap.
#[derive(Clone, Default)]
pub(crate) struct Errors(Rc<Told>);

impl Errors {
    pub(crate) fn listen(&self, listener: Listener) {
        // What the one before owns may come back here.
        drop(self.0.listener.replace(Some(listener)));
    }

    pub(crate) fn note(&self, type_name: &str, message: &str) {
        let error = FinalizerError { type_name: type_name.to_owned(), message: message.to_owned() };
        self.0.waiting.borrow_mut().push(error);
    }

    /// Drops a value of the host in the middle of a collection.
    pub(crate) fn drop_value<T>(&self, value: T) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(move || drop(value))) {
            self.note(std::any::type_name::<T>(), &format!("panicked when it was dropped{}", text_of(&*panic)));
            // The payload of a panic may panic as well.
            let payload = catch_unwind(AssertUnwindSafe(move || drop(panic)));
            payload.unwrap_or_else(std::mem::forget);
        }
    }

    /// Tells all that wait. No code of the heap runs.
    pub(crate) fn tell(&self) {
        while let Some(error) = self.next() {
            let Some(mut listener) = self.0.listener.take() else {
                tally_heap::tell_line!("tally: {error}; the others go on");
                continue;
            };
            let told = catch_unwind(AssertUnwindSafe(|| listener(&error)));
            let listener = self.0.listener.take().unwrap_or(listener);
            drop(self.0.listener.replace(Some(listener)));
            told.unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    fn next(&self) -> Option<FinalizerError> {
        let mut waiting = self.0.waiting.borrow_mut();
        if waiting.is_empty() { None } else { Some(waiting.remove(0)) }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        for error in self.waiting.take() {
            match self.listener.get_mut() {
                Some(listener) => listener(&error),
                None => tally_heap::tell_line!("tally: {error}"),
            }
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.map_or_else(String::new, |text| format!(": {text}"))
}
