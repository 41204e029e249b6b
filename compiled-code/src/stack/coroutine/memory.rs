//! The memory of stacks: a pool for the process, in size classes, with a guard below each stack.
//!
//! ```text
//! a mapping │ guard │ stack … ◄─ │ guard │ stack … ◄─ │ …        each a power of two of bytes
//! ```
//!
//! Pages are committed when a stack first touches them, and the page tables of a sleeping stack are its only other
//! cost. A guard is a mark in those tables (`MADV_GUARD_INSTALL`, Linux 6.13): it splits no mapping, so that a process
//! may have as many stacks as it has memory for. Older kernels get guards by `mprotect`, two mappings a stack, and
//! refuse when `vm.max_map_count` is reached, after 32,000 stacks or so.
//!
//! Stacks that come back keep their pages, up to a bound: who makes coroutines makes more of them, and a page that goes back
//! to the system and comes again costs a microsecond or two. Those that nobody has needed between two collections give
//! theirs back, a few at each. Mappings stay.

use crate::arch::valgrind;
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tally_heap::memory::sanitizer;

/// Bytes of a stack that the program asks for without a size, guard included.
const USUAL_BYTES: u64 = 256 << 10;
/// Bytes of the smallest and the largest.
const LEAST_BYTES: u64 = 64 << 10;
const MOST_BYTES: u64 = 1 << 30;
/// Bytes that are mapped at once, at least.
const MAPPED_AT_ONCE: u64 = 16 << 20;
/// Stacks of a class that wait for reuse with their pages, at most, and bytes of their address space; but a few may always.
const WARM_MOST: usize = 1024;
const WARM_BYTES: u64 = 256 << 20;
const FEW: usize = 16;

/// A stack's memory; returns to the pool when it is dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The lowest address above the guard.
    low: u64,
    /// One past the highest.
    high: u64,
    /// The number by which valgrind knows the stack.
    valgrind_id: u64,
    /// The thread had not as many a moment ago.
    is_more: bool,
}

#[derive(Debug)]
struct Pool {
    free: [Free; CLASSES],
    /// All mappings.
    mapped: Vec<Range<u64>>,
}

/// The stacks of a class that wait for reuse.
#[derive(Debug)]
struct Free {
    /// By their ends.
    stacks: Vec<u64>,
    /// So many of them, the last, have their pages.
    warm: usize,
    /// So few there have been since the last collection: as many were not needed.
    least_warm: usize,
}

/// How many stacks a thread has.
#[derive(Debug, Clone, Copy)]
struct Use {
    now: usize,
    /// The most of late: a few more than now, at most.
    most: usize,
}

thread_local! {
    static USE: Cell<Use> = const { Cell::new(Use { now: 0, most: 0 }) };
}

const CLASSES: usize = (MOST_BYTES / LEAST_BYTES).trailing_zeros() as usize + 1;

/// Bytes that a stack must not touch, below it: 16 KiB, or a page if that is larger.
fn guard_bytes() -> u64 {
    tally_heap::arch::page_bytes().max(16 << 10)
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    free: [const { Free { stacks: Vec::new(), warm: 0, least_warm: 0 } }; CLASSES],
    mapped: Vec::new(),
});

/// Bytes of a stack with room for so many, with its guard.
fn whole_bytes(bytes: u64) -> Option<u64> {
    let whole = match bytes {
        0 => USUAL_BYTES,
        bytes => bytes.checked_add(guard_bytes())?.max(LEAST_BYTES).checked_next_power_of_two()?,
    };
    (whole <= MOST_BYTES).then_some(whole)
}

impl Memory {
    /// Whether there are stacks with room for so many bytes.
    pub(crate) fn is_a_size(bytes: u64) -> bool {
        whole_bytes(bytes).is_some()
    }

    /// A stack with room for `bytes` bytes, or of the usual size for 0. `None`: there is no memory, or the kernel allows
    /// no more mappings.
    pub(crate) fn take(bytes: u64) -> Option<Memory> {
        let whole = whole_bytes(bytes)?;
        let class = (whole / LEAST_BYTES).trailing_zeros() as usize;
        let mut pool = lock();
        if pool.free[class].stacks.is_empty() {
            pool.map(class, whole)?;
        }
        let high = pool.free[class].take()?;
        drop(pool);
        let low = high - whole + guard_bytes();
        sanitizer::forget_frames(low..high);
        Some(Memory { low, high, valgrind_id: valgrind(STACK_REGISTER, low, high), is_more: Use::one_more() })
    }

    /// The addresses that its stack may use.
    pub(crate) fn bounds(&self) -> Range<u64> {
        self.low..self.high
    }

    /// Whether the thread has more stacks than of late: it takes memory, and not the place of one that has just ended.
    pub(super) fn is_more(&self) -> bool {
        self.is_more
    }

    /// Gives the pages back below `sp`, where a stopped stack's frames end.
    pub(crate) fn trim(&self, sp: u64) {
        give_back(self.low..sp & !(tally_heap::arch::page_bytes() - 1));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        valgrind(STACK_DEREGISTER, self.valgrind_id, 0);
        Use::one_less();
        let whole = self.high - self.low + guard_bytes();
        lock().free[(whole / LEAST_BYTES).trailing_zeros() as usize].put(self.high, whole);
    }
}

impl Use {
    /// The thread takes one more; whether it has more than of late.
    fn one_more() -> bool {
        let Use { now, most } = USE.get();
        USE.set(Use { now: now + 1, most: most.max(now + 1) });
        now >= most
    }

    fn one_less() {
        let Use { now, most } = USE.get();
        let now = now.saturating_sub(1);
        USE.set(Use { now, most: most.min(now + FEW) });
    }
}

impl Free {
    fn take(&mut self) -> Option<u64> {
        let high = self.stacks.pop()?;
        self.warm = self.warm.saturating_sub(1);
        self.least_warm = self.least_warm.min(self.warm);
        Some(high)
    }

    fn put(&mut self, high: u64, whole: u64) {
        self.stacks.push(high);
        self.warm += 1;
        if self.warm > ((WARM_BYTES / whole) as usize).clamp(FEW, WARM_MOST) {
            self.cool(1, whole);
        }
    }

    /// The `many` warm ones that wait longest give their pages back.
    fn cool(&mut self, many: usize, whole: u64) {
        let first = self.stacks.len() - self.warm;
        for high in &self.stacks[first..first + many] {
            give_back(high - whole + guard_bytes()..*high);
        }
        self.warm -= many;
    }
}

fn lock() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A collection begins: of the stacks that were not needed since the last, a few give their pages back.
pub(super) fn cool_some() {
    for (class, free) in lock().free.iter_mut().enumerate() {
        if free.least_warm != 0 {
            free.cool(free.least_warm.min(FEW), LEAST_BYTES << class);
        }
        free.least_warm = free.warm;
    }
}

impl Pool {
    fn map(&mut self, class: usize, whole: u64) -> Option<()> {
        let many = (MAPPED_AT_ONCE / whole).max(1);
        let bytes = (many * whole) as usize;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: fresh memory.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return None;
        }
        // A huge page would commit eight stacks at once. A kernel without such pages refuses, and need not be told.
        // SAFETY: the memory above.
        unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
        let start = memory as u64;
        let guarded = (0..many).take_while(|number| guard(start + number * whole)).count() as u64;
        if guarded == 0 {
            // SAFETY: the memory above, which nothing uses.
            unsafe { libc::munmap(memory, bytes) };
            return None;
        }
        self.mapped.push(start..start + guarded * whole);
        self.free[class].stacks.extend((1..=guarded).rev().map(|number| start + number * whole));
        Some(())
    }
}

/// Makes the bytes from `start` on a guard; whether that was allowed.
fn guard(start: u64) -> bool {
    const MADV_GUARD_INSTALL: libc::c_int = 102;
    let (start, bytes) = (start as *mut libc::c_void, guard_bytes() as usize);
    // SAFETY: memory of the pool that no stack uses.
    let installed = unsafe { libc::madvise(start, bytes, MADV_GUARD_INSTALL) } == 0 && marks_are_guards(start);
    // SAFETY: as above.
    installed || unsafe { libc::mprotect(start, bytes, libc::PROT_NONE) } == 0
}

/// Whether the mark at `start` keeps writes out; asked once. Emulators take advice that they do not know, and do nothing: a stack would
/// run into the one below it.
fn marks_are_guards(start: *mut libc::c_void) -> bool {
    static ARE_GUARDS: OnceLock<bool> = OnceLock::new();
    *ARE_GUARDS.get_or_init(|| is_closed(start))
}

/// Whether the kernel cannot write there.
fn is_closed(place: *mut libc::c_void) -> bool {
    // SAFETY: memory of the pool that no stack uses. As a system call: the C library's function writes itself.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, place) != 0 }
}

fn give_back(unused: Range<u64>) {
    if !unused.is_empty() {
        // SAFETY: whole pages of a stack, below all its frames.
        unsafe {
            libc::madvise(unused.start as *mut _, (unused.end - unused.start) as usize, libc::MADV_DONTNEED);
        }
    }
}

/// Whether an address lies in the memory of some coroutine's stack.
pub(crate) fn holds(address: u64) -> bool {
    lock().mapped.iter().any(|mapping| mapping.contains(&address))
}

const STACK_REGISTER: u64 = 0x1501;
const STACK_DEREGISTER: u64 = 0x1502;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "mappings and advice about them")]
    fn guard_below_a_stack_is_closed() {
        let memory = Memory::take(1).expect("memory");
        let low = memory.bounds().start;
        assert!(is_closed((low - 8) as *mut _) && is_closed((low - guard_bytes()) as *mut _));
        assert!(!is_closed(low as *mut _));
    }

    #[test]
    #[cfg_attr(miri, ignore = "mappings and advice about them")]
    fn stack_has_the_bytes_that_were_asked_for_and_comes_back() {
        for bytes in [1, 40 << 10, 49 << 10, 300 << 10] {
            let memory = Memory::take(bytes).expect("memory");
            let bounds = memory.bounds();
            assert!(bounds.end - bounds.start >= bytes && holds(bounds.start) && bounds.end.is_multiple_of(4096));
            for address in [bounds.start, bounds.end - 8] {
                // SAFETY: a word of the stack.
                unsafe { *(address as *mut u64) = 1 };
            }
            drop(memory);
            assert_eq!(Memory::take(bytes).expect("memory").bounds(), bounds);
        }
        assert!(Memory::take(u64::MAX).is_none() && Memory::take(MOST_BYTES).is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "mappings and advice about them")]
    fn stacks_beyond_those_of_late_are_more() {
        let take = |many| (0..many).map(|_| Memory::take(1).expect("memory")).collect::<Vec<_>>();
        let more = |taken: &[Memory]| taken.iter().filter(|memory| memory.is_more()).count();
        let mut taken = take(2 * FEW);
        assert_eq!(more(&taken), 2 * FEW);
        taken.clear();
        assert_eq!(more(&take(2 * FEW)), FEW, "a few had just ended");
    }

    #[test]
    #[cfg_attr(miri, ignore = "mappings and advice about them")]
    fn stacks_that_nobody_needs_give_their_pages_back_a_few_at_a_collection() {
        // A class that no other test uses.
        let bytes = (MOST_BYTES / 64) - guard_bytes();
        let kept = (WARM_BYTES / (MOST_BYTES / 64)) as usize;
        let mut taken: Vec<Memory> = (0..kept + 2).map(|_| Memory::take(bytes).expect("memory")).collect();
        let last_words: Vec<*mut u64> = taken.iter().map(|memory| (memory.bounds().end - 8) as *mut u64).collect();
        // SAFETY: words of the stacks.
        last_words.iter().for_each(|&word| unsafe { *word = 1 });
        // SAFETY: the mapping stays.
        let with_pages = || last_words.iter().filter(|&&word| unsafe { *word } == 1).count();
        taken.clear();
        assert_eq!(with_pages(), kept, "those beyond the bound have given theirs back at once");
        cool_some();
        assert_eq!(with_pages(), kept, "they have only just come back");
        let needed = Memory::take(bytes).expect("memory");
        assert!(!needed.is_more());
        drop(needed);
        cool_some();
        assert_eq!(with_pages(), kept.saturating_sub(FEW).max(1), "one of them was needed");
    }

    #[test]
    #[cfg_attr(miri, ignore = "mappings and advice about them")]
    fn pages_below_the_frames_go_back() {
        let memory = Memory::take(0).expect("memory");
        let bounds = memory.bounds();
        let word = |address: u64| address as *mut u64;
        // SAFETY: words of the stack.
        unsafe { *word(bounds.start) = 1 };
        // SAFETY: words of the stack.
        unsafe { *word(bounds.end - 8) = 2 };
        memory.trim(bounds.end - 64);
        // SAFETY: words of the stack.
        let [low, high] = [bounds.start, bounds.end - 8].map(|address| unsafe { *word(address) });
        assert_eq!([low, high], [0, 2]);
    }
}
