//! `cargo xtask bench compare`: both of Tally's plans against hand-written frees, workload by workload.
//!
//! The executables run in turn (`rounds`). The CPU time of each process is compared, as the kernel counted it (user and
//! system, `wait4`), and of the rounds the median is taken. A workload that fails, or whose sums differ, is a failure; the
//! other workloads are still run. Ratios above 1 mean that Tally took longer than hand-written frees. Behind the times
//! stands what the program had of its worst 5, 20 and 100 ms (`utilisation`), each from 0 to 1, of runs between the timed
//! ones.

use super::build::{self, Plans};
use super::rounds::{self, Contender, Series};
use super::utilisation::{self, WINDOWS};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::tree;
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
        let contenders: Vec<Contender> = executables
            .iter()
            .map(|executable| Contender {
                name: executable.name,
                path: executable.path.clone(),
                arguments: vec![workload.to_owned()],
                is_tally: executable.name != build::HAND_FREED,
            })
            .collect();
        match rounds::measure_in_turn(&contenders, workload, arguments.rounds, &progress) {
            Ok(series) => progress.print(&rows(workload, &contenders, &series)),
            Err(failure) => {
                progress.print(&format!("{workload:<12}failed: see the end\n"));
                failures.push(failure.to_string());
            }
        }
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::step(failures.join("\nxtask: "))) }
}

/// A row for each executable; the first is what the others are compared with.
fn rows(workload: &str, contenders: &[Contender], all: &[Series]) -> String {
    let seconds = |series: &Series| series.median(|run| run.cpu_s);
    let unit = seconds(&all[0]);
    let mut text = String::new();
    for (place, (contender, series)) in contenders.iter().zip(all).enumerate() {
        let label = if place == 0 { workload } else { "" };
        let ratio = if place == 0 { String::new() } else { format!("{:.2}", seconds(series) / unit) };
        let least = utilisation::middle(&series.least).map(|least| least.map(|part| format!("{part:>8.2}")).concat());
        text += &format!(
            "{label:<12}{:<16}{:>8.3} s{ratio:>8}{:>11.2} ms{:>9.0} MiB{}\n",
            contender.name,
            seconds(series),
            series.median(|run| run.gap_ms),
            series.median(|run| run.resident_mib),
            least.unwrap_or_default(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Progress, rows};
    use crate::bench::rounds::measure_in_turn;
    use crate::bench::rounds::tests::player;

    #[test]
    fn each_executable_has_a_row() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let contenders = ["hand-freed", "tally-deferred", "tally-prompt"].map(|name| player(folder.path(), name, 7));
        let all = measure_in_turn(&contenders, "lru", 3, &Progress::new(9)).expect("all play the workload");
        let rows = rows("lru", &contenders, &all);
        let names: Vec<_> = rows.lines().map(|row| row.split_whitespace().find(|word| word.contains('-'))).collect();
        assert_eq!(names, [Some("hand-freed"), Some("tally-deferred"), Some("tally-prompt")]);
        assert!(rows.lines().all(|row| row.len() <= 120), "{rows}");
        let ends: Vec<_> = rows.lines().map(|row| row.split("MiB").nth(1).expect("a row has memory").trim()).collect();
        let least = "0.12    0.50    0.90";
        assert_eq!(ends, ["", least, least], "of hand-freed programs nothing is said");
    }
}
