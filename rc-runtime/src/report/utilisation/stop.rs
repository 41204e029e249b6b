//! A stop of the program is noted.

use crate::heap::Heap;
use std::time::Instant;

impl Heap {
    /// The program was stopped for `ns` nanoseconds from `start` on.
    pub fn note_stop(&mut self, start: Instant, ns: u64) {
        self.statistics.note_pause(ns);
        let origin = *self.utilisation.origin.get_or_insert(start);
        let start = start.saturating_duration_since(origin).as_nanos() as u64;
        self.utilisation.note(start, start + ns);
        let statistics = &mut self.statistics;
        [statistics.utilisation_5ms_min, statistics.utilisation_20ms_min, statistics.utilisation_100ms_min] =
            self.utilisation.least();
    }
}
