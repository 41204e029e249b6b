//! What of its worst 5, 20 and 100 ms a workload had for itself, as the runtime's statistics say.
//!
//! Called by `rounds`, once a round, in a run of its own: counting for the statistics costs time, and times are compared
//! without. The minimum is of one run; of the rounds the median is taken, because a machine that does other things in
//! the middle of a stop makes that look longer.

use super::measure::{self, median};
use crate::failure::Failure;
use std::path::Path;
use std::process::Command;

/// The windows, as the table's head names them.
pub const WINDOWS: [&str; 3] = ["5 ms", "20 ms", "100 ms"];
/// Their keys in the statistics (docs/use/running.md).
const KEYS: [&str; 3] = ["utilisation_5ms_min", "utilisation_20ms_min", "utilisation_100ms_min"];

/// Of each window, the least part that the program had.
pub type Least = [f64; WINDOWS.len()];

/// Runs a program on Tally, and reads what it says of itself; its statistics stay in that file.
pub fn least(mut command: Command, statistics: &Path, work: &str) -> Result<Least, Failure> {
    command.env("TALLY_STATS", statistics);
    measure::run(command, work)?;
    Ok(measure::counters(statistics, KEYS)?.map(|thousandths| thousandths / 1000.0))
}

/// The median of the rounds, window by window; nothing if there was none.
pub fn middle(rounds: &[Least]) -> Option<Least> {
    let of = |window: usize| median(rounds.iter().map(|least| least[window]));
    (!rounds.is_empty()).then(|| std::array::from_fn(of))
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn each_window_has_a_median_of_its_own() {
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[[0.1, 0.9, 0.5], [0.2, 0.1, 0.6], [0.3, 0.4, 0.1]]), Some([0.2, 0.4, 0.5]));
    }
}
