//! Whether long epochs save work: learnt by trying.
//!
//! An object that lives a little longer than an epoch is promoted, counted and taken apart, and its hole is swept and filled. Had the
//! epoch been longer, the object would have cost nothing; but the memory of short epochs stays in the cache, and there is less of it.
//! What suits a program is found by an epoch of the other length. Compared is the *work*: objects promoted and log entries for each MiB
//! handed out.
//!
//! | epochs are | tried | kept |
//! |---|---|---|
//! | short | a long one, where every thirtieth object or so makes work | if it leaves four fifths of the work or less |
//! | long | a short one | if it leaves nine eighths of the work or less |
//! | long, and leave next to no work | nothing: the next is short | |
//!
//! A trial is repeated after two epochs, after twice as many each time it fails. There is none between epochs that differ without one: while
//! a program builds what it works on all survives, however long epochs are, and the end of that looks as if a trial had saved it.

use tally_heap::report::epoch_report::EpochReport;

/// Work of a short epoch that makes a trial worth while, and of a long one at which a short one does.
const WORTH_A_TRIAL: u64 = 640;
const NOT_WORTH_MEMORY: u64 = WORTH_A_TRIAL / 8;
/// The part of the work that a long epoch must save. Two epochs of one length differ by no more where a trial begins, or their
/// difference would look like a saving.
const SAVED: u64 = 5;
/// The part of the work that a short epoch may add.
const ADDED: u64 = 8;
/// Epochs before a trial is repeated.
pub(in crate::plan::deferred) const PATIENCE: u32 = 2;
const PATIENCE_MAX: u32 = 32 * PATIENCE;
/// Epochs of a heap that has begun to count before it tries others. They say what counts cost (`marking::price`); in a long one
/// marks seem dear, since four come in its place, and the heap is large by then.
const EPOCHS_BEFORE_TRIALS: u32 = 4;

/// What has been learnt.
#[derive(Debug)]
pub(in crate::plan::deferred) struct EpochLength {
    long: bool,
    /// The work of the last epoch that was no trial.
    last: u64,
    /// The running epoch is of the other length.
    is_trial: bool,
    /// Epochs until the next trial, and after one that fails.
    wait: u32,
    patience: u32,
}

impl Default for EpochLength {
    fn default() -> Self {
        EpochLength { long: false, last: 0, is_trial: false, wait: 0, patience: PATIENCE }
    }
}

impl EpochLength {
    /// Takes an epoch that has ended, and was to be of `length` bytes. Says whether the next are long.
    pub(in crate::plan::deferred) fn learn(&mut self, report: &EpochReport, length: u64) -> bool {
        // An epoch that was cut short says nothing about its length.
        if report.given_bytes >= length / 4 * 3 {
            let work = ((report.promoted + report.log_entries) << 20) / report.given_bytes.max(1);
            match self.is_trial {
                true => self.judge(work),
                false => self.consider(work),
            }
        }
        self.long
    }

    /// The heap begins to count: epochs are short until it is known whether marks would be cheaper.
    pub(in crate::plan::deferred) fn begin(&mut self) {
        (self.long, self.is_trial) = (false, false);
        self.wait = self.wait.max(EPOCHS_BEFORE_TRIALS);
    }

    fn consider(&mut self, work: u64) {
        let last = std::mem::replace(&mut self.last, work);
        let is_steady = last.abs_diff(work) <= last.max(work) / SAVED;
        if self.long && work < NOT_WORTH_MEMORY {
            self.long = false;
        } else if self.wait > 0 {
            self.wait -= 1;
        } else if is_steady && (self.long || work >= WORTH_A_TRIAL) {
            self.is_trial = true;
            self.long = !self.long;
        }
    }

    fn judge(&mut self, work: u64) {
        self.is_trial = false;
        self.wait = self.patience;
        let kept = match self.long {
            true => work <= self.last - self.last / SAVED,
            false => work <= self.last + self.last / ADDED,
        };
        if kept {
            self.last = work;
            self.patience = PATIENCE;
        } else {
            self.long = !self.long;
            self.patience = (2 * self.patience).min(PATIENCE_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: u64 = 8 << 20;

    /// Of each epoch whether it was long, where short and long ones leave so much work.
    fn lengths(short: u64, long: u64, epochs: usize) -> Vec<bool> {
        let mut learnt = EpochLength::default();
        let mut lengths = vec![false];
        while lengths.len() < epochs {
            let work = if learnt.long { long } else { short };
            lengths.push(after(&mut learnt, work));
        }
        lengths
    }

    /// Whether the epoch after one with that work is long.
    fn after(learnt: &mut EpochLength, work: u64) -> bool {
        let length = if learnt.long { 4 * SHORT } else { SHORT };
        let mut report = EpochReport::default();
        report.given_bytes = length;
        report.promoted = (work * (length >> 20)) / 2;
        report.log_entries = work * (length >> 20) - report.promoted;
        learnt.learn(&report, length)
    }

    fn share_of_long(short: u64, long: u64) -> usize {
        lengths(short, long, 200).iter().filter(|&&long| long).count() / 2
    }

    #[test]
    fn epochs_that_save_work_are_long_but_for_a_few_trials() {
        assert_eq!(lengths(1000, 700, 8), [false, false, true, true, true, true, false, true]);
        assert!(share_of_long(1000, 800) >= 90);
        assert!(share_of_long(20_000, 5_000) >= 90);
    }

    #[test]
    fn epochs_that_save_nothing_are_short_but_for_a_few_trials() {
        assert_eq!(lengths(1000, 1000, 8), [false, false, true, false, false, false, true, false]);
        assert!(share_of_long(1000, 801) <= 5);
        assert!(share_of_long(20_000, 30_000) <= 5);
    }

    #[test]
    fn nothing_is_tried_where_next_to_nothing_survives() {
        assert_eq!(share_of_long(WORTH_A_TRIAL - 1, 0), 0);
        assert_eq!(share_of_long(0, 0), 0);
    }

    #[test]
    fn nothing_is_tried_while_the_work_changes() {
        let mut learnt = EpochLength::default();
        assert!([20_000, 10_000, 5_000, 2_500, 1_250].into_iter().all(|work| !after(&mut learnt, work)));
        assert!(after(&mut learnt, 1_250), "it is steady now");
    }

    #[test]
    fn long_epochs_end_when_their_work_does() {
        let mut learnt = EpochLength::default();
        assert!([1000, 1000, 300, 300].map(|work| after(&mut learnt, work)).ends_with(&[true, true]));
        assert!(!after(&mut learnt, NOT_WORTH_MEMORY - 1));
    }

    #[test]
    fn long_epochs_end_when_short_ones_become_as_good() {
        let mut learnt = EpochLength::default();
        assert!([1000, 1000, 300].map(|work| after(&mut learnt, work)).ends_with(&[true]));
        let long = (0..8).filter(|_| after(&mut learnt, 300)).count();
        assert_eq!(long, PATIENCE as usize, "then a short one was as good");
    }

    #[test]
    fn an_epoch_that_was_cut_short_is_not_looked_at() {
        let mut learnt = EpochLength::default();
        let mut report = EpochReport::default();
        (report.given_bytes, report.promoted) = (SHORT / 2, 1 << 20);
        assert!((0..8).all(|_| !learnt.learn(&report, SHORT)));
    }
}
