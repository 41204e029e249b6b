//! A turn of finalizers begins, and ends. `[BOUND]`

use super::{CALLS_PER_LOOK, Turn, UNITS_PER_CALL};
use crate::heap::Heap;
use crate::turn::LastTurn;
use std::time::Instant;

impl Heap {
    /// Whether the program has had its turn since the finalizers had theirs.
    pub(crate) fn finalizers_have_their_turn(&self) -> bool {
        let timed = self.finalizers_take_turns() && self.options.slice_units.is_none();
        !timed || self.services.finalizers.last_turn.program_had_its_own()
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&self) -> Turn {
        match self.options.slice_units {
            _ if !self.finalizers_take_turns() || self.services.finalizers.collecting => Turn::ALL,
            Some(units) => Turn { calls_left: (units / UNITS_PER_CALL).max(1).into(), start: None },
            None => Turn { calls_left: CALLS_PER_LOOK.into(), start: Some(Instant::now()) },
        }
    }

    /// Whether there is time for one more; if not, the turn has ended.
    pub(crate) fn has_turn(&mut self, turn: &mut Turn) -> bool {
        if turn.calls_left == 0 {
            let timed = turn.start.map(|start| (start, start.elapsed()));
            if timed.is_none_or(|(_, took)| took.as_nanos() as u64 >= self.options.slice_ns) {
                self.services.finalizers.last_turn =
                    timed.map_or_else(LastTurn::default, |(start, took)| LastTurn::of(start, took));
                return false;
            }
            turn.calls_left = CALLS_PER_LOOK.into();
        }
        turn.calls_left -= 1;
        true
    }
}
