//! A limit on memory while LLVM's readers run: they allocate as much as their input says, and damaged input may say
//! anything.
//!
//! One flipped bit in a bitcode file makes a parameter's number two thousand million, and LLVM fills a table of that
//! many entries: a file of two kilobytes takes all memory of the machine. So while a file is read the process may
//! only grow by a generous multiple of the file's size; beyond that an allocation fails, LLVM gives up, and
//! `guard::crash_net` prints the message. The limit is the whole process's, so it is set only under the net,
//! where the process is ours.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use libc::{RLIM_INFINITY, RLIMIT_AS, rlimit};

use crate::guard::crash_net;

/// A module takes this many times its file's size at most. LLVM's own need for large bitcode is about 30 times.
const TIMES: u64 = 200;

/// The least limit, for a file of any size.
const AT_LEAST: u64 = 2 << 30;

/// Whether there is such a limit now; set only under the net.
static READING: AtomicBool = AtomicBool::new(false);

/// The limit; dropping it lifts it.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    before: Option<rlimit>,
}

impl MemoryLimit {
    /// Sets the limit for reading a file of `bytes` bytes.
    pub(crate) fn for_reading(bytes: usize) -> MemoryLimit {
        let before = if crash_net::is_spread() { lower_to(bytes as u64) } else { None };
        READING.store(before.is_some(), Relaxed);
        MemoryLimit { before }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            READING.store(false, Relaxed);
            // SAFETY: restores the former limit.
            unsafe { libc::setrlimit(RLIMIT_AS, before) };
        }
    }
}

/// Lowers the limit, and returns the former one; `None` if it is lower already or cannot be read.
fn lower_to(bytes: u64) -> Option<rlimit> {
    let most = taken()?.saturating_add(AT_LEAST).saturating_add(bytes.saturating_mul(TIMES));
    let mut before = rlimit { rlim_cur: RLIM_INFINITY, rlim_max: RLIM_INFINITY };
    // SAFETY: reads two numbers.
    let is_read = unsafe { libc::getrlimit(RLIMIT_AS, &mut before) } == 0;
    if !is_read || before.rlim_cur <= most {
        return None;
    }
    // SAFETY: sets the first to a lower one, which every process may.
    let is_set = unsafe { libc::setrlimit(RLIMIT_AS, &rlimit { rlim_cur: most, ..before }) } == 0;
    is_set.then_some(before)
}

/// Address space that the process takes now: the first number of `statm`, in pages of 4 KiB. Allocates nothing: the
/// crash net calls this, too.
pub(crate) fn taken() -> Option<u64> {
    let mut text = [0_u8; 64];
    // SAFETY: a path that ends in NUL; a signal handler may do this and what follows.
    let file = unsafe { libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: an open file, and a buffer of the length that is given.
    let length = unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: it is open, and not used afterwards.
    unsafe { libc::close(file) };
    let text = str::from_utf8(&text[..usize::try_from(length).ok()?]).ok()?;
    Some(text.split(' ').next()?.parse::<u64>().ok()? << 12)
}

/// The address space that the process may take, if that is limited.
pub(crate) fn allowed() -> Option<u64> {
    let limits = [RLIMIT_AS, libc::RLIMIT_DATA].map(|resource| {
        let mut limit = rlimit { rlim_cur: RLIM_INFINITY, rlim_max: RLIM_INFINITY };
        // SAFETY: reads two numbers.
        unsafe { libc::getrlimit(resource, &mut limit) };
        limit.rlim_cur
    });
    limits.into_iter().min().filter(|&limit| limit != RLIM_INFINITY)
}

/// Whether a file is being read under a limit of ours.
pub(crate) fn is_reading() -> bool {
    READING.load(Relaxed)
}
