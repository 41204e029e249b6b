//! `cargo xtask bench compare`: both of Tally's plans against hand-written frees, workload by workload.
//!
//! The executables run in turn, round after round, so that a machine that slows down slows all; what is compared is the
//! CPU time of each process as the kernel counted it (user and system, `wait4`), and of the rounds the median is taken.
//! A sum that differs between two executables, or between rounds, is a failure (then the times mean nothing), and so is
//! a program that ends otherwise than with status 0; the other workloads are still run. Ratios above 1 mean that Tally
//! took longer than hand-written frees. Behind the times stands what the program had of its worst 5, 20 and 100 ms
//! (`utilisation`), each from 0 to 1, of runs between the timed ones.

use super::build::{self, Executable, Plans};
use super::measure::{self, Run, median};
use super::utilisation::{self, Least, WINDOWS};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, tree};
use std::process::ExitCode;

/// The workloads, in the order of the table; each executable takes these names.
pub const WORKLOADS: [&str; 14] = [
    "bintrees16",
    "bintrees18",
    "gcbench",
    "cycles",
    "mutate",
    "sustained",
    "list",
    "bigheap",
    "fifo",
    "lru",
    "rings",
    "parents",
    "havlak",
    "toggle",
];

/// `cargo xtask bench compare`
#[derive(clap::Args)]
pub struct Arguments {
    /// Runs of each executable on each workload
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Workloads to run, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(WORKLOADS))]
    only: Vec<String>,
    #[command(flatten)]
    plans: Plans,
}

/// Builds, runs and prints the table.
pub fn compare(arguments: &Arguments) -> Outcome {
    let executables = build::build_into(&tree::release()?.join("workloads"), &arguments.plans)?;
    println!(
        "CPU (median of {} interleaved rounds), its ratio to hand-freed, longest gap, peak memory, and which part of its \
         worst 5, 20 and 100 ms the program had",
        arguments.rounds
    );
    let windows = WINDOWS.map(|window| format!("{window:>8}")).concat();
    println!("{:<12}{:<16}{:>10}{:>8}{:>14}{:>13}{windows}", "workload", "executable", "CPU", "ratio", "gap", "memory");
    let chosen = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let workloads: Vec<&str> = WORKLOADS.into_iter().filter(|name| chosen(name)).collect();
    let progress = Progress::new(workloads.len() * arguments.rounds as usize * executables.len());
    let mut failures = Vec::new();
    for workload in workloads {
        match measure_in_turn(&executables, workload, arguments.rounds, &progress) {
            Ok(series) => progress.print(&rows(workload, &executables, &series)),
            Err(failure) => {
                progress.print(&format!("{workload:<12}failed: see the end\n"));
                failures.push(failure.to_string());
            }
        }
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::step(failures.join("\nxtask: "))) }
}

/// What the rounds of one executable have shown.
#[derive(Debug, Default)]
struct Series {
    /// The timed runs.
    runs: Vec<Run>,
    /// What the program had of its worst windows; nothing of hand-freed programs, which nobody stops.
    least: Vec<Least>,
}

/// The runs of each executable, as many as there are rounds; all of them computed the same.
fn measure_in_turn(
    executables: &[Executable],
    workload: &str,
    rounds: u32,
    progress: &Progress,
) -> Result<Vec<Series>, Failure> {
    let mut all: Vec<Series> = executables.iter().map(|_| Series::default()).collect();
    for _ in 0..rounds {
        for (executable, series) in executables.iter().zip(&mut all) {
            progress.begin(&format!("{workload} {}", executable.name));
            let mut command = process::command(&executable.path);
            command.arg(workload);
            series.runs.push(measure::run(command, workload)?);
            if executable.name != build::HAND_FREED {
                series.least.push(utilisation::least(&executable.path, workload)?);
            }
            progress.end();
        }
    }
    let right = &all[0].runs[0].sum;
    for (executable, series) in executables.iter().zip(&all) {
        if let Some(wrong) = series.runs.iter().find(|run| run.sum != *right) {
            return Err(Failure::step(format!(
                "{workload}: the sums differ: {} computes {right} and {} computes {}, so the times mean nothing",
                executables[0].name, executable.name, wrong.sum
            )));
        }
    }
    Ok(all)
}

/// A row for each executable; the first is what the others are compared with.
fn rows(workload: &str, executables: &[Executable], all: &[Series]) -> String {
    let seconds = |series: &Series| median(series.runs.iter().map(|run| run.cpu_s));
    let milliseconds = |series: &Series| median(series.runs.iter().map(|run| run.gap_ms));
    let mebibytes = |series: &Series| median(series.runs.iter().map(|run| run.resident_mib));
    let unit = seconds(&all[0]);
    let mut text = String::new();
    for (place, (executable, series)) in executables.iter().zip(all).enumerate() {
        let label = if place == 0 { workload } else { "" };
        let ratio = if place == 0 { String::new() } else { format!("{:.2}", seconds(series) / unit) };
        let least = utilisation::middle(&series.least).map(|least| least.map(|part| format!("{part:>8.2}")).concat());
        text += &format!(
            "{label:<12}{:<16}{:>8.3} s{ratio:>8}{:>11.2} ms{:>9.0} MiB{}\n",
            executable.name,
            seconds(series),
            milliseconds(series),
            mebibytes(series),
            least.unwrap_or_default(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Executable, Progress, measure_in_turn, rows};
    use std::path::Path;
    use std::process::Command;

    /// An executable that plays the workload lru with this sum. Another process writes it: a file that this one had
    /// open could not be executed while a child that another test has just forked still holds it open.
    fn player(folder: &Path, name: &'static str, sum: u32) -> Executable {
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
        Executable { name, path }
    }

    #[test]
    fn all_executables_are_run_in_turn_and_have_a_row_each() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let executables = ["hand-freed", "tally-deferred", "tally-prompt"].map(|name| player(folder.path(), name, 7));
        let progress = Progress::new(9);
        let runs = measure_in_turn(&executables, "lru", 3, &progress).expect("all play the workload");
        assert_eq!(progress.ended(), (9, 9));
        assert_eq!(runs.iter().map(|series| series.runs.len()).collect::<Vec<_>>(), [3, 3, 3]);
        assert_eq!(runs.iter().map(|series| series.least.len()).collect::<Vec<_>>(), [0, 3, 3]);
        let rows = rows("lru", &executables, &runs);
        let names: Vec<_> = rows.lines().map(|row| row.split_whitespace().find(|word| word.contains('-'))).collect();
        assert_eq!(names, [Some("hand-freed"), Some("tally-deferred"), Some("tally-prompt")]);
        assert!(rows.lines().all(|row| row.len() <= 120), "{rows}");
        let ends: Vec<_> = rows.lines().map(|row| row.split("MiB").nth(1).expect("a row has memory").trim()).collect();
        let least = "0.12    0.50    0.90";
        assert_eq!(ends, ["", least, least], "of hand-freed programs nothing is said");
    }

    #[test]
    fn executable_that_computes_another_sum_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let sums = [("hand-freed", 7), ("tally-deferred", 7), ("tally-prompt", 8)];
        let executables = sums.map(|(name, sum)| player(folder.path(), name, sum));
        let failure = measure_in_turn(&executables, "lru", 1, &Progress::new(3))
            .expect_err("the third computes another")
            .to_string();
        assert!(failure.contains("hand-freed computes 7 and tally-prompt computes 8"), "{failure}");
    }
}
