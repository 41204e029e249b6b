//! Whether long epochs save work: learnt by trying.
//!
//! An object that lives a little longer than an epoch is promoted, counted and taken apart, and its hole is swept and filled. Had the
//! epoch been longer, the object would have cost nothing; but the memory of short epochs stays in the cache, and there is less of it.
//! What suits a program is found by an epoch of the other length. Compared is the *work*: objects promoted and log entries for each MiB
//! handed out.
//!
//! | epochs are | tried | kept |
//! |---|---|---|
//! | short | a long one, where the collector takes a sixteenth of the time | if it leaves four fifths of the work or less |
//! | long | a short one | if it leaves five fourths of the work or less |
//! | long, and the collector takes a 128th of the time or less | | short from now on |
//!
//! A trial is repeated after four epochs, after twice as many each time it fails.

use std::time::Duration;
use tally_heap::report::epoch_report::EpochReport;

/// The part of the time that makes a trial worth while, and the part at which short epochs do.
const WORTH_A_TRIAL: u32 = 16;
const NOT_WORTH_MEMORY: u32 = 128;
/// Work of short and of long epochs that is as good.
const SHORT: u64 = 5;
const LONG: u64 = 4;
/// Epochs before a trial is repeated.
const PATIENCE: u32 = 4;
const PATIENCE_MAX: u32 = 64;

/// What has been learnt.
#[derive(Debug)]
pub(in crate::plan::deferred) struct EpochLength {
    long: bool,
    /// The work of the epoch before, while the running one is a trial.
    trial: Option<u64>,
    /// Epochs until the next trial, and after one that fails.
    wait: u32,
    patience: u32,
}

impl Default for EpochLength {
    fn default() -> Self {
        EpochLength { long: false, trial: None, wait: 0, patience: PATIENCE }
    }
}

impl EpochLength {
    /// Takes an epoch that has ended, `length` bytes long if nothing flipped it early, and the time between its flip and the one before. Says whether the next are long.
    pub(in crate::plan::deferred) fn learn(&mut self, report: &EpochReport, length: u64, time: Duration) -> bool {
        // An epoch that was cut short says nothing about its length.
        if report.given_bytes >= length / 4 * 3 {
            let work = ((report.promoted + report.log_entries) << 20) / report.given_bytes.max(1);
            match self.trial.take() {
                Some(before) => self.judge(before, work),
                None => self.consider(work, Duration::from_nanos(report.work_ns), time),
            }
        }
        self.long
    }

    fn consider(&mut self, work: u64, collector: Duration, time: Duration) {
        if self.long && collector * NOT_WORTH_MEMORY < time {
            self.long = false;
        } else if self.wait > 0 {
            self.wait -= 1;
        } else if self.long || collector * WORTH_A_TRIAL >= time {
            self.trial = Some(work);
            self.long = !self.long;
        }
    }

    fn judge(&mut self, before: u64, work: u64) {
        let kept = match self.long {
            true => work * SHORT <= before * LONG,
            false => work * LONG <= before * SHORT,
        };
        self.wait = self.patience;
        match kept {
            true => self.patience = PATIENCE,
            false => {
                self.long = !self.long;
                self.patience = (2 * self.patience).min(PATIENCE_MAX);
            }
        }
    }
}
