//! Exceptions that escape a finalizer, caught at the border: a C++ exception, one of another language, a Rust panic.
//!
//! The collector calls finalizers in the middle of its work, and nothing may unwind through that. Rust's `catch_unwind`
//! catches Rust's panics and aborts at anything else, so a frame in assembly stands below it, with a personality
//! routine of its own:
//!
//! ```text
//!   finalizer                    throws
//!   guarded_call                 its personality takes every exception but Rust's: lands behind the call, with the exception
//!   catch_unwind                 takes Rust's
//!   the collector                sees a return value
//! ```
//!
//! A thread that ends inside a finalizer (`pthread_exit`, cancellation) unwinds by force, which must not be caught: the
//! program stops.
//!
//! A C++ exception is entered and left as a handler in C++ would (`__cxa_begin_catch`, `__cxa_end_catch`), or
//! `std::uncaught_exceptions` would be off by one from then on; so a hook that runs meanwhile may say `throw;`
//! inside a `try` and look at it. Others are deleted (`_Unwind_DeleteException`).
//!
//! Sources: Itanium C++ ABI: Exception Handling, levels I and II.

#![expect(clippy::multiple_unsafe_ops_per_block, reason = "lookups in a library that may not be there")]

use crate::arch::{RESULT_REGISTER, guarded_call, guarded_landing, weak_symbol};
use crate::fatal::{self, STATUS_VIOLATION};
use std::any::Any;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function that may be called here.
pub(crate) type Guarded = unsafe extern "C-unwind" fn(argument: *mut c_void);

/// The way in which a call ended without a return.
pub enum Escaped {
    /// A Rust panic.
    Panic(Box<dyn Any + Send>),
    /// Anything else.
    Foreign(Foreign),
    /// Nothing: it was left by `longjmp`, some time ago.
    Jump,
}

/// An exception that is not Rust's; dropped, it is gone.
#[derive(Debug)]
pub struct Foreign {
    exception: *mut UnwindException,
    is_cxx: bool,
}

/// Calls `function(argument)`; an exception that escapes it is returned.
///
/// # Safety
/// As the function says.
pub unsafe fn call(function: Guarded, argument: *mut c_void) -> Result<(), Escaped> {
    // SAFETY: by the caller's promise.
    match catch_unwind(AssertUnwindSafe(|| unsafe { guarded_call(function, argument).cast::<UnwindException>() })) {
        Err(panic) => Err(Escaped::Panic(panic)),
        Ok(exception) if exception.is_null() => Ok(()),
        // SAFETY: the exception that was caught a moment ago.
        Ok(exception) => Err(Escaped::Foreign(unsafe { Foreign::enter(exception) })),
    }
}

/// The same for a piece of Rust.
pub fn guard(mut body: impl FnMut()) -> Result<(), Escaped> {
    unsafe extern "C-unwind" fn run<F: FnMut()>(body: *mut c_void) {
        // SAFETY: `guard` passes its own.
        unsafe { (*body.cast::<F>())() }
    }
    fn runner<F: FnMut()>(_: &F) -> Guarded {
        run::<F>
    }
    let run = runner(&body);
    // SAFETY: `body` is of the type that `run` casts to, and outlives the call.
    unsafe { call(run, (&raw mut body).cast()) }
}

impl Escaped {
    /// Its message.
    pub fn message(&self) -> String {
        match self {
            Escaped::Panic(payload) => {
                let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                text.map_or_else(|| "a panic".to_owned(), |text| format!("panicked: {text}"))
            }
            Escaped::Foreign(foreign) => foreign.message(),
            Escaped::Jump => "was left by longjmp".to_owned(),
        }
    }

    /// The exception as the unwinder knows it (`struct _Unwind_Exception *`); null for a Rust panic.
    pub fn exception(&self) -> *mut c_void {
        match self {
            Escaped::Panic(_) | Escaped::Jump => std::ptr::null_mut(),
            Escaped::Foreign(foreign) => foreign.exception.cast(),
        }
    }
}

impl Foreign {
    /// # Safety
    /// The exception was thrown and has landed here; no other code has it.
    unsafe fn enter(exception: *mut UnwindException) -> Foreign {
        // SAFETY: an exception begins with its class.
        let class = unsafe { (*exception).class };
        let begin = cxx(exception, c"__cxa_begin_catch", cxa_begin_catch);
        let is_cxx = CXX_CLASSES.contains(&(class & !0xff)) && begin.is_some();
        if is_cxx && let Some(begin) = begin {
            type Begin = extern "C" fn(*mut UnwindException) -> *mut c_void;
            // SAFETY: `void *__cxa_begin_catch(void *)`.
            let begin = unsafe { std::mem::transmute::<*const c_void, Begin>(begin) };
            begin(exception);
        }
        Foreign { exception, is_cxx }
    }

    fn message(&self) -> String {
        match self.is_cxx.then(|| self.cxx_type()).flatten() {
            Some(name) => format!("threw a C++ exception of type {name}"),
            None => "threw an exception".to_owned(),
        }
    }

    /// The name of the type of the C++ exception that is being handled, as its source spells it.
    fn cxx_type(&self) -> Option<String> {
        let current = cxx(self.exception, c"__cxa_current_exception_type", cxa_current_exception_type)?;
        // SAFETY: `std::type_info *__cxa_current_exception_type(void)`; a type_info is its virtual table and its name.
        let mangled = unsafe {
            let info = std::mem::transmute::<*const c_void, extern "C" fn() -> *const [*const c_char; 2]>(current)();
            CStr::from_ptr(info.as_ref()?[1])
        };
        let plain = || mangled.to_string_lossy().into_owned();
        let Some(demangle) = cxx(self.exception, c"__cxa_demangle", cxa_demangle) else { return Some(plain()) };
        type Demangle = extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;
        let mut status = 0;
        // SAFETY: `char *__cxa_demangle(const char *, char *, size_t *, int *)`: the result is malloc's, or null.
        unsafe {
            let demangle = std::mem::transmute::<*const c_void, Demangle>(demangle);
            let name = demangle(mangled.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), &mut status);
            if name.is_null() {
                return Some(plain());
            }
            let text = CStr::from_ptr(name).to_string_lossy().into_owned();
            libc::free(name.cast());
            Some(text)
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if self.is_cxx
            && let Some(end) = cxx(self.exception, c"__cxa_end_catch", cxa_end_catch)
        {
            // SAFETY: `void __cxa_end_catch(void)`, once for the beginning in `enter`.
            return unsafe { std::mem::transmute::<*const c_void, extern "C" fn()>(end) }();
        }
        // SAFETY: caught, and not used any more.
        unsafe { _Unwind_DeleteException(self.exception) };
    }
}

/// The head of every exception.
#[repr(C)]
#[derive(Debug)]
struct UnwindException {
    class: u64,
    /// Deletes it.
    cleanup: *const c_void,
}

/// "GNUCC++" and "CLNGC++"; the last byte says whether it is a dependent one.
const CXX_CLASSES: [u64; 2] = [u64::from_be_bytes(*b"GNUCC++\0"), u64::from_be_bytes(*b"CLNGC++\0")];
/// As Rust's standard library spells it: in memory order, not as a number.
const RUST_CLASS: u64 = u64::from_ne_bytes(*b"MOZ\0RUST");

const URC_HANDLER_FOUND: c_int = 6;
const URC_INSTALL_CONTEXT: c_int = 7;
const URC_CONTINUE_UNWIND: c_int = 8;
const UA_SEARCH_PHASE: c_int = 1;
const UA_HANDLER_FRAME: c_int = 4;
const UA_FORCE_UNWIND: c_int = 8;

unsafe extern "C" {
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: u64);
    fn _Unwind_SetIP(context: *mut c_void, address: u64);
    fn _Unwind_DeleteException(exception: *mut UnwindException);
}

/// The unwinder asks about `guarded_call`: first whether it handles the exception, then where to go on.
#[unsafe(no_mangle)]
unsafe extern "C" fn tally_guarded_personality(
    _version: c_int,
    actions: c_int,
    class: u64,
    exception: *mut UnwindException,
    context: *mut c_void,
) -> c_int {
    if actions & UA_FORCE_UNWIND != 0 {
        fatal::stop(
            STATUS_VIOLATION,
            "a finalizer has ended its thread (pthread_exit, or the thread was cancelled); let it return: it runs in the \
             middle of others' destruction",
        );
    }
    if class == RUST_CLASS {
        return URC_CONTINUE_UNWIND;
    }
    if actions & UA_SEARCH_PHASE != 0 {
        return URC_HANDLER_FOUND;
    }
    if actions & UA_HANDLER_FRAME == 0 {
        return URC_CONTINUE_UNWIND;
    }
    // SAFETY: the context is that of `guarded_call`'s frame, which goes on at its landing with the exception as its result.
    unsafe { _Unwind_SetGR(context, RESULT_REGISTER, exception as u64) };
    // SAFETY: the context is that of `guarded_call`'s frame, which goes on at its landing with the exception as its result.
    unsafe { _Unwind_SetIP(context, guarded_landing()) };
    URC_INSTALL_CONTEXT
}

/// A function of the C++ runtime that threw an exception: in the library that knows how to delete it (which may have been loaded
/// later, for itself), or as the program was linked.
fn cxx(
    exception: *const UnwindException,
    name: &CStr,
    linked: unsafe extern "C" fn() -> *const c_void,
) -> Option<*const c_void> {
    // SAFETY: C strings, and an exception that is not deleted; the lookup of the linked one takes nothing.
    unsafe {
        let mut place: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr((*exception).cleanup, &mut place) != 0 && !place.dli_fname.is_null() {
            let library = libc::dlopen(place.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if !library.is_null() {
                let found = libc::dlsym(library, name.as_ptr());
                libc::dlclose(library);
                if !found.is_null() {
                    return Some(found.cast_const());
                }
            }
        }
        let found = linked();
        (!found.is_null()).then_some(found)
    }
}

weak_symbol!(cxa_begin_catch, "__cxa_begin_catch");
weak_symbol!(cxa_end_catch, "__cxa_end_catch");
weak_symbol!(cxa_current_exception_type, "__cxa_current_exception_type");
weak_symbol!(cxa_demangle, "__cxa_demangle");

impl std::fmt::Debug for Escaped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Escaped({})", self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    unsafe extern "C" {
        fn _Unwind_RaiseException(exception: *mut UnwindException) -> c_int;
    }

    #[repr(C, align(16))]
    struct Raised {
        head: UnwindException,
        private: [u64; 2],
    }

    unsafe extern "C" fn cleanup(_: c_int, exception: *mut UnwindException) {
        // SAFETY: made by `raise`.
        drop(unsafe { Box::from_raw(exception.cast::<Raised>()) });
    }

    unsafe extern "C-unwind" fn raise(_: *mut c_void) {
        let class = u64::from_be_bytes(*b"TALYTEST");
        let raised = Raised { head: UnwindException { class, cleanup: cleanup as *const c_void }, private: [0; 2] };
        // SAFETY: an exception of a language of our own.
        unsafe { _Unwind_RaiseException(Box::into_raw(Box::new(raised)).cast()) };
    }

    unsafe extern "C-unwind" fn panic(_: *mut c_void) {
        panic!("on {}", "purpose");
    }

    unsafe extern "C-unwind" fn count(argument: *mut c_void) {
        // SAFETY: the tests pass a number.
        unsafe { *argument.cast::<u32>() += 1 };
    }

    #[test]
    #[cfg_attr(miri, ignore = "the personality routine is called by assembly")]
    fn what_returns_is_no_exception() {
        let mut calls = 0_u32;
        // SAFETY: `count` gets a number.
        unsafe { call(count, (&raw mut calls).cast()) }.expect("returns");
        assert_eq!(calls, 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the personality routine is called by assembly")]
    fn a_foreign_exception_is_caught_again_and_again() {
        for _ in 0..100 {
            // SAFETY: `raise` takes nothing.
            let escaped = unsafe { call(raise, null_mut()) }.expect_err("thrown");
            assert!(!escaped.exception().is_null());
            assert_eq!(escaped.message(), "threw an exception");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "the personality routine is called by assembly")]
    fn a_panic_is_caught_with_its_message() {
        // SAFETY: `panic` takes nothing.
        let escaped = unsafe { call(panic, null_mut()) }.expect_err("panics");
        assert_eq!((escaped.message().as_str(), escaped.exception()), ("panicked: on purpose", null_mut()));
    }
}
