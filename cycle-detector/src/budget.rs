//! The budget of trials: references that they may follow. `[BOUND]`
//!
//! ```text
//! Σ edges  ≤  EDGES_AT_FIRST + bytes / BYTES_PER_EDGE + entries × EDGES_PER_ENTRY + EDGES_PER_FREED × references that died + one trial
//!          ≤  EDGES_AT_FIRST + EDGES_MAX × (bytes + entries)
//! ```
//!
//! *Bytes* are those handed out for allocation, *entries* those of the log: a write that makes a candidate logs a
//! reference, and so has allocated or logged something, or has released a root, and roots are few. A reference dies
//! once, and each lay in eight bytes that were allocated. So trials that free what they look at pay for themselves and
//! for some that do not, and those on a large live heap, which all fail, cost a small part of what the program does
//! anyway: whatever their number, and however wide the objects.
//!
//! A trial in vain pays for each reference twice.
//!
//! A candidate beyond the budget is not tried: it is a suspect, evidence for the mark.

/// The K of the second line above, for programs that allocate or log anything worth mentioning.
pub const EDGES_MAX: u64 = 2;
/// References that may be followed before anything was allocated.
pub const EDGES_AT_FIRST: i64 = 1024;
/// Bytes allocated that pay for one reference: 8 MiB for a third of a millisecond.
pub const BYTES_PER_EDGE: u64 = 256;
/// References that one log entry pays for: a tenth of what the entry costs itself.
pub const EDGES_PER_ENTRY: u64 = 1;
/// References that one reference found dead pays for.
pub const EDGES_PER_FREED: i64 = 4;
/// The unspent budget is kept, up to this.
const EDGES_KEPT: i64 = 256 << 10;

/// The budget of trials: references that they may still follow.
#[derive(Debug)]
pub(crate) struct Budget(i64);

impl Default for Budget {
    fn default() -> Self {
        Budget(EDGES_AT_FIRST)
    }
}

impl Budget {
    /// So many bytes were handed out, and so many entries logged.
    pub(crate) fn fill(&mut self, bytes: u64, entries: u64) {
        let edges = (bytes / BYTES_PER_EDGE).saturating_add(entries.saturating_mul(EDGES_PER_ENTRY));
        self.put(edges.min(EDGES_KEPT as u64) as i64);
    }

    /// Garbage was found that held so many references.
    pub(crate) fn reward(&mut self, references: i64) {
        self.put(references * EDGES_PER_FREED);
    }

    /// So many references were followed.
    pub(crate) fn pay(&mut self, edges: i64) {
        self.0 -= edges;
    }

    /// Whether `edges` more may be followed.
    pub(crate) fn can_pay(&self, edges: i64) -> bool {
        self.0 >= edges
    }

    fn put(&mut self, edges: i64) {
        self.0 = (self.0 + edges).min(EDGES_KEPT);
    }
}

const _: () = assert!(1 / BYTES_PER_EDGE + EDGES_PER_FREED as u64 / 8 < EDGES_MAX && EDGES_PER_ENTRY <= EDGES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_always_fail_follow_what_was_paid_for_and_one_trial_more() {
        let (mut budget, mut followed) = (Budget::default(), 0);
        for _ in 0..1000 {
            budget.fill(8 << 20, 1000);
            while budget.can_pay(1) {
                budget.pay(300);
                followed += 300;
            }
        }
        let paid = EDGES_AT_FIRST + 1000 * ((8 << 20) / BYTES_PER_EDGE + 1000 * EDGES_PER_ENTRY) as i64;
        assert!(followed <= paid + 300, "{followed} followed, {paid} paid");
        assert!(followed > paid - 300 * 1000, "{followed} followed, {paid} paid");
    }

    #[test]
    fn trials_of_which_one_in_three_succeeds_never_run_out() {
        let mut budget = Budget::default();
        for round in 0..100_000 {
            assert!(budget.can_pay(1), "round {round}");
            budget.pay(16);
            if round % 3 == 0 {
                budget.reward(16);
            }
        }
    }

    #[test]
    fn an_idle_program_does_not_save_without_end() {
        let mut budget = Budget::default();
        budget.fill(u64::MAX, u64::MAX);
        assert!(!budget.can_pay(EDGES_KEPT + 1));
    }
}
