//! Blocks for the heaps of this process: who owns which part of the range.
//!
//! Heaps take single blocks (small objects) and runs of blocks (large objects), and give them back when they are
//! dropped, or when a large object dies. A heap keeps its own free single blocks, so that the lock here is taken once per
//! block of growth, not per block of allocation.
//!
//! Runs given back are merged with their neighbours; a request is served first-fit, lowest address first, else from
//! the untouched end of the range.
//!
//! A process that forks while another thread is in here would leave its child a lock that nobody releases: the child has the
//! forking thread only. So whoever forks takes the lock first ([`hold_while_forking`]).

use crate::range::{self, BLOCK_BYTES};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, Once};

#[derive(Debug, Default)]
struct Runs {
    /// First block never handed out.
    untouched: u32,
    /// Given back: first block → number of blocks.
    free: BTreeMap<u32, u32>,
}

static RUNS: Mutex<Runs> = Mutex::new(Runs { untouched: 0, free: BTreeMap::new() });

/// Before it has grown to this block (2 MiB) a heap has no use for huge pages, and would pay for all of one.
const FIRST_HUGE_BLOCK: u32 = 64;

/// Takes `count` adjacent blocks; `None` when the range is used up. Their memory and table entries are zero.
pub fn take(count: u32) -> Option<u32> {
    let limit = (range::reserve().ok()? / BLOCK_BYTES) as u32;
    let mut runs = RUNS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    runs.take(count, limit)
}

/// Gives `count` blocks from `first` back. Their table entries must be zero again; their memory is released here.
pub fn give_back(first: u32, count: u32) {
    range::release_pages(range::block_start(first), range::block_start(first + count));
    let mut runs = RUNS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    runs.give_back(first, count);
}

/// From now on a fork waits for the lock, and both processes find it free. Idempotent.
pub fn hold_while_forking() {
    static ONCE: Once = Once::new();
    thread_local!(static HELD: RefCell<Option<MutexGuard<'static, Runs>>> = const { RefCell::new(None) });
    extern "C" fn before() {
        HELD.set(Some(RUNS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())));
    }
    extern "C" fn after() {
        HELD.set(None);
    }
    // SAFETY: registers functions that take no arguments; the C library calls them on the thread that forks.
    ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) });
}

impl Runs {
    fn take(&mut self, count: u32, limit: u32) -> Option<u32> {
        if let Some((&first, &length)) = self.free.iter().find(|&(_, &length)| length >= count) {
            self.free.remove(&first);
            if length > count {
                self.free.insert(first + count, length - count);
            }
            return Some(first);
        }
        let first = self.untouched;
        let end = first.checked_add(count).filter(|&end| end <= limit)?;
        if first < FIRST_HUGE_BLOCK && end >= FIRST_HUGE_BLOCK {
            range::ask_for_huge_pages(range::block_start(FIRST_HUGE_BLOCK));
        }
        self.untouched = end;
        Some(first)
    }

    fn give_back(&mut self, mut first: u32, mut count: u32) {
        if let Some((&before, &length)) = self.free.range(..first).next_back()
            && before + length == first
        {
            self.free.remove(&before);
            (first, count) = (before, count + length);
        }
        if let Some(length) = self.free.remove(&(first + count)) {
            count += length;
        }
        self.free.insert(first, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_merge_with_both_neighbours() {
        let mut runs = Runs::default();
        let blocks: Vec<u32> = (0..4).map(|_| runs.take(2, 100).expect("room")).collect();
        assert_eq!(blocks, [0, 2, 4, 6]);
        runs.give_back(0, 2);
        runs.give_back(4, 2);
        runs.give_back(2, 2);
        assert_eq!(runs.free.iter().collect::<Vec<_>>(), [(&0, &6)]);
        assert_eq!(runs.take(5, 100), Some(0));
        assert_eq!(runs.take(2, 100), Some(8), "one block is left over, two are not");
        assert_eq!(runs.take(1, 100), Some(5));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_used_up_range_answers_none() {
        let mut runs = Runs::default();
        assert_eq!(runs.take(101, 100), None);
        assert_eq!(runs.take(u32::MAX, 100), None);
        assert_eq!(runs.take(100, 100), Some(0));
        assert_eq!(runs.take(1, 100), None);
    }
}
