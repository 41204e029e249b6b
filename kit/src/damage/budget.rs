//! Limits for a reader's memory and time, and the number of inputs that a test of damaged input tries.
//!
//! An executable that calls [`counting_allocator!`](crate::counting_allocator) counts what each thread has taken.
//! When a reader takes more than its input may cost, the process ends at that allocation, before the reader takes the
//! machine's memory: an allocator cannot unwind. The number of the input is then on standard error.

use crate::seed;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, Instant};

/// The duration of each test in seconds, in place of the gate's number of inputs.
const SECONDS: &str = "TALLY_DAMAGE_SECONDS";

/// The number of the first input: the one of a failure, to see it again.
const FIRST: &str = "TALLY_DAMAGE_FIRST";

/// Bytes that any input may take: small allocations have nothing to do with the input's size.
const BYTES_FOR_NOTHING: usize = 256 << 10;

/// The system's allocator, with a limit.
pub struct Counted;

/// Makes [`Counted`] the allocator of the executable that calls it; without it [`within`] would watch the time alone.
#[macro_export]
macro_rules! counting_allocator {
    () => {
        #[global_allocator]
        static ALLOCATOR: $crate::damage::budget::Counted = $crate::damage::budget::Counted;
    };
}

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
    static INPUT: Cell<u64> = const { Cell::new(0) };
}

/// Whether `size` more bytes may be taken; if so they count.
fn take(size: usize) -> bool {
    let taken = TAKEN.get().wrapping_add(size);
    // A running panic may allocate for its backtrace: refused, it would wait for the lock that it holds.
    if taken > LIMIT.get() && TAKEN.get() < LIMIT.get() && !std::thread::panicking() {
        // Raised first: printing may allocate.
        let limit = LIMIT.replace(usize::MAX);
        let _ = writeln!(
            std::io::stderr(),
            "input {} takes {taken} bytes, with {size} at once, where {limit} are allowed; {FIRST}={} shows it again",
            INPUT.get(),
            INPUT.get()
        );
        return false;
    }
    TAKEN.set(taken);
    PEAK.set(PEAK.get().max(taken));
    true
}

// SAFETY: the system's allocator does the work; refusing is allowed.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's duty.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // Memory that another thread took may be freed here.
        TAKEN.set(TAKEN.get().saturating_sub(layout.size()));
        // SAFETY: the caller's duty.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `check` on inputs 0, 1, 2, …, `count` of them or for as long as the environment says, and prints how many
/// there were. With a seed for the run, it begins at another input. `check` calls [`within`] for work that has a
/// budget.
pub fn each_input(what: &str, count: u64, mut check: impl FnMut(u64)) {
    let number = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let seconds = number(SECONDS).map(Duration::from_secs);
    let first = number(FIRST).unwrap_or_else(|| seed::of_the_run(0));
    let begun = Instant::now();
    let mut input = first;
    while seconds.map_or(input - first < count, |seconds| begun.elapsed() < seconds || input == first) {
        INPUT.set(input);
        let told = TellOnPanic(input);
        check(input);
        std::mem::forget(told);
        input += 1;
    }
    println!("{what}: {} damaged inputs", input - first);
}

struct TellOnPanic(u64);

impl Drop for TellOnPanic {
    fn drop(&mut self) {
        eprintln!("input {} failed; {FIRST}={} shows it again", self.0, self.0);
    }
}

/// Runs `read` on `bytes` bytes of input: it may take `factor` times as much memory, must not panic, and must end: a
/// reader that takes more of this thread's time than ten seconds, and a minute for a megabyte of input, hangs.
pub fn within<T>(bytes: usize, factor: usize, read: impl FnOnce() -> T) -> T {
    let before = TAKEN.get();
    LIMIT.set(before + BYTES_FOR_NOTHING + factor * bytes);
    PEAK.set(before);
    let begun = thread_time();
    let result = read();
    let time = thread_time() - begun;
    LIMIT.set(usize::MAX);
    let allowed = Duration::from_millis(10_000 + 60_000 * bytes as u64 / (1 << 20));
    assert!(time <= allowed, "{bytes} bytes took {time:?}, {allowed:?} are allowed");
    result
}

/// The most that [`within`] had taken at one time.
pub fn peak() -> usize {
    PEAK.get() - TAKEN.get().min(PEAK.get())
}

/// The processor time of this thread, which busy neighbours do not lengthen.
fn thread_time() -> Duration {
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut time = TimeSpec::default();
    // SAFETY: the clock is there on every Linux; `time` is a `struct timespec` of x86-64.
    let failed = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0);
    Duration::new(time.seconds, time.nanoseconds as u32)
}

#[repr(C)]
#[derive(Default)]
struct TimeSpec {
    seconds: u64,
    nanoseconds: u64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
}
