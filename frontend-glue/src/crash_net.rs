//! The last net while compiling: a crash inside LLVM ends in a message and exit status 2.
//!
//! LLVM's readers trust their input more than they should: one flipped bit in a bitcode file can
//! make it ask for an absurd amount of memory and abort, or follow a bad pointer. That is bad input
//! to whoever called `tally`, and must look like it. A program under `tally run` is another matter:
//! its signals are its own, so the net is folded before `main` is called.

use libc::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP, c_int, sigaction};

const SIGNALS: [c_int; 6] = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT];

const MESSAGE: &[u8] = b"tally: crashed while compiling: the input is damaged, or this is a bug in LLVM or Tally\n";

/// The net; dropping it folds it.
pub struct CrashNet {
    before: [sigaction; SIGNALS.len()],
}

impl CrashNet {
    /// Catches the signals that a crash raises.
    pub fn spread() -> CrashNet {
        let before = SIGNALS.map(|signal| {
            // SAFETY: both structs are valid for the calls; all-zero is a valid `sigaction`. The
            // handler does only what a signal handler may. It runs on the alternate stack that the
            // Rust runtime gave the main thread, so a stack overflow gets its message, too.
            unsafe {
                let mut before: sigaction = std::mem::zeroed();
                let mut ours: sigaction = std::mem::zeroed();
                ours.sa_sigaction = stop as *const () as usize;
                ours.sa_flags = libc::SA_ONSTACK;
                libc::sigaction(signal, &ours, &mut before);
                before
            }
        });
        CrashNet { before }
    }
}

impl Drop for CrashNet {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(&self.before) {
            // SAFETY: puts back what `spread` found.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
}

impl std::fmt::Debug for CrashNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CrashNet")
    }
}

extern "C" fn stop(_: c_int) {
    // SAFETY: `write` and `_exit` are allowed in a signal handler; nothing else is done.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a child that does `act` ends.
    fn child(act: impl FnOnce()) -> c_int {
        // SAFETY: the child does nothing but change signal actions, raise one and exit.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                act();
                libc::raise(SIGABRT);
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
            status
        }
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
