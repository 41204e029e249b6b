//! Blocks for the heaps of this process: which heap owns which part of the range.
//!
//! Heaps take single blocks (small objects) and runs of blocks (large objects), and give them back when they are
//! dropped, or when a large object dies. A heap keeps its own free single blocks, so that the lock here is taken once per
//! block of growth, not per block of allocation.
//!
//! Runs given back are merged with their neighbours; a request is served first-fit, lowest address first, else from the
//! untouched end of the range. They are listed in a vector, since memory goes back while the collector runs: when it
//! cannot grow, a run waits for that in a chain through the runs themselves. `[MEMORY]`
//!
//! The last part of the range is kept for the collector's own lists, which go on there when the allocator has no memory
//! (`list`). It costs addresses only.
//!
//! A process that forks while another thread is in here would leave its child a lock that no thread releases: the child has the
//! forking thread only. So a fork takes the lock first ([`hold_while_forking`]).

use crate::memory::range::{self, BLOCK_BYTES};
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, Once};

/// Flips, or looks, over which a heap must not have needed memory before it goes back to the system: giving back what the next epoch
/// takes again cost a program of short-lived trees as much time in the kernel as in itself.
pub(crate) const IDLE_LOOKS: u32 = 16;
/// Empty blocks that a heap gives back after one of them, at most.
pub(crate) const GIVEN_BACK_AT_ONCE: usize = 64;

#[derive(Debug, Default)]
struct Runs {
    /// First block never handed out.
    untouched: u32,
    /// Given back: first block and number of blocks, by address.
    free: Vec<(u32, u32)>,
    /// The run that was given back last while that could not grow; each leads to the one before.
    unlisted: Option<(u32, u32)>,
}

static RUNS: Mutex<Runs> = Mutex::new(Runs { untouched: 0, free: Vec::new(), unlisted: None });

/// This part of the range is for lists only.
const LISTS_PART: u32 = 32;

/// Before it has grown to this block (2 MiB) a heap has no use for huge pages, and would pay for all of one.
const FIRST_HUGE_BLOCK: u32 = 64;

/// Takes `count` adjacent blocks; `None` when the range is used up. Their memory and table entries are zero.
pub fn take(count: u32) -> Option<u32> {
    let limit = (range::reserve().ok()? / BLOCK_BYTES) as u32;
    lock().take(count, limit - limit / LISTS_PART)
}

/// The same for memory of the collector's own, which may have the last of the range.
pub fn take_for_lists(count: u32) -> Option<u32> {
    let limit = (range::reserve().ok()? / BLOCK_BYTES) as u32;
    lock().take(count, limit)
}

fn lock() -> MutexGuard<'static, Runs> {
    RUNS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives `count` blocks from `first` back. Their table entries must be zero again, but for their ages; their memory is released here.
///
/// # Safety
/// The blocks were taken by the caller, which no longer uses them.
pub unsafe fn give_back(first: u32, count: u32) {
    for block in first..first + count {
        // SAFETY: [OWNED] the block is this heap's, and holds nothing.
        let info = unsafe { &*range::block_info(block) };
        if info.age.get() != 0 {
            info.age.set(0);
        }
    }
    // SAFETY: [OWNED] the block is this heap's, and holds nothing.
    unsafe { range::release_pages(range::block_start(first), range::block_start(first + count)) };
    lock().give_back(first, count);
}

/// From now on a fork waits for the lock, and both processes find it free. Idempotent.
pub fn hold_while_forking() {
    static ONCE: Once = Once::new();
    thread_local!(static HELD: RefCell<Option<MutexGuard<'static, Runs>>> = const { RefCell::new(None) });
    extern "C" fn before() {
        HELD.set(Some(lock()));
    }
    extern "C" fn after() {
        HELD.set(None);
    }
    // SAFETY: registers functions that take no arguments; the C library calls them on the thread that forks.
    ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) });
}

impl Runs {
    fn take(&mut self, count: u32, limit: u32) -> Option<u32> {
        self.list_what_waits();
        let fits = |&(first, length): &(u32, u32)| length >= count && first + count <= limit;
        if let Some(place) = self.free.iter().position(fits) {
            let (first, length) = &mut self.free[place];
            let taken = *first;
            (*first, *length) = (taken + count, *length - count);
            if *length == 0 {
                self.free.remove(place);
            }
            return Some(taken);
        }
        let first = self.untouched;
        let end = first.checked_add(count).filter(|&end| end <= limit)?;
        if first < FIRST_HUGE_BLOCK && end >= FIRST_HUGE_BLOCK {
            range::ask_for_huge_pages(range::block_start(FIRST_HUGE_BLOCK));
        }
        self.untouched = end;
        Some(first)
    }

    fn give_back(&mut self, first: u32, count: u32) {
        if !self.list(first, count) {
            // SAFETY: the run belongs to no heap.
            unsafe { *chained(first) = self.unlisted.replace((first, count)) };
        }
    }

    /// Enters a run, merged with its neighbours; false when there is no memory for that.
    fn list(&mut self, mut first: u32, mut count: u32) -> bool {
        let place = self.free.partition_point(|&(other, _)| other < first);
        let before = place.checked_sub(1).filter(|&before| self.free[before].0 + self.free[before].1 == first);
        let after = self.free.get(place).filter(|&&(next, _)| next == first + count).map(|&(_, length)| length);
        count += after.unwrap_or(0);
        if let Some(before) = before {
            count += self.free[before].1;
            first = self.free[before].0;
        }
        match (before, after) {
            (Some(before), Some(_)) => {
                self.free[before] = (first, count);
                self.free.remove(place);
            }
            (Some(before), None) => self.free[before] = (first, count),
            (None, Some(_)) => self.free[place] = (first, count),
            (None, None) if self.free.try_reserve(1).is_err() => return false,
            (None, None) => self.free.insert(place, (first, count)),
        }
        true
    }

    /// Enters the runs for which there was no memory, as far as there is some now.
    fn list_what_waits(&mut self) {
        while let Some((first, count)) = self.unlisted {
            // SAFETY: the run belongs to no heap.
            let before = unsafe { std::mem::take(&mut *chained(first)) };
            if !self.list(first, count) {
                // SAFETY: the run belongs to no heap.
                return unsafe { *chained(first) = before };
            }
            self.unlisted = before;
            // Its next owner finds zeros.
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { range::release_pages(range::block_start(first), range::block_start(first + 1)) };
        }
    }
}

/// Where a run that waits says which has waited longer.
fn chained(first: u32) -> *mut Option<(u32, u32)> {
    range::block_start(first) as *mut Option<(u32, u32)>
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
        assert_eq!(runs.free, [(0, 6)]);
        assert_eq!(runs.take(5, 100), Some(0));
        assert_eq!(runs.take(2, 100), Some(8), "one block is left over, two are not");
        assert_eq!(runs.take(1, 100), Some(5));
    }

    #[test]
    fn a_run_is_taken_as_far_as_the_limit_allows() {
        let mut runs = Runs::default();
        assert_eq!(runs.take(6, 100), Some(0));
        runs.give_back(0, 6);
        assert_eq!(runs.take(4, 3), None);
        assert_eq!((runs.take(2, 3), runs.take(2, 3)), (Some(0), None), "of six blocks three are within the limit");
        assert_eq!(runs.take(4, 100), Some(2));
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
