//! The runs of several executables on the same work, in turn, round after round.
//!
//! Called by `compare` and `programs`. A machine that slows down slows all of them. A sum that differs between two
//! executables, or between rounds, is a failure: then the times mean nothing. So is a program that ends otherwise than
//! with status 0. An executable of Tally's is run once more in each round, for what it says of its utilisation.

use super::measure::{self, Run, median};
use super::utilisation::{self, Least};
use crate::failure::Failure;
use crate::process;
use crate::progress::Progress;
use std::path::PathBuf;
use std::process::Command;

/// One of those that take turns.
#[derive(Debug)]
pub struct Contender {
    /// What the tables call it.
    pub name: &'static str,
    /// Its executable.
    pub path: PathBuf,
    /// What the executable is told.
    pub arguments: Vec<String>,
    /// Whether it says what part of its worst windows the program had.
    pub is_tally: bool,
}

/// What the rounds of one contender have shown.
#[derive(Debug, Default)]
pub struct Series {
    /// The timed runs.
    pub runs: Vec<Run>,
    /// What the program had of its worst windows; nothing of others than Tally, whose stops are not known.
    pub least: Vec<Least>,
}

impl Contender {
    fn command(&self) -> Command {
        let mut command = process::command(&self.path);
        command.args(&self.arguments);
        command
    }
}

impl Series {
    /// The median of one measure.
    pub fn median(&self, measure: fn(&Run) -> f64) -> f64 {
        median(self.runs.iter().map(measure))
    }
}

/// The runs of each contender, as many as there are rounds; all of them computed the same.
pub fn measure_in_turn(
    contenders: &[Contender],
    work: &str,
    rounds: u32,
    progress: &Progress,
) -> Result<Vec<Series>, Failure> {
    let mut all: Vec<Series> = contenders.iter().map(|_| Series::default()).collect();
    for _ in 0..rounds {
        for (contender, series) in contenders.iter().zip(&mut all) {
            progress.begin(&format!("{work} {}", contender.name));
            series.runs.push(measure::run(contender.command(), work)?);
            if contender.is_tally {
                let statistics = contender.path.with_extension("statistics.json");
                series.least.push(utilisation::least(contender.command(), &statistics, work)?);
            }
            progress.end();
        }
    }
    let right = &all[0].runs[0].sum;
    for (contender, series) in contenders.iter().zip(&all) {
        if let Some(wrong) = series.runs.iter().find(|run| run.sum != *right) {
            return Err(Failure::step(format!(
                "{work}: the sums differ: {} computes {right} and {} computes {}, so the times mean nothing",
                contenders[0].name, contender.name, wrong.sum
            )));
        }
    }
    Ok(all)
}

#[cfg(test)]
pub mod tests {
    use super::{Contender, Progress, measure_in_turn};
    use std::path::Path;
    use std::process::Command;

    /// A contender that plays the workload lru with this sum. Another process writes it: a file that this one had
    /// open could not be executed while a child that another test has just forked still holds it open.
    pub fn player(folder: &Path, name: &'static str, sum: u32) -> Contender {
        let path = folder.join(name);
        let keys = r#"{"utilisation_5ms_min": 125, "utilisation_20ms_min": 500, "utilisation_100ms_min": 900}"#;
        let text = format!(
            "#!/bin/sh\n[ $1 = lru ] || exit 3\necho lru sum={sum} gap_us=5\n\
             if [ \"$TALLY_STATS\" ]; then echo '{keys}' > \"$TALLY_STATS\"; fi\n"
        );
        let script = path.with_extension("sh");
        std::fs::write(&script, text).expect("the script can be written");
        let copied = Command::new("install").args(["-m", "755"]).args([&script, &path]).status();
        assert!(copied.expect("install is there").success(), "it can be made executable");
        Contender { name, path, arguments: vec!["lru".to_owned()], is_tally: name.starts_with("tally") }
    }

    #[test]
    fn all_contenders_run_in_turn() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let contenders = ["hand-freed", "tally-deferred", "tally-prompt"].map(|name| player(folder.path(), name, 7));
        let progress = Progress::new(9);
        let all = measure_in_turn(&contenders, "lru", 3, &progress).expect("all play the workload");
        assert_eq!(progress.ended(), (9, 9));
        assert_eq!(all.iter().map(|series| series.runs.len()).collect::<Vec<_>>(), [3, 3, 3]);
        assert_eq!(all.iter().map(|series| series.least.len()).collect::<Vec<_>>(), [0, 3, 3]);
    }

    #[test]
    fn executable_that_computes_another_sum_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let sums = [("hand-freed", 7), ("tally-deferred", 7), ("tally-prompt", 8)];
        let contenders = sums.map(|(name, sum)| player(folder.path(), name, sum));
        let failure = measure_in_turn(&contenders, "lru", 1, &Progress::new(3))
            .expect_err("the third computes another")
            .to_string();
        assert!(failure.contains("hand-freed computes 7 and tally-prompt computes 8"), "{failure}");
    }
}
