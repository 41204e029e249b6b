//! The heap of a thread that runs compiled code: made when the thread first needs one, returned when the thread ends.
//!
//! Each thread has its own (`crate::abi::thread_heap` asks for it), set up from the run's options. A thread-specific
//! key of the C library carries the heap, because its destructors run for threads of every origin (pthread, Rust, C++),
//! when they return as when they call `pthread_exit` or are cancelled; and they run again for a heap that another key's
//! destructor made meanwhile.
//!
//! At the thread's end no frame of compiled code is left, so a full collection leaves only the objects that global
//! roots hold. If there are none, the heap and its blocks go back to the process. Otherwise the heap is kept until
//! the process ends, so that the globals lead nowhere wrong. Zeal keeps every heap: its dead stay recognisable.

pub(crate) mod overflow_message;
pub mod stack_overflow;

use crate::program;
use crate::stack::coroutine::leave;
use crate::stack::roots::StackRoots;
use std::ffi::c_void;
use std::sync::OnceLock;
use tally_heap::Heap;
use tally_heap::fatal::{self, STATUS_MEMORY};
use tally_heap::heap::HeapEntry;
use tally_heap::heap::HeapOptions;

/// Makes the calling thread's heap.
pub(crate) fn make() -> Box<Heap> {
    let plan = crate::module::registry::plan_for_heap();
    let asked = program::options().heap_options();
    let count_objects = asked.count_objects || crate::module::registry::counts_are_wanted();
    let options = HeapOptions { plan, count_objects, ..asked };
    // SAFETY: [HELD] the program's code is compiled by the rules; its roots are on the stack that is given.
    let mut heap =
        match unsafe { Heap::new(options, crate::module::driver::make(plan, Box::new(StackRoots::default()))) } {
            Ok(heap) => heap,
            Err(error) => fatal::stop(STATUS_MEMORY, &error),
        };
    // SAFETY: the key is valid; the heap stays at this address until `thread_ended` gets it back.
    if unsafe { libc::pthread_setspecific(key(), (&raw mut *heap).cast()) } != 0 {
        fatal::stop(STATUS_MEMORY, "no memory for a thread's heap");
    }
    heap.find_sites_with(Box::new(StackRoots::default()));
    stack_overflow::prepare_thread();
    heap
}

fn key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `thread_ended` is a destructor; the key is never deleted.
        if unsafe { libc::pthread_key_create(&mut key, Some(thread_ended)) } != 0 {
            fatal::stop(
                STATUS_MEMORY,
                "the process has used up its keys for thread-specific data (pthread_key_create)",
            );
        }
        key
    })
}

/// Ends a thread's heap; runs on the ending thread, after the C library has set its value of the key to null.
unsafe extern "C" fn thread_ended(heap: *mut c_void) {
    let heap = heap.cast::<Heap>();
    // SAFETY: `make` gave this address of a heap that nothing has dropped; only its own thread uses it.
    let left = unsafe { end(&mut *heap) };
    if left == 0 {
        // SAFETY: `make` gave this address of a heap that nothing has dropped; only its own thread uses it;
        // `crate::abi` leaked the box, and the context forgot it.
        drop(unsafe { Box::from_raw(heap) });
    }
    stack_overflow::leave_thread();
}

/// Collects a heap whose thread has no frames left, and takes it off the thread. Returns the number of objects that
/// must stay.
fn end(heap: &mut Heap) -> u64 {
    program::before_thread_end(heap);
    heap.context_mut().exit_pc = 0;
    leave::leave(heap);
    heap.close_handles(0);
    heap.unfreeze();
    // SAFETY: the thread's frames are gone; nothing here holds a reference to the heap.
    Heap::collect(unsafe { HeapEntry::of(heap) });
    program::after_thread_end(heap);
    heap.detach();
    heap.statistics_now().live_objects.max(heap.zeal.is_some().into())
}
