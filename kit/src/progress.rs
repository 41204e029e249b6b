//! The progress of a long check, on standard error if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A line with the items done, their number, the speed and the time left. It disappears with the value.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// The progress over `count` items; `what` is their name.
    pub fn new(what: &'static str, count: u64) -> Progress {
        let bar = ProgressBar::new(count).with_message(what);
        let line = "{wide_bar} {human_pos} of {human_len} {msg}, {per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(line).expect("a sound template"));
        Progress { bar }
    }

    /// Adds `more` items to those done.
    pub fn advance(&self, more: u64) {
        self.bar.inc(more);
    }

    /// Sets the number of items done.
    pub fn reach(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Prints a line to standard output, above the progress.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| println!("{line}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
