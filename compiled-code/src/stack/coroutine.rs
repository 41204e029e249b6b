//! Coroutines: stacks of their own, which the program makes, switches between and closes.
//!
//! `tally_stack_new` makes an object (`tally_heap::services::coroutine`) that owns a [`Record`] and its [`Memory`].
//! `tally_stack_switch` stops the running stack and lets another go on, in a few instructions of assembly (`switch`).
//! The stacks that wait form the *chain*: each has switched to the next, and the running one is the last. A stack ends
//! when its entry function returns; the one before it in the chain goes on.
//!
//! | state | in the chain | its frames |
//! |---|---|---|
//! | running | the last | are walked as ever (`stack::roots`) |
//! | waiting | yes | are laid down at the next look at roots, unless one lends a root (`frames`) |
//! | suspended | no | the same; if nothing refers to the coroutine it dies, and no frame of it ever runs again |
//! | finished | no | none |
//!
//! **One stack a thread** was assumed by the rest of the runtime. What follows the running stack is exchanged in a
//! switch: the bounds of the stack (`roots`, the message about an overflow), the lists of frames that lend roots in the
//! context, the head of LLVM's shadow stack. What cannot be exchanged prevents a switch, or is finished before: a walk
//! that has paused on the stack that is left (`diversion`), a call of the program by the runtime (a finalizer), scoped
//! handles that would not be closed in the order of their scopes. `[WATERMARK]`

mod close;
pub(crate) mod frames;
pub(crate) mod memory;
mod record;
mod switch;

pub(crate) use close::{close, leave, on_death};
pub(crate) use record::{Record, State, current};

use crate::abi::thread_heap;
use crate::stack::diversion;
use crate::stack::roots;
use crate::stack::shadow_stack;
use memory::Memory;
use record::{THREAD, begin_main, record_of};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use tally_heap::Heap;
use tally_heap::ObjectRef;
use tally_heap::fatal::{self, STATUS_MEMORY, STATUS_USAGE};

/// `void *entry(void *value)`.
pub(crate) type Entry = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Makes a coroutine; 0: there is no memory for its stack.
pub(crate) fn new(heap: &mut Heap, entry: Entry, bytes: u64) -> u64 {
    if diversion::returns_are_checked() {
        refuse("tally_stack_new: the processor compares returns with a shadow stack (CET), which knows one stack a thread");
    }
    main_of(heap);
    let Some(memory) = Memory::take(bytes) else { return 0 };
    let record = Record::of_coroutine(heap, memory, entry);
    let address = &raw const *record as u64;
    match heap.new_coroutine(record, address) {
        Ok(object) => {
            // SAFETY: the record lives as long as the coroutine.
            unsafe { &*(address as *const Record) }.object.set(object.address());
            object.address()
        }
        Err(error) => fatal::stop(STATUS_MEMORY, &error),
    }
}

/// The running stack's record; the thread's own stack becomes a coroutine, too, when it is first asked for.
pub(crate) fn main_of(heap: &mut Heap) -> &'static Record {
    match current() {
        Some(record) => record,
        None => begin_main(heap),
    }
}

/// Stops the running stack and lets `to` go on, whose call of this returns `value`; null: the stack that waits for the
/// running one. Returns the value with which the program comes back.
pub(crate) extern "C" fn switch(to: u64, value: u64) -> u64 {
    // SAFETY: [ALONE] borrowed until the stack is left.
    let heap = unsafe { thread_heap() };
    let from = main_of(heap);
    let to = match to {
        0 => waiting_for_this(heap),
        to => addressed(heap, to, "tally_stack_switch"),
    };
    if std::ptr::eq(from, to) {
        return value;
    }
    if heap.is_calling_the_program() {
        refuse("tally_stack_switch in a finalizer, a callback or a function that the runtime calls: it must return first");
    }
    while diversion::waits() {
        // The frames that wait to be visited are on the stack that is left.
        heap.with_driver(|driver, heap| driver.frame_is_reached(heap));
    }
    let sp = from.stops(heap);
    match to.state.get() {
        State::Waiting => {
            from.state.set(State::Suspended);
            heap.leave_coroutine();
            drop_waiting_above(heap, to);
        }
        State::Suspended => {
            from.state.set(State::Waiting);
            heap.enter_coroutine(to.its_object());
        }
        State::Finished => refuse("tally_stack_switch: this stack has finished"),
        State::Running => unreachable!("the running stack was looked at"),
    }
    from.is_left(heap);
    to.goes_on(heap);
    // SAFETY: the stack of `to` stopped there, or is new; nothing is borrowed.
    let value = unsafe { switch::swap(sp, to.sp.get(), value) };
    // Another stack has come back to this one, perhaps as its last deed.
    if let Some(memory) = THREAD.with(|thread| thread.finished.take()) {
        drop(ManuallyDrop::into_inner(memory));
    }
    value
}

/// The stacks between the one that has been left and `to` are suspended.
fn drop_waiting_above(heap: &mut Heap, to: &Record) {
    while let Some(&last) = heap.services.coroutines.chain().last()
        && last != to.its_object()
    {
        record_of(last).state.set(State::Suspended);
        heap.leave_coroutine();
    }
}

/// The stack that waits for the running one.
fn waiting_for_this(heap: &Heap) -> &'static Record {
    match heap.services.coroutines.chain() {
        [.., waits, _] => record_of(*waits),
        _ => refuse("tally_stack_switch(NULL, …) on the thread's own stack, for which no other waits"),
    }
}

/// The coroutine at an address that the program has named.
fn addressed(heap: &Heap, address: u64, function: &str) -> &'static Record {
    let found = record::is_coroutine(address).then(|| {
        // SAFETY: [HEADER] an object of that type.
        record_of(unsafe { ObjectRef::from_address(address) })
    });
    match found {
        None => refuse(&format!("{function}: {address:#x} is no object that tally_stack_new has made")),
        Some(record) if !record.is_of(heap) => {
            refuse(&format!("{function}: {address:#x} is a stack of another thread's heap; a thread runs its own"))
        }
        Some(record) => record,
    }
}

/// Whether a coroutine runs, waits, is suspended, or has finished, as `tally.h` numbers it.
pub(crate) fn status(heap: &Heap, address: u64) -> i32 {
    addressed(heap, address, "tally_stack_status").state.get() as i32
}

/// The entry function of the running stack has returned: the one that waits for it goes on.
pub(crate) extern "C" fn finished(value: u64) -> ! {
    // SAFETY: [ALONE] borrowed until the stack is left.
    let heap = unsafe { thread_heap() };
    let Some(from) = current() else { unreachable!("a coroutine's entry has returned, and none runs") };
    // No compiled frame is left on this stack.
    heap.context_mut().exit_pc = 0;
    if heap.is_calling_the_program() {
        refuse("a stack's entry function returns, and a finalizer or callback that runs on it does not");
    }
    while diversion::waits() {
        heap.with_driver(|driver, heap| driver.frame_is_reached(heap));
    }
    from.check_handles(heap);
    let to = waiting_for_this(heap);
    from.state.set(State::Finished);
    from.forget_ran();
    if heap.has_lent_stores() {
        heap.end_lent_stores();
    }
    let memory = from.memory.take();
    diversion::stack_ends(from.bounds());
    shadow_stack::leave_stack(from.bounds());
    THREAD.with(|thread| thread.finished.set(memory.map(ManuallyDrop::new)));
    heap.leave_coroutine();
    to.goes_on(heap);
    let mut nowhere = 0;
    // SAFETY: the stack of `to` stopped there; this one is never come back to.
    unsafe { switch::swap(&raw mut nowhere, to.sp.get(), value) };
    unreachable!("a finished stack goes on")
}

/// Whether an address lies on a stack of the calling thread, or of another's coroutine, that does not run.
#[cold]
pub(crate) fn lies_on_a_stopped_stack(address: u64) -> bool {
    let Some(running) = current() else { return false };
    let (low, high) = roots::bounds_of_thread();
    !running.bounds().contains(&address) && ((low..high).contains(&address) || memory::holds(address))
}

#[cold]
fn refuse(why: &str) -> ! {
    fatal::stop(STATUS_USAGE, why)
}
