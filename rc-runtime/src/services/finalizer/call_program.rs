//! The program is called with an object, which a count holds meanwhile.

use super::{FRAME_WORDS, Finalizer, FinalizerError, hook};
use crate::heap::{Heap, HeapEntry};
use crate::object::ObjectRef;
use crate::services::exception::{self, Escaped};
use crate::type_registry::TypeInfo;
use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;

thread_local! {
    /// The heap whose finalizer runs on this thread.
    pub(super) static RUNNING: Cell<*mut Heap> = const { Cell::new(std::ptr::null_mut()) };
}

/// The heap whose finalizer runs on this thread; null outside of finalizers.
pub fn running_heap() -> *mut Heap {
    RUNNING.get()
}

impl Heap {
    /// Calls the object's finalizer, if its type has one; it will not run again. A count holds the object meanwhile.
    pub(crate) fn finalize(mut heap: HeapEntry, object: ObjectRef) {
        let Some(finalizer) = object.type_info().finalizer() else { return };
        heap.end_registration(object);
        Heap::call_program(heap, object, finalizer);
    }

    /// Calls a function of the program with an object, which a count holds meanwhile.
    #[inline(never)]
    pub(crate) fn call_program(mut heap: HeapEntry, object: ObjectRef, function: Finalizer) {
        let info = object.type_info();
        let mut room = MaybeUninit::<[u64; FRAME_WORDS]>::uninit();
        let frame: *mut u64 = room.as_mut_ptr().cast();
        let number = heap.begin_call(object, frame as u64);
        // SAFETY: the frame's own room.
        unsafe { frame.write_volatile(number) };
        // SAFETY: [DESCRIPTOR] a finalizer or callback, which may be called with the object; no borrow of the heap is kept.
        if let Err(escaped) = unsafe { exception::call(function, object.address() as *mut c_void) } {
            Heap::report_error(heap, object, info, &escaped);
        }
        heap.end_call(frame as u64);
    }
    pub(in crate::services::finalizer) fn report_error(
        mut heap: HeapEntry,
        object: ObjectRef,
        info: &TypeInfo,
        escaped: &Escaped,
    ) {
        let (name, message) = (&*info.name, escaped.message());
        let listener = heap.services.finalizers.on_error.take();
        let told = if let Some(mut listener) = listener {
            let told = exception::guard(|| listener(&FinalizerError { object, type_name: name, message: &message }));
            heap.services.finalizers.on_error.get_or_insert(listener);
            told
        } else if let Some(hook) = hook() {
            let [name, message] =
                [name, message.as_str()].map(|text| CString::new(text.replace('\0', " ")).unwrap_or_default());
            exception::guard(|| {
                // SAFETY: the setter of the hook promised that it takes these.
                unsafe { hook(object.address() as *mut c_void, name.as_ptr(), message.as_ptr(), escaped.exception()) }
            })
        } else {
            crate::tell_line!("tally: the finalizer of an object of type `{name}` {message}; the others go on");
            Ok(())
        };
        if let Err(again) = told {
            crate::tell_line!("tally: the hook for errors of finalizers {}", again.message());
        }
    }
}
