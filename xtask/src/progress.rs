//! The progress of a chore that runs many programs: which one runs, how many are done, and the time left.
//!
//! `cargo xtask bench` makes one for its runs. It is a line on standard error; where that is no terminal, nothing is
//! drawn. The tests' generators have their own (kit/src/progress.rs): xtask is built before any crate of Tally.

use indicatif::{ProgressBar, ProgressStyle};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often is looked what others have done.
const LOOK_EACH: Duration = Duration::from_millis(250);

/// The line; it disappears with the value.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// The progress over so many runs.
    pub fn new(runs: usize) -> Progress {
        let bar = ProgressBar::new(runs as u64);
        let line = "{wide_bar} {pos} of {len} runs, {eta} left; {msg}";
        bar.set_style(ProgressStyle::with_template(line).expect("a sound template"));
        Progress { bar }
    }

    /// Shows how many of so many runs `done` finds ended while `work` has others run them.
    pub fn watching<R>(runs: usize, done: impl Fn() -> usize + Send, work: impl FnOnce() -> R) -> R {
        let progress = Progress::new(runs);
        let (working, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while ended.recv_timeout(LOOK_EACH) == Err(RecvTimeoutError::Timeout) {
                    progress.bar.set_position(done() as u64);
                }
            });
            let result = work();
            drop(working);
            result
        })
    }

    /// Names the run that begins.
    pub fn begin(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// Counts a run that has ended, or is left out.
    pub fn end(&self) {
        self.bar.inc(1);
    }

    /// Prints a line to standard output, above the progress.
    pub fn print(&self, line: &str) {
        self.bar.suspend(|| println!("{line}"));
    }

    /// Prints a complaint to standard error, above the progress; also where nothing is drawn.
    pub fn complain(&self, what: &str) {
        self.bar.suspend(|| eprintln!("xtask: {what}"));
    }

    #[cfg(test)]
    pub fn ended(&self) -> (u64, u64) {
        (self.bar.position(), self.bar.length().unwrap_or(0))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn runs_that_have_ended_are_counted() {
        let progress = Progress::new(3);
        for run in ["lru malloc", "lru tally-prompt"] {
            progress.begin(run);
            progress.end();
        }
        assert_eq!(progress.ended(), (2, 3));
    }

    #[test]
    fn watching_ends_with_the_work() {
        assert_eq!(Progress::watching(2, || 1, || 7), 7);
    }
}
