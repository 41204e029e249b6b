//! The program makes a stack, switches, and looks at stacks; a stack ends. `tally.h` has the contract.

use super::memory::Memory;
use super::{Entry, Record, State, THREAD, close, current, is_coroutine, record_of, refuse, set_current};
use crate::abi::thread_heap;
use crate::stack::{bounds, diversion, root_metadata, roots, shadow_stack};
use std::mem::ManuallyDrop;
use tally_heap::fatal::{self, STATUS_MEMORY};
use tally_heap::heap::HeapEntry;
use tally_heap::memory::sanitizer;
use tally_heap::{Heap, ObjectRef};

/// Makes a coroutine; 0: there is no memory for its stack, or no room for its object.
pub(crate) fn new(heap: &mut Heap, entry: Entry, bytes: u64) -> u64 {
    if crate::arch::returns_are_checked() {
        refuse(
            "tally_stack_new: the processor compares returns with a shadow stack (CET, GCS), which knows one stack a thread",
        );
    }
    if root_metadata::is_on() {
        refuse("tally_stack_new: after tally_trace_with, roots of a stack that sleeps would lose their metadata");
    }
    main_of(heap);
    release_finished();
    let Some(memory) = Memory::take(bytes).or_else(|| take_after_a_collection(heap, bytes)) else { return 0 };
    if memory.is_more() {
        heap.note_stack_memory();
    }
    let record = Record::of_coroutine(heap, memory, entry);
    let address = &raw const *record as u64;
    match heap.new_coroutine(record, address) {
        Ok(object) => {
            // SAFETY: the record lives as long as the coroutine.
            unsafe { &*(address as *const Record) }.object.set(object.address());
            object.address()
        }
        Err(_) => 0,
    }
}

/// There is no memory for another stack: those of dead coroutines come back first.
#[cold]
fn take_after_a_collection(heap: &mut Heap, bytes: u64) -> Option<Memory> {
    if !Memory::is_a_size(bytes) {
        return None;
    }
    // SAFETY: [ALONE] nothing of the heap is borrowed but the heap itself, by a safepoint of the program.
    Heap::collect(unsafe { HeapEntry::of(heap) });
    Memory::take(bytes)
}

/// The running stack's record; the thread's own stack becomes a coroutine, too, when it is first asked for.
#[inline(always)]
pub(crate) fn main_of(heap: &mut Heap) -> &'static Record {
    match current() {
        Some(record) => record,
        None => begin_main(heap),
    }
}

/// The next step of a switch.
#[repr(C)]
pub(crate) struct Next {
    /// Where the stack pointer of the stack that is left goes; null: the program goes on as it is.
    save: *mut u64,
    /// The stack pointer of the one that goes on.
    sp: u64,
}

/// Prepares a switch to `to`, or for null to the stack that waits for the running one: all but the exchange of registers.
#[unsafe(no_mangle)]
extern "C" fn tally_stack_prepare_switch(to: u64) -> Next {
    // SAFETY: [ALONE] borrowed until the stack is left.
    let heap = unsafe { thread_heap() };
    let from = main_of(heap);
    let to = if to == 0 { waiting_for_this(heap) } else { addressed(heap, to, "tally_stack_switch") };
    if std::ptr::eq(from, to) {
        return Next { save: std::ptr::null_mut(), sp: 0 };
    }
    if heap.is_calling_the_program() || diversion::waits() {
        make_ready_to_leave(heap);
    }
    from.stops(heap);
    // Not a match, which would be a jump through a table.
    if to.state.get() == State::Suspended {
        from.state.set(State::Waiting);
        heap.enter_coroutine(to.its_object());
        from.note_handles(heap);
    } else if to.state.get() == State::Waiting {
        from.state.set(State::Suspended);
        heap.leave_coroutine();
        if heap.services.coroutines.chain().last() != Some(&to.its_object()) {
            suspend_those_above(heap, to);
        }
        from.check_handles(heap);
    } else {
        refuse("tally_stack_switch: this stack has finished");
    }
    from.is_left(heap);
    to.goes_on(heap);
    if sanitizer::is_there() {
        sanitizer::begin_switch(&from.fake_frames, false, to.bounds());
    }
    Next { save: from.sp.as_ptr(), sp: to.sp.get() }
}

/// A stack is not left in the midst of a call by the runtime, nor of a walk that has paused on it.
#[cold]
fn make_ready_to_leave(heap: &mut Heap) {
    if heap.is_calling_the_program() {
        // SAFETY: [ALONE] the program's hook is called, and the heap is not used meanwhile.
        Heap::end_left_calls(unsafe { HeapEntry::of(heap) });
    }
    if heap.is_calling_the_program() {
        refuse(
            "a stack is left in a finalizer, a callback or another function that the runtime calls, which must return \
             first (tally_stack_switch in a finalizer)",
        );
    }
    while diversion::waits() {
        heap.with_driver(|driver, heap| driver.frame_is_reached(heap));
    }
}

/// The stacks between the one that has been left and `to` are suspended.
#[cold]
fn suspend_those_above(heap: &mut Heap, to: &Record) {
    while let Some(&last) = heap.services.coroutines.chain().last()
        && last != to.its_object()
    {
        record_of(last).state.set(State::Suspended);
        heap.leave_coroutine();
    }
}

/// The stack that waits for the running one.
#[inline(always)]
fn waiting_for_this(heap: &Heap) -> &'static Record {
    match heap.services.coroutines.chain() {
        [.., waits, _] => record_of(*waits),
        _ => refuse("tally_stack_switch(NULL, …) on the thread's own stack, for which no other waits"),
    }
}

/// The coroutine at an address that the program has named.
#[inline(always)]
fn addressed(heap: &Heap, address: u64, function: &str) -> &'static Record {
    if is_coroutine(address) {
        // SAFETY: [HEADER] an object of that type.
        let record = record_of(unsafe { ObjectRef::from_address(address) });
        if record.is_of(heap) {
            return record;
        }
    }
    refuse_address(address, function)
}

#[cold]
fn refuse_address(address: u64, function: &str) -> ! {
    match is_coroutine(address) {
        false => refuse(&format!("{function}: {address:#x} is no object that tally_stack_new has made")),
        true => refuse(&format!("{function}: {address:#x} is a stack of another thread's heap; a thread runs its own")),
    }
}

/// Whether a coroutine runs, waits, is suspended, or has finished, as `tally.h` numbers it.
pub(crate) fn status(heap: &Heap, address: u64) -> i32 {
    addressed(heap, address, "tally_stack_status").state.get() as i32
}

/// The entry function of the running stack has returned: the one that waits for it goes on.
#[unsafe(no_mangle)]
extern "C" fn tally_stack_finished(value: u64) -> ! {
    // SAFETY: [ALONE] borrowed until the stack is left.
    let heap = unsafe { thread_heap() };
    let Some(from) = current() else { unreachable!("a coroutine's entry has returned, and none runs") };
    // No compiled frame is left on this stack.
    heap.context_mut().exit_pc = 0;
    make_ready_to_leave(heap);
    release_finished();
    from.check_handles(heap);
    let to = waiting_for_this(heap);
    from.state.set(State::Finished);
    from.forget_ran();
    heap.forget_argument(from.its_object());
    if heap.has_address_taken_stores() {
        heap.end_address_taken_stores();
    }
    let memory = from.memory.take();
    diversion::stack_ends(from.bounds());
    shadow_stack::leave_stack(from.bounds());
    // Its memory is in use until the next stack runs.
    THREAD.with(|thread| thread.finished.set(memory.map(ManuallyDrop::new)));
    heap.leave_coroutine();
    to.goes_on(heap);
    if sanitizer::is_there() {
        sanitizer::begin_switch(&from.fake_frames, true, to.bounds());
    }
    let mut nowhere = 0;
    // SAFETY: the stack of `to` stopped there; this one is never come back to.
    unsafe { crate::arch::swap(&raw mut nowhere, to.sp.get(), value) };
    unreachable!("a finished stack goes on")
}

/// The memory of a stack that has finished and been left goes back.
fn release_finished() {
    if let Some(memory) = THREAD.with(|thread| thread.finished.take()) {
        drop(ManuallyDrop::into_inner(memory));
    }
}

/// The thread's own stack becomes a coroutine.
#[cold]
fn begin_main(heap: &mut Heap) -> &'static Record {
    roots::note_bottom();
    let (low, high) = bounds::of_thread();
    let record = Box::new(Record::new(heap, low..high, State::Running));
    let address = &raw const *record as u64;
    let object = match heap.new_coroutine(record, address) {
        Ok(object) => object,
        Err(error) => fatal::stop(STATUS_MEMORY, &error),
    };
    heap.on_coroutine_death(close::on_death);
    heap.enter_coroutine(object);
    let record = record_of(object);
    record.object.set(object.address());
    record.handle_top.set(heap.context_mut().handle_top);
    set_current(Some(record));
    record
}

/// The value is about to be handed to a stack: one that has not begun keeps it, as its entry's argument.
pub(crate) fn keep(heap: &mut Heap, address: u64, value: ObjectRef) {
    // Of anything else the switch says what is wrong.
    if !is_coroutine(address) {
        return;
    }
    // SAFETY: [HEADER] an object of that type.
    let coroutine = unsafe { ObjectRef::from_address(address) };
    let record = record_of(coroutine);
    if record.is_of(heap) && record.has_not_begun() {
        heap.keep_argument(coroutine, value);
    }
}

/// Closes a suspended stack. One that has finished stays as it is.
pub(crate) fn close(heap: &mut Heap, address: u64) {
    close::close(heap, addressed(heap, address, "tally_stack_close"));
}
