//! How much a round may do before the program has its turn. `[BOUND]`

use super::purse::LEVELS;

/// With a pause goal a trial has 4,096 members at most; larger rings are left to a mark, which may be interrupted.
const SLICED_LEVELS: usize = 4;

/// What a round may do at once: with a pause goal not more than a slice of work. `[BOUND]`
#[derive(Debug)]
pub(super) struct Slice {
    /// References that may still be followed; each candidate costs some.
    pub(super) units: i64,
    /// Levels that a trial may come to: it is not interrupted.
    pub(super) levels: usize,
    /// It was used up before the round had tried all that it should.
    pub(super) ended: bool,
}

impl Default for Slice {
    fn default() -> Self {
        Slice { units: i64::MAX, levels: LEVELS.len(), ended: false }
    }
}

impl Slice {
    /// With a pause goal.
    pub(super) fn bounded(units: i64) -> Slice {
        Slice { units, levels: SLICED_LEVELS, ended: false }
    }

    /// Whether nothing is left of it.
    pub(super) fn ends(&mut self) -> bool {
        self.ended |= self.units <= 0;
        self.ended
    }
}
