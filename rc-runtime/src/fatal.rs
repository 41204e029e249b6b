//! Stopping at once: we are wrong, the program is wrong, or the machine is out of memory.
//!
//! Nothing is unwound and no destructor runs: the heap is not in a state to be walked. Standard output is left to the C
//! library's `exit`, so that what the program printed is not lost.

use std::ffi::{CString, c_char};

/// Exit status for a bad descriptor, module record or option.
pub const STATUS_USAGE: i32 = 2;
/// Exit status when the leak check finds objects.
pub const STATUS_LEAK: i32 = 3;
/// Exit status when the heap limit is reached or memory runs out.
pub const STATUS_MEMORY: i32 = 4;
/// Exit status for a violated invariant or the use of a dead object.
pub const STATUS_VIOLATION: i32 = 5;

/// Writes to standard error, as `eprint!` does, but goes on where that cannot be written: on a full disk, or into a pipe that nobody
/// reads any more. The exit status says in any case what there was to say.
#[macro_export]
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        _ = write!(std::io::stderr(), $($words)*);
    }};
}

/// The same with the end of a line.
#[macro_export]
macro_rules! tell_line {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

/// Prints `tally: message` and ends the process with `status`, flushing C's streams. Needs no memory, if the message needs none.
pub fn stop(status: i32, message: &(impl std::fmt::Display + ?Sized)) -> ! {
    crate::tell_line!("tally: {message}");
    if status == STATUS_VIOLATION {
        tell_debugger(message);
    }
    // SAFETY: fflush(null) flushes all of C's output streams; _exit ends the process.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

/// `void tally_zeal_violation(const char *message)`: called with the message before a program ends with status 5, while all its
/// frames are still there. It does nothing: a debugger's breakpoint stands here (`break tally_zeal_violation`).
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn tally_zeal_violation(message: *const c_char) {
    std::hint::black_box(message);
}

#[cold]
fn tell_debugger(message: &(impl std::fmt::Display + ?Sized)) {
    let text = CString::new(message.to_string().replace('\0', "")).unwrap_or_default();
    tally_zeal_violation(text.as_ptr());
}

/// One of the runtime's own invariants does not hold.
#[cold]
#[inline(never)]
pub fn violation(invariant: &str, epoch: u32, what: &str) -> ! {
    stop(STATUS_VIOLATION, &format!("invariant {invariant} violated in epoch {epoch}: {what}"))
}
