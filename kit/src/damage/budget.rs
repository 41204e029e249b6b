//! A limit for a reader's memory, the end of one that hangs, and the number of inputs that a test of damaged input tries.
//!
//! An executable that calls [`counting_allocator!`](crate::counting_allocator) counts what each thread has taken.
//! When a reader takes more than its input may cost, the process ends at that allocation, before the reader takes the
//! machine's memory: an allocator cannot unwind. The number of the input is then on standard error, and so it is when an
//! input comes to no end for `HANGS_AFTER` seconds. No test asserts how long a reader takes: that is the machine's.

use crate::seed;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The duration of each test in seconds, in place of the gate's number of inputs.
const SECONDS: &str = "TALLY_DAMAGE_SECONDS";

/// The number of the first input: the one of a failure, to see it again.
const FIRST: &str = "TALLY_DAMAGE_FIRST";

/// Seconds after which an input hangs: readers take milliseconds, and the modules that a dozen processes look at some seconds.
const HANGS_AFTER: u32 = 300;

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
    let watch = Watch::begin();
    let mut input = first;
    while seconds.map_or(input - first < count, |seconds| begun.elapsed() < seconds || input == first) {
        INPUT.set(input);
        watch.input.store(input, Ordering::Relaxed);
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

/// Ends the process when an input comes to no end.
struct Watch {
    /// The input that is tried, or [`Watch::OVER`].
    input: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    const OVER: u64 = u64::MAX;

    fn begin() -> Watch {
        let input = Arc::new(AtomicU64::new(0));
        let watched = Arc::clone(&input);
        let thread = std::thread::spawn(move || {
            let (mut last, mut seconds) = (0, 0);
            // A machine that stood still counts as one second.
            while seconds < HANGS_AFTER {
                std::thread::park_timeout(Duration::from_secs(1));
                match watched.load(Ordering::Relaxed) {
                    Watch::OVER => return,
                    input if input == last => seconds += 1,
                    input => (last, seconds) = (input, 0),
                }
            }
            eprintln!("input {last} comes to no end; {FIRST}={last} shows it again");
            std::process::abort();
        });
        Watch { input, thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.input.store(Watch::OVER, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot panic.
            let _ = thread.join();
        }
    }
}

/// Runs `read` on `bytes` bytes of input: it may take `factor` times as much memory, must not panic, and must end.
pub fn within<T>(bytes: usize, factor: usize, read: impl FnOnce() -> T) -> T {
    let before = TAKEN.get();
    LIMIT.set(before + BYTES_FOR_NOTHING + factor * bytes);
    PEAK.set(before);
    let result = read();
    LIMIT.set(usize::MAX);
    result
}

/// The most that [`within`] had taken at one time.
pub fn peak() -> usize {
    PEAK.get() - TAKEN.get().min(PEAK.get())
}
