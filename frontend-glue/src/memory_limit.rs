//! LLVM's readers allocate what their input tells them, and damaged input tells them anything.
//!
//! One flipped bit in a bitcode file makes a parameter's number two thousand million, and LLVM fills a table of that many
//! entries: a file of two kilobytes takes all memory of the machine. So while a file is read the process may only grow by a
//! generous multiple of the file's size; beyond that an allocation fails, LLVM gives up, and [`crate::crash_net`] has the last
//! word. The limit is the whole process's, so it is set only under the net, where the process is ours.

use libc::{RLIM_INFINITY, RLIMIT_AS, rlimit};

use crate::crash_net;

/// A module takes this many times its file's size at most. LLVM's own need for large bitcode is about 30 times.
const TIMES: u64 = 200;

/// Whatever the size of the file.
const AT_LEAST: u64 = 2 << 30;

/// The limit; dropping it lifts it.
#[derive(Debug)]
pub struct MemoryLimit {
    before: Option<rlimit>,
}

impl MemoryLimit {
    /// For reading a file of so many bytes.
    pub fn for_reading(bytes: usize) -> MemoryLimit {
        MemoryLimit { before: if crash_net::is_spread() { lower_to(bytes as u64) } else { None } }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: puts back what was there.
            unsafe { libc::setrlimit(RLIMIT_AS, before) };
        }
    }
}

/// Lowers the limit, and says what it was; leaves alone what is lower already or cannot be known.
fn lower_to(bytes: u64) -> Option<rlimit> {
    let most = taken()?.saturating_add(AT_LEAST).saturating_add(bytes.saturating_mul(TIMES));
    let mut before = rlimit { rlim_cur: RLIM_INFINITY, rlim_max: RLIM_INFINITY };
    // SAFETY: asks for two numbers, and sets the first to less than it was, which every process may.
    unsafe {
        if libc::getrlimit(RLIMIT_AS, &mut before) != 0 || before.rlim_cur <= most {
            return None;
        }
        (libc::setrlimit(RLIMIT_AS, &rlimit { rlim_cur: most, ..before }) == 0).then_some(before)
    }
}

/// Address space that the process takes now: the first number of `statm`, in pages of 4 KiB.
fn taken() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').next()?.parse::<u64>().ok()? << 12)
}
