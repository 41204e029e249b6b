//! How far a long check has come, on standard error; nothing where that is no terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A line that says how many of how many are done, how fast, and how long the rest will take. It goes with the value.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Of `count` things, which `what` names.
    pub fn new(what: &'static str, count: u64) -> Progress {
        let bar = ProgressBar::new(count).with_message(what);
        let line = "{wide_bar} {human_pos} of {human_len} {msg}, {per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(line).expect("a sound template"));
        Progress { bar }
    }

    /// So many more are done.
    pub fn advance(&self, more: u64) {
        self.bar.inc(more);
    }

    /// So many are done.
    pub fn reach(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// A line of standard output, above the progress.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| println!("{line}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
