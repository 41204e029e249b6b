//! The budgets of trials: references that they may follow. `[BOUND]`
//!
//! ```text
//! Σ edges  ≤  bytes / BYTES_PER_EDGE + EDGES_PER_FREED × references that died + three trials   (deferred plan)
//!          ≤  EDGES_MAX × bytes
//! Σ edges  ≤  2 × cells + EDGES_PER_FREED × objects that died + trials that paid            (prompt plan)
//! ```
//!
//! *Bytes* and *cells* are those handed out for allocation. A reference dies once, and each lay in eight bytes that were allocated. So
//! trials that free what they look at pay for themselves and for some that do not, and those on a large live heap, which
//! all fail, cost a small part of what the program does anyway: whatever their number, and however wide the objects.
//!
//! The prompt plan's trials deepen in levels, each with a budget of its own (`plan::prompt::exact_trial`); those of the
//! deferred plan have one.
//!
//! Under the deferred plan a trial in vain pays for each reference twice.
//!
//! A candidate beyond the budget is not tried: it is evidence for the mark, or waits.

/// The K of the second line above, for programs that allocate anything worth mentioning.
pub const EDGES_MAX: u64 = 2;
/// Bytes allocated that pay for one reference under the deferred plan: 8 MiB for a third of a millisecond.
pub const BYTES_PER_EDGE: u64 = 256;
/// References that one reference, or object, found dead pays for.
pub(crate) const EDGES_PER_FREED: i64 = 4;
/// The unspent budget is kept, up to this, or what eight trials of the level need.
const EDGES_KEPT: i64 = 256 << 10;

const _: () = assert!(1 / BYTES_PER_EDGE + EDGES_PER_FREED as u64 / 8 < EDGES_MAX);

/// The references that trials may still follow, by level.
#[derive(Debug)]
pub(crate) struct Budget<const LEVELS: usize> {
    left: [i64; LEVELS],
    kept: [i64; LEVELS],
}

impl<const LEVELS: usize> Budget<LEVELS> {
    /// That of trials which end at so many `members`: two trials of each level, before anything was allocated.
    pub(crate) fn of_levels(members: [usize; LEVELS]) -> Budget<LEVELS> {
        let left = members.map(|members| (members as i64 * EDGES_PER_FREED).min(EDGES_KEPT / 2));
        Budget { left, kept: members.map(|members| EDGES_KEPT.max(members as i64 * 16)) }
    }

    /// So many references of a level were paid for.
    pub(crate) fn put(&mut self, level: usize, edges: i64) {
        self.left[level] = self.left[level].saturating_add(edges).min(self.kept[level]);
    }

    /// A trial has found so many references, or objects, dead: small trials are paid for.
    pub(crate) fn reward(&mut self, freed: i64) {
        self.put(0, freed * EDGES_PER_FREED);
    }

    /// A level has followed so many references.
    pub(crate) fn pay(&mut self, level: usize, edges: i64) {
        self.left[level] -= edges;
    }

    /// Whether a level may follow `edges` more.
    pub(crate) fn can_pay(&self, level: usize, edges: i64) -> bool {
        self.left[level] >= edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_always_fail_follow_what_was_paid_for_and_one_trial_more() {
        let (mut budget, mut followed) = (Budget::of_levels([128]), 0);
        for _ in 0..1000 {
            budget.put(0, 32_768);
            while budget.can_pay(0, 1) {
                budget.pay(0, 300);
                followed += 300;
            }
        }
        let paid = 512 + 1000 * 32_768;
        assert!(followed <= paid + 300, "{followed} followed, {paid} paid");
        assert!(followed > paid - 300 * 1000, "{followed} followed, {paid} paid");
    }

    #[test]
    fn trials_of_which_one_in_three_succeeds_never_run_out() {
        let mut budget = Budget::of_levels([128]);
        budget.put(0, 1024);
        for round in 0..100_000 {
            assert!(budget.can_pay(0, 1), "round {round}");
            budget.pay(0, 16);
            if round % 3 == 0 {
                budget.reward(16);
            }
        }
    }

    #[test]
    fn an_idle_program_does_not_save_without_end() {
        let mut budget = Budget::of_levels([8, 256 << 10]);
        for (level, most) in [(0, EDGES_KEPT), (1, 16 * (256 << 10))] {
            budget.put(level, i64::MAX);
            assert!(budget.can_pay(level, most) && !budget.can_pay(level, most + 1));
        }
    }
}
