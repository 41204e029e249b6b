//! How much a round may do before the program has its turn. `[BOUND]`

use crate::plan::prompt::level_budget::LEVELS;
use crate::stops::CHUNK_UNITS;
use std::time::{Duration, Instant};

/// With a pause goal a trial has 4,096 members at most; larger rings are left to a mark, which may be interrupted.
const SLICED_LEVELS: usize = 4;

/// The work that the trials of a round may do at once: with a pause goal not more than a slice. `[BOUND]`
#[derive(Debug)]
pub(super) struct Slice {
    /// References that may still be followed; each candidate costs some.
    units: i64,
    /// Then it ends. The clock is looked at when `units` are this few.
    until: Option<Instant>,
    next_look: i64,
    /// Levels that a trial may come to: it is not interrupted.
    pub(super) levels: usize,
    /// It was used up before the round had tried all that it should.
    pub(super) ended: bool,
}

impl Default for Slice {
    fn default() -> Self {
        Slice { units: i64::MAX, until: None, next_look: 0, levels: LEVELS.len(), ended: false }
    }
}

impl Slice {
    /// With a pause goal, and a fixed number of units.
    pub(super) fn of_units(units: i64) -> Slice {
        Slice { units, levels: SLICED_LEVELS, ..Slice::default() }
    }

    /// With a pause goal: so many units at most, and for so much time from now on, but a chunk at least.
    pub(super) fn of_time(units: i64, ns: u64) -> Slice {
        Slice {
            until: Instant::now().checked_add(Duration::from_nanos(ns)),
            next_look: units - CHUNK_UNITS,
            ..Slice::of_units(units)
        }
    }

    /// So much has been done.
    pub(super) fn spend(&mut self, units: i64) {
        self.units -= units;
        if self.units <= self.next_look
            && let Some(until) = self.until
        {
            self.next_look = self.units - CHUNK_UNITS;
            if Instant::now() >= until {
                self.units = 0;
            }
        }
    }

    /// Whether nothing is left of it.
    pub(super) fn ends(&mut self) -> bool {
        self.ended |= self.units <= 0;
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_ends_with_its_units_or_its_time_but_not_before_a_chunk() {
        let mut by_units = Slice::of_units(3000);
        by_units.spend(2999);
        assert!(!by_units.ends());
        by_units.spend(1);
        assert!(by_units.ends());

        let mut late = Slice::of_time(100_000, 0);
        late.spend(CHUNK_UNITS - 1);
        assert!(!late.ends());
        late.spend(1);
        assert!(late.ends());

        let mut early = Slice::of_time(10_000, 60_000_000_000);
        (0..9).for_each(|_| early.spend(1000));
        assert!(!early.ends());
        early.spend(1000);
        assert!(early.ends());

        let mut unbounded = Slice::default();
        unbounded.spend(1 << 40);
        assert!(!unbounded.ends());
    }
}
