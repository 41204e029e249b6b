//! The program is called with an object, which a count holds meanwhile.

#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a heap that the program may come back to is a pointer, followed step by step"
)]

use super::{FRAME_WORDS, Finalizer, FinalizerError, hook};
use crate::heap::Heap;
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
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    pub(crate) unsafe fn finalize(heap: *mut Heap, object: ObjectRef) {
        let Some(finalizer) = object.type_info().finalizer() else { return };
        // SAFETY: by the caller's promise.
        unsafe {
            (&mut *heap).end_registration(object);
            Heap::call_program(heap, object, finalizer);
        }
    }

    /// Calls a function of the program with an object, which a count holds meanwhile.
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    #[inline(never)]
    pub(crate) unsafe fn call_program(heap: *mut Heap, object: ObjectRef, function: Finalizer) {
        let info = object.type_info();
        // SAFETY: by the caller's promise; the borrows end before the calls.
        unsafe {
            let mut room = MaybeUninit::<[u64; FRAME_WORDS]>::uninit();
            let frame: *mut u64 = room.as_mut_ptr().cast();
            frame.write_volatile((&mut *heap).begin_call(object, frame as u64));
            if let Err(escaped) = exception::call(function, object.address() as *mut c_void) {
                Heap::report_error(heap, object, info, &escaped);
            }
            (&mut *heap).end_call(frame as u64);
        }
    }

    pub(in crate::services::finalizer) unsafe fn report_error(
        heap: *mut Heap,
        object: ObjectRef,
        info: &TypeInfo,
        escaped: &Escaped,
    ) {
        let (name, message) = (&*info.name, escaped.message());
        // SAFETY: as for `finalize`.
        let listener = unsafe { (*heap).services.finalizers.on_error.take() };
        let told = if let Some(mut listener) = listener {
            let told = exception::guard(|| listener(&FinalizerError { object, type_name: name, message: &message }));
            // SAFETY: as above.
            unsafe { (*heap).services.finalizers.on_error.get_or_insert(listener) };
            told
        } else if let Some(hook) = hook() {
            let [name, message] =
                [name, message.as_str()].map(|text| CString::new(text.replace('\0', " ")).unwrap_or_default());
            exception::guard(|| {
                // SAFETY: the setter of the hook promised that it takes these.
                unsafe { hook(object.address() as *mut c_void, name.as_ptr(), message.as_ptr(), escaped.exception()) }
            })
        } else {
            eprintln!("tally: the finalizer of an object of type `{name}` {message}; the others go on");
            Ok(())
        };
        if let Err(again) = told {
            eprintln!("tally: the hook for errors of finalizers {}", again.message());
        }
    }
}
