//! Ends the command when memory runs out during compilation: a message with the limit, and exit status 2.
//!
//! LLVM cannot stop its work when there is no memory. Inside it either its own allocator fails, which calls a
//! handler, or `operator new`, which throws through frames that cannot be unwound unless there is a handler, too.
//! Both handlers are set under the [net](crate::guard::crash_net), where the process is ours, and removed with it.
//! They may not return, and allocate nothing. The C API has neither; LLVM exports the C++ names, which llvm-sys fixes
//! to one version.
//!
//! C++ code that could do without the memory does not get the chance. There is one such place, the copy of the
//! finished object, and [there](Emitting) the message is another one.
//!
//! A failed allocation of Rust code ends in `abort`: there the net checks how much of the limit is taken.

use std::ffi::{c_char, c_void};
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::guard::{crash_net, memory_limit};

/// The message when there is no memory for the finished object.
pub(crate) const NO_ROOM_FOR_OBJECT: &str =
    "not enough memory for the object code; look for large constants and initialised variables";

unsafe extern "C" {
    /// `void llvm::install_bad_alloc_error_handler(fatal_error_handler_t, void *)`; at most one at a time.
    #[link_name = "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"]
    fn install_bad_alloc_error_handler(handler: extern "C" fn(*mut c_void, *const c_char, bool), data: *mut c_void);
    /// `void llvm::remove_bad_alloc_error_handler()`.
    #[link_name = "_ZN4llvm30remove_bad_alloc_error_handlerEv"]
    fn remove_bad_alloc_error_handler();
    /// `std::new_handler std::set_new_handler(std::new_handler)`.
    #[link_name = "_ZSt15set_new_handlerPFvvE"]
    fn set_new_handler(handler: Option<extern "C" fn()>) -> Option<extern "C" fn()>;
}

/// Sets the handlers: from now on the process ends with a message when LLVM or C++ code gets no memory.
pub(crate) fn end_in_words() {
    // SAFETY: a function that never returns, as is required of a handler; none of LLVM's is installed yet.
    unsafe { install_bad_alloc_error_handler(of_llvm, std::ptr::null_mut()) };
    // SAFETY: likewise a function that never returns.
    unsafe { set_new_handler(Some(of_new)) };
}

/// Removes the handlers of [`end_in_words`].
pub(crate) fn as_before() {
    // SAFETY: it was set there.
    unsafe { remove_bad_alloc_error_handler() };
    // SAFETY: without a handler `new` throws, as ever.
    unsafe { set_new_handler(None) };
}

/// Records that an object is being made, until it is dropped.
#[derive(Debug)]
pub(crate) struct Emitting;

/// Whether there is an [`Emitting`].
static EMITTING: AtomicBool = AtomicBool::new(false);

impl Emitting {
    pub(crate) fn begin() -> Emitting {
        EMITTING.store(true, Relaxed);
        Emitting
    }
}

impl Drop for Emitting {
    fn drop(&mut self) {
        EMITTING.store(false, Relaxed);
    }
}

extern "C" fn of_llvm(_: *mut c_void, _: *const c_char, _: bool) {
    of_new();
}

extern "C" fn of_new() {
    let what = match EMITTING.load(Relaxed) {
        true => NO_ROOM_FOR_OBJECT,
        false => "out of memory while compiling",
    };
    crash_net::end(|text| say(text, what));
}

/// Writes the net's message for an `abort` when most of the allowed memory was taken; returns false if it was not.
pub(crate) fn say_if_likely(text: &mut dyn Write) -> bool {
    let Some((limit, taken)) = memory_limit::allowed().zip(memory_limit::taken()) else { return false };
    let is_likely = taken > limit / 2 && !memory_limit::is_reading();
    if is_likely {
        say(text, "crashed while compiling, most likely for want of memory");
    }
    is_likely
}

fn say(text: &mut dyn Write, what: &str) {
    // Text that does not fit is cut off; an error could not be reported.
    _ = match memory_limit::allowed() {
        _ if memory_limit::is_reading() => {
            writeln!(
                text,
                "crashed while compiling: the input is damaged, or asks for more memory than its size allows"
            )
        }
        Some(limit) => writeln!(text, "{what} (the process may take {} MiB: ulimit -v, ulimit -d)", limit >> 20),
        None => writeln!(text, "{what} (the system gives no more)"),
    };
}
