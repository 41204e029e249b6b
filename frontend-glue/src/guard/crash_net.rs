//! The crash net of the compiler: a crash inside LLVM ends in a message and exit status 2.
//!
//! LLVM's readers trust their input more than they should: one flipped bit in a bitcode file can make it ask for an
//! absurd amount of memory and abort, or follow a bad pointer. To the caller of `tally` that is bad input, and must
//! look so. A program under `tally run` has its own signals, so the net is removed before `main` is called.
//!
//! The message names the file that the crashing thread was `WorkingOn`, and so does that of LLVM's fatal errors.

use std::cell::Cell;
use std::io::Write;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::guard::out_of_memory;

use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, c_int, sigaction};

const SIGNALS: [c_int; 6] = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT];

const MESSAGE: &[u8] = b"crashed while compiling: the input is damaged, or this is a bug in LLVM or Tally\n";

/// The net; dropping it removes it.
pub(crate) struct CrashNet {
    before: [sigaction; SIGNALS.len()],
}

/// Whether there is a net.
static SPREAD: AtomicBool = AtomicBool::new(false);

/// Whether a crash would end in a message: the process is a compiler's, and no program runs in it.
pub(crate) fn is_spread() -> bool {
    SPREAD.load(Relaxed)
}

impl CrashNet {
    /// Catches the signals that a crash raises.
    pub(crate) fn spread() -> CrashNet {
        SPREAD.store(true, Relaxed);
        out_of_memory::end_in_words();
        let before = SIGNALS.map(|signal| {
            // SAFETY: all-zero is a valid `sigaction`.
            let mut before: sigaction = unsafe { std::mem::zeroed() };
            let mut ours = before;
            ours.sa_sigaction = stop as *const () as usize;
            ours.sa_flags = libc::SA_ONSTACK;
            // SAFETY: both structs are valid for the call. The handler does only what a signal handler may. It runs on the
            // alternate stack that the Rust runtime gave the main thread, so a stack overflow gets its message, too.
            unsafe { libc::sigaction(signal, &ours, &mut before) };
            before
        });
        CrashNet { before }
    }
}

impl Drop for CrashNet {
    fn drop(&mut self) {
        SPREAD.store(false, Relaxed);
        out_of_memory::as_before();
        for (signal, before) in SIGNALS.into_iter().zip(&self.before) {
            // SAFETY: restores the handlers that `spread` found.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
}

impl std::fmt::Debug for CrashNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CrashNet")
    }
}

/// Records that this thread works on a file, until it is dropped.
#[derive(Debug)]
pub(crate) struct WorkingOn<'a> {
    before: Option<(*const u8, usize)>,
    path: PhantomData<&'a Path>,
}

thread_local! {
    /// The name of the file that this thread works on. Without a destructor, so that a signal handler may look at it.
    static FILE: Cell<Option<(*const u8, usize)>> = const { Cell::new(None) };
}

impl WorkingOn<'_> {
    /// Records that this thread works on `path` now.
    pub(crate) fn file(path: &Path) -> WorkingOn<'_> {
        let name = path.as_os_str().as_bytes();
        WorkingOn { before: FILE.replace(Some((name.as_ptr(), name.len()))), path: PhantomData }
    }
}

impl Drop for WorkingOn<'_> {
    fn drop(&mut self) {
        FILE.set(self.before);
    }
}

/// Passes the name of the file that this thread works on to `say`, if there is one.
pub(crate) fn with_file(say: impl FnOnce(&[u8])) {
    if let Some((name, length)) = FILE.get() {
        // SAFETY: a `WorkingOn` that is alive borrows the name for as long as this is set.
        say(unsafe { std::slice::from_raw_parts(name, length) });
    }
}

extern "C" fn stop(signal: c_int) {
    end(|text| {
        if signal != SIGABRT || !out_of_memory::say_if_likely(text) {
            _ = text.write_all(MESSAGE);
        }
    });
}

/// Ends the process with the message that `say` writes about the file that this thread works on. Allocates nothing,
/// so that a signal handler may.
pub(crate) fn end(say: impl FnOnce(&mut dyn Write)) -> ! {
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    say(&mut rest);
    let left = rest.len();
    // SAFETY: `write` may be called in a signal handler.
    let put = |text: &[u8]| unsafe { _ = libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    put(b"tally: ");
    with_file(|name| {
        put(name);
        put(b": ");
    });
    put(&text[..text.len() - left]);
    // SAFETY: `_exit` may be called in a signal handler, too; nothing else is done.
    unsafe { libc::_exit(2) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wait status of a child that does `act`.
    fn child(act: impl FnOnce()) -> c_int {
        // SAFETY: the child does nothing but change signal actions, raise one and exit.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            act();
            // SAFETY: raises a signal in the child.
            unsafe { libc::raise(SIGABRT) };
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: a child of this process, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        status
    }

    #[test]
    fn the_file_that_is_worked_on_is_known_as_long_as_it_is() {
        let known = || {
            let mut name = Vec::new();
            with_file(|file| name = file.to_vec());
            String::from_utf8(name).unwrap()
        };
        let outer = WorkingOn::file(Path::new("a.ll"));
        let inner = WorkingOn::file(Path::new("b.ll"));
        assert_eq!(known(), "b.ll");
        drop(inner);
        assert_eq!(known(), "a.ll");
        drop(outer);
        assert_eq!(known(), "");
    }

    #[test]
    fn a_crash_is_status_2_under_the_net_and_a_signal_without_it() {
        let caught = child(|| std::mem::forget(CrashNet::spread()));
        assert!(libc::WIFEXITED(caught));
        assert_eq!(libc::WEXITSTATUS(caught), 2);
        let folded = child(|| drop(CrashNet::spread()));
        assert!(libc::WIFSIGNALED(folded));
    }
}
