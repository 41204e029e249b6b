//! Shared by the C symbols: the heap of this thread, the registration of a type, and the end of an allocation that
//! fails for good.

use tally_heap::OutOfMemory;
use tally_heap::context::current;
use tally_heap::descriptor::{DescriptorFault, TypeDescriptor};
use tally_heap::fatal::{self, STATUS_MEMORY, STATUS_USAGE};
use tally_heap::heap::Heap;
use tally_heap::object::ObjectRef;
use tally_heap::type_registry::{self, TypeInfo};
use tally_heap::zeal::access::FOREIGN;

/// The heap attached to this thread, made and attached if there is none yet.
///
/// # Safety
/// The borrow ends before anything else borrows the heap: a call of the program, or this function again.
#[inline(always)]
pub unsafe fn thread_heap<'a>() -> &'a mut Heap {
    // SAFETY: [CONTEXT] the thread's context; an attached heap outlives its attachment, and only its own thread comes
    // here.
    let heap = unsafe { &raw mut (*current()).heap };
    // SAFETY: [CONTEXT] the thread's context; an attached heap outlives its attachment, and only its own thread comes
    // here.
    if unsafe { *heap }.is_null() {
        make_thread_heap();
    }
    // SAFETY: [CONTEXT] the thread's context; an attached heap outlives its attachment, and only its own thread comes
    // here.
    let heap = unsafe { *heap };
    // SAFETY: [HELD] by the caller's promise no other borrow is in use.
    unsafe { &mut *heap }
}

/// The heap of the current thread, if it has one.
///
/// # Safety
/// As for [`thread_heap`].
#[inline(always)]
pub(crate) unsafe fn heap_at_hand<'a>() -> Option<&'a mut Heap> {
    // SAFETY: [CONTEXT] the thread's context; an attached heap outlives its attachment, and only its own thread comes
    // here.
    let heap = unsafe { (*current()).heap };
    // SAFETY: [HELD] by the caller's promise no other borrow is in use.
    unsafe { heap.as_mut() }
}

/// The object that a word refers to, which must be this thread's; `None` for a word outside the heap.
#[inline(always)]
pub(crate) fn own(word: u64, function: &str) -> Option<ObjectRef> {
    // SAFETY: [HEADER] what a function is given is a reference, or no address in the heap.
    let object = unsafe { ObjectRef::of_word(word) }?;
    // SAFETY: [ALONE] borrowed for this statement alone.
    if !unsafe { thread_heap() }.owns(object) {
        refuse(word, function, FOREIGN);
    }
    Some(object)
}

/// The same for a word that must be an object of the heap.
#[inline(always)]
pub(crate) fn required(word: u64, function: &str) -> ObjectRef {
    match own(word, function) {
        Some(object) => object,
        None => refuse(word, function, "which is not an object of the heap"),
    }
}

/// Stops the program, since a function was given something else.
#[cold]
#[inline(never)]
pub(crate) fn refuse(word: u64, function: &str, why: &str) -> ! {
    fatal::stop(STATUS_USAGE, &format!("{function} of {word:#x}, {why}"))
}

#[cold]
fn make_thread_heap() {
    // SAFETY: [CONTEXT] this thread's context.
    let before = unsafe { &*current() };
    let (anchor, entry) = (before.exit_anchor(), before.entry);
    let heap = Box::leak(crate::program::make_heap());
    heap.attach();
    let context = heap.context_mut();
    context.set_exit_anchor(anchor);
    context.entry = entry;
}

/// The type of a descriptor that describes a root under the prompt plan.
pub(crate) fn root_type(descriptor: &'static TypeDescriptor) -> &'static TypeInfo {
    registered(descriptor)
}

/// The type of a descriptor. One that cannot be registered ends the process.
pub(crate) fn registered(descriptor: &'static TypeDescriptor) -> &'static TypeInfo {
    match type_registry::register(descriptor) {
        Ok(id) => id.info(),
        Err(error) => {
            let out_of_room = matches!(error.fault, DescriptorFault::Range(_));
            fatal::stop(if out_of_room { STATUS_MEMORY } else { STATUS_USAGE }, &error)
        }
    }
}

/// The address of a new object. Without memory for it the process ends.
pub(crate) fn answer(allocated: Result<ObjectRef, OutOfMemory>) -> u64 {
    match allocated {
        Ok(object) => object.address(),
        Err(error) => fatal::stop(STATUS_MEMORY, &error),
    }
}
