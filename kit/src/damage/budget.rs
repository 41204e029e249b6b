//! How much memory and time a reader takes, and how many inputs a test of damaged input tries.
//!
//! An executable that calls [`counting_allocator!`](crate::counting_allocator) counts what each thread has taken. A reader that
//! takes more than its input may cost is stopped at that allocation, before it takes the machine's memory, by the end of the
//! process: nothing is left to unwind into. The number of the input is on standard error then.

use crate::seed;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, Instant};

/// How long each test goes on, in seconds, in place of the number of inputs that belongs to the gate.
const SECONDS: &str = "TALLY_DAMAGE_SECONDS";

/// The number of the first input: the one of a failure, to see it again.
const FIRST: &str = "TALLY_DAMAGE_FIRST";

/// An allocation on the way to a page's size is nobody's fault.
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
    // A panic on its way may take what it needs for its backtrace: refused, it would wait for the lock that it holds.
    if taken > LIMIT.get() && TAKEN.get() < LIMIT.get() && !std::thread::panicking() {
        // Raised first: what is printed allocates, perhaps.
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
        // What another thread took may be given back here.
        TAKEN.set(TAKEN.get().saturating_sub(layout.size()));
        // SAFETY: the caller's duty.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `check` on inputs 0, 1, 2, …, `count` of them or for as long as the environment says, and says how many there were.
/// The first is another one where the run has a seed. `check` calls [`within`] for what has a budget.
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

/// Runs `read` on `bytes` bytes of input: it may take `factor` times as much memory, and two seconds of this thread's
/// time for a megabyte of it, and panic at nothing.
pub fn within<T>(bytes: usize, factor: usize, read: impl FnOnce() -> T) -> T {
    let before = TAKEN.get();
    LIMIT.set(before + BYTES_FOR_NOTHING + factor * bytes);
    PEAK.set(before);
    let begun = thread_time();
    let result = read();
    let time = thread_time() - begun;
    LIMIT.set(usize::MAX);
    let allowed = Duration::from_millis(200 + 2000 * bytes as u64 / (1 << 20));
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
