//! Objects that the metadata of roots types: `tally_trace_with`. Of the trace plan.
//!
//! A frontend whose objects say nothing about themselves finds their types from the roots down, as Appel has it (*Runtime tags aren't
//! necessary*, 1989; Goldberg, *Tag-free garbage collection*, 1991). Its callback gets a slot and the metadata of what the slot refers
//! to, and calls `visit` with each field of that object and the metadata of the field. The obvious form is recursive:
//!
//! ```text
//!   trace(slot, meta):  if *slot is not marked:  mark *slot;  for each (field, its meta) of *slot:  trace(field, its meta)
//! ```
//!
//! Here `visit` only notes: the object goes to the mark's stack, which continues in the heap, and its metadata to a hidden word behind
//! its bytes. The mark comes to the object by its type's trace function, which is [`trace`], and that calls the callback.
//!
//! ```text
//!   hidden word:  collection in which it was written (16 bits) | metadata (48 bits)         0: never
//! ```
//!
//! Each collection comes to every living object, so an older number than the last cannot be met. An object that is reached with several
//! metadata is read by each: all but the first are listed in `also`, and followed before the trace function returns. One that is
//! reached without any (from a handle, from a root without metadata) is read by the last that it had, or word by word if it never had
//! any. Objects that have a type of their own are read by that.

use crate::stack::plain_root::visit_words;
use rustc_hash::FxHashSet;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use tally_heap::descriptor::{TraceFunction, TraceVisit};
use tally_heap::fatal::{self, STATUS_MEMORY, STATUS_USAGE};
use tally_heap::memory::list::List;
use tally_heap::memory::range;
use tally_heap::type_registry::{Reading, Tracer, TypeInfo};
use tally_heap::{ObjectRef, Slot};

/// `void visit(void **slot, const void *meta)`.
pub(crate) type Visit = unsafe extern "C" fn(*const u64, u64);
/// `void callback(void **slot, const void *meta, visit)`: calls `visit` with each reference of the object in the slot.
pub(crate) type Callback = unsafe extern "C" fn(*const u64, u64, Visit);

/// Bits of an address.
const ADDRESS_BITS: u32 = 48;
/// The highest number of a collection. The next is 1 again.
const LAST_NUMBER: u64 = (1 << (64 - ADDRESS_BITS)) - 1;

/// The callback of a thread, and its collection.
struct Tracing {
    callback: Cell<Option<Callback>>,
    /// Of the last collection.
    number: Cell<u64>,
    /// Whether it runs. Else objects are only looked at, and keep what is noted of them.
    marks: Cell<bool>,
    /// Where references go that are found: the visitor of the trace function that runs.
    found: Cell<Option<(TraceVisit, *mut c_void)>>,
    /// Made when a collection meets the first: a thread's variables that are there from its start are few.
    several: RefCell<Option<Box<Several>>>,
}

/// Objects that were reached with other metadata than their first.
#[derive(Default)]
struct Several {
    /// Those that are not yet read by it.
    also: List<(u64, u64)>,
    /// All that have been in that list, while a collection runs.
    seen: FxHashSet<(u64, u64)>,
}

thread_local! {
    /// The last collection of a program comes when the thread's other values have been dropped: this one is not.
    static TRACING: ManuallyDrop<Tracing> = const {
        ManuallyDrop::new(Tracing {
            callback: Cell::new(None),
            number: Cell::new(0),
            marks: Cell::new(false),
            found: Cell::new(None),
            several: RefCell::new(None),
        })
    };
}

/// Whether only a root could say what one of the objects is that the words refer to.
pub(crate) fn is_needed_for(words: &[u64]) -> bool {
    // SAFETY: [HEADER] a word that lies in the heap is an object, by the rule of such words.
    let mut objects =
        words.iter().filter(|&&word| range::in_heap(word)).map(|&word| unsafe { ObjectRef::from_address(word) });
    is_on() && objects.any(|object| is_typed_by_roots(object.type_info()))
}

/// Sets the thread's callback.
pub(crate) fn trace_with(callback: Callback) {
    TRACING.with(|tracing| tracing.callback.set(Some(callback)));
}

/// Whether the thread has a callback.
pub(crate) fn is_on() -> bool {
    TRACING.with(|tracing| tracing.callback.get().is_some())
}

/// A collection begins: no object has been reached.
pub(super) fn mark_begins() {
    TRACING.with(|tracing| {
        tracing.number.set(tracing.number.get() % LAST_NUMBER + 1);
        tracing.marks.set(true);
    });
}

/// A collection has found everything.
pub(super) fn mark_ends() {
    TRACING.with(|tracing| {
        tracing.marks.set(false);
        let several = tracing.several.take();
        debug_assert!(several.is_none_or(|several| several.also.is_empty()));
    });
}

/// Calls `found` with the object that the root refers to, and notes its metadata. `name` is called for a message.
pub(super) fn visit_root(slot: u64, meta: u64, name: impl FnOnce() -> String, found: impl FnOnce(ObjectRef)) {
    TRACING.with(|tracing| {
        if tracing.callback.get().is_none() {
            fatal::stop(
                STATUS_USAGE,
                &format!(
                    "metadata of {} at {meta:#x}: it is no tally_type, and no callback of tally_trace_with says what it means",
                    name()
                ),
            )
        }
        if let Some(object) = object_in(slot as *const u64) {
            tracing.note(object, meta);
            found(object);
        }
    });
}

/// The trace function of such objects. Their last word is the hidden one.
pub(crate) unsafe extern "C" fn trace(words: *const u64, count: u64, visit: TraceVisit, context: *mut c_void) {
    TRACING.with(|tracing| {
        let outer = tracing.found.replace(Some((visit, context)));
        // SAFETY: [HEADER] the words of an object of this plan, which reads no images of objects.
        let object = unsafe { ObjectRef::from_address(words as u64) };
        let (_, meta) = split(hidden(object).read());
        if tracing.marks.get() {
            // An object that was reached without metadata may still be reached with some, and is read again if that is other.
            hidden(object).store(join(tracing.number.get(), meta));
        }
        tracing.follow(object, meta, count - 1);
        loop {
            let next = tracing.several.borrow_mut().as_mut().and_then(|several| several.also.pop());
            let Some((address, meta)) = next else { break };
            // SAFETY: [HEADER] noted in this collection.
            let object = unsafe { ObjectRef::from_address(address) };
            tracing.follow(object, meta, object.type_info().size / 8 - 1);
        }
        tracing.found.set(outer);
    });
}

impl Tracing {
    /// Finds the references of the object, which has so many words.
    fn follow(&self, object: ObjectRef, meta: u64, words: u64) {
        let Some((visit, context)) = self.found.get() else { return };
        let place = object.address() as *const u64;
        match self.callback.get().filter(|_| meta != 0) {
            // SAFETY: a function of that type, by the promise of the frontend; it reads the object and calls back.
            Some(callback) => unsafe { callback(&raw const place as *const u64, meta, visit_field) },
            // SAFETY: the object's words, and the visitor of the trace function that runs.
            None => unsafe { visit_words(place, words, visit, context) },
        }
    }

    /// Notes that the object is reached with this metadata.
    fn note(&self, object: ObjectRef, meta: u64) {
        if meta == 0 || !self.marks.get() || !is_typed_by_roots(object.type_info()) {
            return;
        }
        if meta >> ADDRESS_BITS != 0 {
            fatal::stop(
                STATUS_USAGE,
                &format!("metadata {meta:#x} of an object at {:#x}: it is no address", object.address()),
            );
        }
        let slot = hidden(object);
        match split(slot.read()) {
            (number, _) if number != self.number.get() => slot.store(join(self.number.get(), meta)),
            (_, first) if first == meta => {}
            _ => self.note_another(object.address(), meta),
        }
    }

    #[cold]
    fn note_another(&self, object: u64, meta: u64) {
        let mut several = self.several.borrow_mut();
        let Several { also, seen } = &mut **several.get_or_insert_default();
        let has_room = seen.try_reserve(1).is_ok();
        if has_room && !seen.insert((object, meta)) {
            return;
        }
        if !has_room || !also.try_push((object, meta)) {
            fatal::stop(STATUS_MEMORY, &"no memory to note an object that is reached with several metadata");
        }
    }
}

unsafe extern "C" fn visit_field(slot: *const u64, meta: u64) {
    TRACING.with(|tracing| {
        if let Some((visit, context)) = tracing.found.get()
            && let Some(object) = object_in(slot)
        {
            tracing.note(object, meta);
            // SAFETY: the visitor of the trace function that runs takes each object that is found.
            unsafe { visit(object.address() as *mut c_void, context) };
        }
    });
}

/// The object that the word refers to, unless it lies elsewhere.
fn object_in(slot: *const u64) -> Option<ObjectRef> {
    // SAFETY: [ROOT] a root, or a field that the callback names; either can be read.
    let word = unsafe { slot.read_unaligned() };
    // SAFETY: [HEADER] a word that lies in the heap is an object, by the rule of such slots.
    range::in_heap(word).then(|| unsafe { ObjectRef::from_address(word) })
}

fn is_typed_by_roots(info: &TypeInfo) -> bool {
    matches!(info.reading, Reading::Traced(Tracer::Function(function)) if std::ptr::fn_addr_eq(function, trace as TraceFunction))
}

/// The last word of such an object.
fn hidden(object: ObjectRef) -> Slot {
    object.slot(object.type_info().size - 8)
}

fn join(number: u64, meta: u64) -> u64 {
    number << ADDRESS_BITS | meta
}

fn split(word: u64) -> (u64, u64) {
    (word >> ADDRESS_BITS, word & ((1 << ADDRESS_BITS) - 1))
}
