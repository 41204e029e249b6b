//! A turn of finalizers begins, and ends. `[BOUND]`

use super::{CALLS_PER_LOOK, Turn, UNITS_PER_CALL};
use crate::heap::Heap;
use crate::turn::LastTurn;
use std::time::Instant;

impl Heap {
    /// Whether the program has had its turn since the finalizers had theirs.
    pub(crate) fn finalizers_have_their_turn(&self) -> bool {
        let timed = self.finalizers_take_turns() && self.options.slice_units.is_none();
        !timed || self.finalizers_are_late() || self.services.finalizers.last_turn.program_had_its_own()
    }

    /// Bytes of the objects that wait for their finalizers, if those are as large as others. What these hold is not among them.
    pub fn bytes_that_wait_for_finalizers(&self) -> u64 {
        let each = self.statistics.live_bytes / self.statistics.live_objects.max(1);
        each.saturating_mul(self.services.finalizers.queue.len() as u64)
    }

    /// Whether half of all objects wait, or more: the heap would grow for as long as the program makes more of them.
    fn finalizers_are_late(&self) -> bool {
        self.services.finalizers.queue.len() as u64 > self.statistics.live_objects / 2
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
