//! `cargo xtask bench compare`: both of Tally's plans against hand-written frees, workload by workload.
//!
//! The executables run in turn, round after round, so that a machine that slows down slows all; what is compared is the
//! CPU time of each process as the kernel counted it (user and system, `wait4`), and of the rounds the median is taken.
//! A sum that differs between two executables, or between rounds, is a failure (then the times mean nothing), and so is
//! a program that ends otherwise than with status 0; the other workloads are still run. Ratios above 1 mean that Tally
//! took longer than hand-written frees.

use super::build::{self, Executable, Plans};
use crate::failure::{Failure, Outcome};
use crate::{process, tree};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

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

/// What one run said and cost.
#[derive(Debug)]
struct Run {
    sum: String,
    cpu: Duration,
    resident_kib: i64,
    gap_us: u64,
}

/// Builds, runs and prints the table.
pub fn compare(arguments: &Arguments) -> Outcome {
    let executables = build::build_into(&tree::release()?.join("workloads"), &arguments.plans)?;
    println!(
        "CPU (median of {} interleaved rounds), its ratio to hand-freed, longest gap, peak memory",
        arguments.rounds
    );
    println!("{:<12}{:<16}{:>10}{:>8}{:>14}{:>13}", "workload", "executable", "CPU", "ratio", "gap", "memory");
    let chosen = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let mut failures = Vec::new();
    for workload in WORKLOADS.into_iter().filter(|name| chosen(name)) {
        match measure_in_turn(&executables, workload, arguments.rounds) {
            Ok(runs) => println!("{}", rows(workload, &executables, &runs)),
            Err(failure) => {
                println!("{workload:<12}failed: see the end\n");
                failures.push(failure.to_string());
            }
        }
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(Failure::step(failures.join("\nxtask: "))) }
}

/// The runs of each executable, as many as there are rounds; all of them computed the same.
fn measure_in_turn(executables: &[Executable], workload: &str, rounds: u32) -> Result<Vec<Vec<Run>>, Failure> {
    let mut runs: Vec<Vec<Run>> = executables.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (executable, runs) in executables.iter().zip(&mut runs) {
            runs.push(measure(&executable.path, workload)?);
        }
    }
    let right = &runs[0][0].sum;
    for (executable, runs) in executables.iter().zip(&runs) {
        if let Some(wrong) = runs.iter().find(|run| run.sum != *right) {
            return Err(Failure::step(format!(
                "{workload}: the sums differ: {} computes {right} and {} computes {}, so the times mean nothing",
                executables[0].name, executable.name, wrong.sum
            )));
        }
    }
    Ok(runs)
}

/// A row for each executable; the first is what the others are compared with.
fn rows(workload: &str, executables: &[Executable], runs: &[Vec<Run>]) -> String {
    let seconds = |runs: &[Run]| median(runs.iter().map(|run| run.cpu.as_secs_f64()));
    let milliseconds = |runs: &[Run]| median(runs.iter().map(|run| run.gap_us as f64 / 1000.0));
    let mebibytes = |runs: &[Run]| median(runs.iter().map(|run| run.resident_kib as f64 / 1024.0));
    let unit = seconds(&runs[0]);
    let mut text = String::new();
    for (place, (executable, runs)) in executables.iter().zip(runs).enumerate() {
        let label = if place == 0 { workload } else { "" };
        let ratio = if place == 0 { String::new() } else { format!("{:.2}", seconds(runs) / unit) };
        text += &format!(
            "{label:<12}{:<16}{:>8.3} s{ratio:>8}{:>11.2} ms{:>9.0} MiB\n",
            executable.name,
            seconds(runs),
            milliseconds(runs),
            mebibytes(runs),
        );
    }
    text
}

/// Runs `executable workload` once.
fn measure(executable: &Path, workload: &str) -> Result<Run, Failure> {
    let mut command = process::command(executable);
    command.arg(workload).stdout(Stdio::piped());
    let named = process::shown(&command);
    let failed = |what: String| Failure::step(format!("`{named}`: {what}"));
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let mut text = String::new();
    let output = child.stdout.as_mut().expect("standard output was asked for above");
    output.read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    let (status, usage) = wait_with_usage(&child).map_err(|error| failed(error.to_string()))?;
    if status != 0 {
        return Err(failed(format!("ended with {}", ExitStatus::from_raw(status))));
    }
    let (sum, gap_us) = read_line(&text, workload)
        .ok_or_else(|| failed(format!("printed {text:?} and not `{workload} sum=S gap_us=G`")))?;
    let cpu = time(usage.ru_utime) + time(usage.ru_stime);
    Ok(Run { sum, cpu, resident_kib: usage.ru_maxrss, gap_us })
}

/// Waits for the child and returns its wait status and what it used.
fn wait_with_usage(child: &std::process::Child) -> std::io::Result<(i32, libc::rusage)> {
    let id = i32::try_from(child.id()).expect("process ids fit an i32 on Linux");
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to locals that outlive the call; nobody else waits for this child.
        let waited = unsafe { libc::wait4(id, &raw mut status, 0, &raw mut usage) };
        if waited == id {
            return Ok((status, usage));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn time(value: libc::timeval) -> Duration {
    let microseconds = value.tv_sec * 1_000_000 + value.tv_usec;
    Duration::from_micros(microseconds.try_into().unwrap_or(0))
}

fn read_line(text: &str, workload: &str) -> Option<(String, u64)> {
    let mut words = text.split_whitespace();
    if words.next()? != workload {
        return None;
    }
    let sum = words.next()?.strip_prefix("sum=")?.to_owned();
    let gap_us = words.next()?.strip_prefix("gap_us=")?.parse().ok()?;
    Some((sum, gap_us))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::{Executable, measure, measure_in_turn, median, read_line, rows};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn median_of_even_number_lies_between() {
        assert_eq!(median([4.0, 1.0, 2.0, 8.0].into_iter()), 3.0);
        assert_eq!(median([9.0, 1.0, 2.0].into_iter()), 2.0);
    }

    #[test]
    fn line_of_another_workload_is_refused() {
        assert_eq!(read_line("lru sum=12 gap_us=3\n", "lru"), Some(("12".to_owned(), 3)));
        assert_eq!(read_line("fifo sum=12 gap_us=3\n", "lru"), None);
        assert_eq!(read_line("", "lru"), None);
    }

    /// An executable that plays the workload lru with this sum, fails with status 3 at fifo and dies by signal 6 at list.
    fn player(folder: &Path, name: &'static str, sum: u32) -> Executable {
        let path = folder.join(name);
        let text = format!(
            "#!/bin/sh\n[ $1 = list ] && kill -6 $$\n[ $1 = lru ] || exit 3\n\
             for i in 1 2 3; do :; done\necho lru sum={sum} gap_us=5\n"
        );
        std::fs::write(&path, text).expect("the script can be written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it can be made executable");
        Executable { name, path }
    }

    #[test]
    fn run_is_measured_and_failure_is_reported() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let script = player(folder.path(), "player", 7).path;
        let run = measure(&script, "lru").expect("the script plays the workload");
        assert_eq!((run.sum.as_str(), run.gap_us), ("7", 5));
        assert!(run.resident_kib > 0);
        let failure = measure(&script, "fifo").expect_err("the script refuses this one").to_string();
        assert!(failure.contains("player fifo`: ended with exit status: 3"), "{failure}");
        let failure = measure(&script, "list").expect_err("the script kills itself").to_string();
        assert!(failure.contains("player list`: ended with signal: 6"), "{failure}");
    }

    #[test]
    fn all_executables_are_run_in_turn_and_have_a_row_each() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let executables = ["hand-freed", "tally-deferred", "tally-prompt"].map(|name| player(folder.path(), name, 7));
        let runs = measure_in_turn(&executables, "lru", 3).expect("all play the workload");
        assert_eq!(runs.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3]);
        let rows = rows("lru", &executables, &runs);
        let names: Vec<_> = rows.lines().map(|row| row.split_whitespace().find(|word| word.contains('-'))).collect();
        assert_eq!(names, [Some("hand-freed"), Some("tally-deferred"), Some("tally-prompt")]);
        assert!(rows.lines().all(|row| row.len() <= 120), "{rows}");
    }

    #[test]
    fn executable_that_computes_another_sum_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let sums = [("hand-freed", 7), ("tally-deferred", 7), ("tally-prompt", 8)];
        let executables = sums.map(|(name, sum)| player(folder.path(), name, sum));
        let failure = measure_in_turn(&executables, "lru", 1).expect_err("the third computes another").to_string();
        assert!(failure.contains("hand-freed computes 7 and tally-prompt computes 8"), "{failure}");
    }
}
