//! The levels of exact trials, and what each may follow. `[BOUND]`
//!
//! A trial that finds nothing goes on to the next level, if that can pay. Allocation fills the budgets of all levels:
//! candidates on a large live heap, which all fail, cost two references for each cell at most. A trial that frees a good
//! part of what it looked at pays for itself, so that rings of every size are found where the program makes them.

use super::exact_trial::ExactTrials;
use crate::budget::Budget;
use crate::sample::PAYS;

/// Members at which the levels of a trial end.
pub(super) const LEVELS: [usize; 5] = [8, 512, 4096, 32 << 10, 256 << 10];
/// With a pause goal a trial has 4,096 members at most; larger rings are left to a mark, which may be interrupted. `[BOUND]`
pub(super) const SLICED_LEVELS: usize = LEVELS.len() - 2;
/// References a level may follow for 64 cells allocated.
const PER_64_CELLS: [i64; LEVELS.len()] = [64, 16, 4, 4, 4];

impl Default for Budget<{ LEVELS.len() }> {
    fn default() -> Self {
        Budget::of_levels(LEVELS)
    }
}

impl ExactTrials {
    /// So many cells were allocated since the last round.
    pub(super) fn fill_budget(&mut self, cells: u64) {
        for (level, share) in PER_64_CELLS.into_iter().enumerate() {
            self.budget.put(level, cells as i64 * share / 64);
        }
    }

    /// Whether a level has what it may need.
    pub(super) fn can_pay(&self, level: usize) -> bool {
        self.budget.can_pay(level, LEVELS[level] as i64 * 2)
    }

    /// A trial that ended at this level has freed so many objects. If that is a good part of what it looked at, it pays
    /// for itself, and for one more of each smaller level.
    pub(super) fn reward(&mut self, level: usize, objects: i64) {
        self.budget.reward(objects);
        if objects * PAYS as i64 >= self.edges || level == 0 {
            self.budget.put(level, self.edges);
            for (smaller, &members) in LEVELS.iter().enumerate().take(level) {
                self.budget.put(smaller, members as i64 * 2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_always_fail_follow_two_references_a_cell_at_most() {
        let mut trials = ExactTrials::default();
        let (mut followed, cells) = (0, 10_000_000);
        for _ in 0..cells / 1000 {
            trials.fill_budget(1000);
            for (level, &members) in LEVELS.iter().enumerate() {
                while trials.can_pay(level) {
                    trials.budget.pay(level, members as i64 * 2);
                    followed += members as i64 * 2;
                }
            }
        }
        assert!(followed <= 2 * cells, "{followed} references for {cells} cells");
    }

    #[test]
    fn small_trials_that_always_succeed_never_run_out() {
        let mut trials = ExactTrials::default();
        for _ in 0..100_000 {
            assert!(trials.can_pay(0));
            trials.budget.pay(0, 8);
            trials.edges = 8;
            trials.reward(0, 4);
        }
    }
}
