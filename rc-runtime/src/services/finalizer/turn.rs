//! How many finalizers run before the program goes on: a million that became due together are no reason to stop it.
//!
//! With a pause goal the finalizers of a set run some at each safepoint: for as long as a slice of the collector's own
//! work may take (`HeapOptions::slice_ns`), and not again before the program has had as much time. The clock is looked at
//! every [`CALLS_PER_LOOK`] calls. Where slices are given in units a call counts as [`UNITS_PER_CALL`]. At least one runs.
//! Without a pause goal, in an explicit collection, when memory has run out and at the end of the program all run.

use crate::heap::Heap;
use crate::turn::LastTurn;
use std::time::Instant;

/// Finalizers between two looks at the clock.
pub const CALLS_PER_LOOK: u32 = 16;
/// Units of work that a call is taken for.
pub const UNITS_PER_CALL: u32 = 16;

/// The finalizers that one safepoint runs.
#[derive(Debug)]
pub(crate) struct Turn {
    calls_left: u64,
    start: Option<Instant>,
}

impl Turn {
    /// All of them.
    pub(crate) const ALL: Turn = Turn { calls_left: u64::MAX, start: None };

    /// Whether it has no end.
    pub(crate) fn is_all(&self) -> bool {
        self.start.is_none() && self.calls_left > u64::from(u32::MAX)
    }
}

impl Heap {
    /// Whether the program has had its turn since the finalizers had theirs.
    pub(crate) fn finalizers_have_their_turn(&self) -> bool {
        let timed = self.sliced_drains && self.options.slice_units.is_none();
        !timed || self.finalizers.last_turn.program_had_its_own()
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&self) -> Turn {
        match self.options.slice_units {
            _ if !self.sliced_drains || self.finalizers.collecting => Turn::ALL,
            Some(units) => Turn { calls_left: (units / UNITS_PER_CALL).max(1).into(), start: None },
            None => Turn { calls_left: CALLS_PER_LOOK.into(), start: Some(Instant::now()) },
        }
    }

    /// Whether there is time for one more; if not, the turn has ended.
    pub(crate) fn has_turn(&mut self, turn: &mut Turn) -> bool {
        if turn.calls_left == 0 {
            let timed = turn.start.map(|start| (start, start.elapsed()));
            if timed.is_none_or(|(_, took)| took.as_nanos() as u64 >= self.options.slice_ns) {
                self.finalizers.last_turn =
                    timed.map_or_else(LastTurn::default, |(start, took)| LastTurn::of(start, took));
                return false;
            }
            turn.calls_left = CALLS_PER_LOOK.into();
        }
        turn.calls_left -= 1;
        true
    }
}
