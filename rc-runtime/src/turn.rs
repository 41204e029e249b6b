//! Whose turn it is: work that stops the program, and could go on at once, waits until the program has had as much time as the last
//! stop for such work took.

use std::time::{Duration, Instant};

/// When the last turn of some work ended, and how long it took. By default there was none.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct LastTurn(Option<(Instant, Duration)>);

impl LastTurn {
    /// A turn that began at `start` and took so long.
    pub(crate) fn of(start: Instant, took: Duration) -> LastTurn {
        LastTurn(Some((start + took, took)))
    }

    /// Whether the program has had as much time since.
    pub(crate) fn program_had_its_own(self) -> bool {
        self.0.is_none_or(|(end, took)| end.elapsed() >= took)
    }
}
