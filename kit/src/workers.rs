//! Many inputs on all processors: the loop that suites over a folder or over random programs share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs `check` on 0, 1, 2, … below `count`, on all processors, until all are done or `failures_max` have failed.
/// Returns the failures, in order, each with its error.
pub fn each_number<E: Send>(
    count: u64,
    failures_max: usize,
    check: impl Fn(u64) -> Result<(), E> + Sync,
) -> Vec<(u64, E)> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
    each_number_on(threads, count, failures_max, check)
}

/// The same on so many threads.
pub fn each_number_on<E: Send>(
    threads: usize,
    count: u64,
    failures_max: usize,
    check: impl Fn(u64) -> Result<(), E> + Sync,
) -> Vec<(u64, E)> {
    let (next, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || failures.lock().expect("no check panics").len() >= failures_max {
                        return;
                    }
                    if let Err(reason) = check(number) {
                        failures.lock().expect("no check panics").push((number, reason));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no check panics");
    failures.sort_by_key(|&(number, _)| number);
    failures
}

/// The same for the items of a list.
pub fn each<T: Sync, E: Send>(items: &[T], check: impl Fn(&T) -> Result<(), E> + Sync) -> Vec<E> {
    let failures = each_number(items.len() as u64, usize::MAX, |number| check(&items[number as usize]));
    failures.into_iter().map(|(_, reason)| reason).collect()
}
