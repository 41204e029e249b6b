//! The budgets of trials: each level may follow a number of references. `[BOUND]`
//!
//! Allocation fills the budgets, and so does success: a trial that frees a good part of what it looked at pays for
//! itself, and small ones may fail more often than they succeed. Candidates on a large live heap, which all fail, so
//! cost a bounded part of the allocation, whatever their number: two references for each cell allocated.

/// Members at which the levels of a trial end.
pub(super) const LEVELS: [usize; 4] = [8, 512, 4096, 256 << 10];
/// With a pause goal a trial has 4,096 members at most; larger rings are left to a mark, which may be interrupted. `[BOUND]`
pub(super) const SLICED_LEVELS: usize = 3;
/// References a level may follow for 64 cells allocated.
const PER_64_CELLS: [i64; LEVELS.len()] = [64, 16, 4, 4];

/// The budgets of all levels of trials.
#[derive(Debug)]
pub(super) struct LevelBudget([i64; LEVELS.len()]);

impl Default for LevelBudget {
    fn default() -> Self {
        LevelBudget(LEVELS.map(|members| (members as i64 * 4).clamp(1024, 128 << 10)))
    }
}

impl LevelBudget {
    /// So many cells were allocated.
    pub(super) fn fill(&mut self, cells: i64) {
        for (level, budget) in self.0.iter_mut().enumerate() {
            *budget = (*budget + cells * PER_64_CELLS[level] / 64).min(LEVELS[level] as i64 * 16 + 65_536);
        }
    }

    /// Whether a level has what it may need.
    pub(super) fn can_pay(&self, level: usize) -> bool {
        self.0[level] >= LEVELS[level] as i64 * 2
    }

    /// A level has followed so many references.
    pub(super) fn pay(&mut self, level: usize, edges: i64) {
        self.0[level] -= edges;
    }

    /// A trial that ended at `level` after so many references has freed so many objects.
    pub(super) fn reward(&mut self, level: usize, edges: i64, objects: i64) {
        self.0[0] += objects * 4;
        if objects * 16 >= edges || level == 0 {
            for (place, budget) in self.0.iter_mut().enumerate().take(level + 1) {
                *budget += if place == level { edges } else { (LEVELS[place] * 2) as i64 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_always_fail_follow_two_references_a_cell_at_most() {
        let mut budgets = LevelBudget::default();
        let (mut followed, cells) = (0, 10_000_000);
        for _ in 0..cells / 1000 {
            budgets.fill(1000);
            for (level, &members) in LEVELS.iter().enumerate() {
                while budgets.can_pay(level) {
                    budgets.pay(level, members as i64 * 2);
                    followed += members as i64 * 2;
                }
            }
        }
        assert!(followed <= 2 * cells, "{followed} references for {cells} cells");
    }

    #[test]
    fn cells_allocated_pay_each_level_its_share() {
        let mut budgets = LevelBudget::default();
        for level in 0..LEVELS.len() {
            budgets.pay(level, budgets.0[level]);
        }
        budgets.fill(64 * 100);
        assert_eq!(budgets.0, PER_64_CELLS.map(|share| share * 100));
        budgets.fill(1 << 40);
        assert_eq!(budgets.0, LEVELS.map(|members| members as i64 * 16 + 65_536), "and never more than this");
    }

    #[test]
    fn small_trials_that_always_succeed_never_run_out() {
        let mut budgets = LevelBudget::default();
        for _ in 0..100_000 {
            assert!(budgets.can_pay(0));
            budgets.pay(0, 8);
            budgets.reward(0, 8, 4);
        }
    }
}
