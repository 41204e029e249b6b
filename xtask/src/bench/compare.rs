//! `cargo xtask bench compare`: Tally against hand-written frees, workload by workload.
//!
//! The two run in turn, round after round, so that a machine that slows down slows both; what is compared is the CPU
//! time of each process as the kernel counted it (user and system, `wait4`), and of the rounds the median is taken.
//! A sum that differs between the two, or between rounds, is a failure: then the times mean nothing. Ratios above
//! 1 mean that Tally took longer.

use super::build::{self, Executables};
use crate::failure::{Failure, Outcome};
use crate::{process, tree};
use std::io::Read;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

/// The workloads, in the order of the table; each executable takes these names.
pub const WORKLOADS: [&str; 9] =
    ["bintrees16", "bintrees18", "gcbench", "cycles", "mutate", "list", "bigheap", "fifo", "lru"];

/// `cargo xtask bench compare`
#[derive(clap::Args)]
pub struct Arguments {
    /// Runs of each executable on each workload
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Workloads to run, separated by commas
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(WORKLOADS))]
    only: Vec<String>,
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
    let executables = build::build_into(&tree::release()?.join("workloads"))?;
    println!("CPU seconds (median of {} interleaved rounds), longest gap, peak memory", arguments.rounds);
    println!(
        "{:<12}{:>10}{:>12}{:>8}{:>14}{:>14}{:>12}{:>12}",
        "workload", "tally", "hand-freed", "ratio", "tally gap", "hand gap", "tally MiB", "hand MiB"
    );
    let chosen = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    for workload in WORKLOADS.into_iter().filter(|name| chosen(name)) {
        println!("{}", row(&executables, workload, arguments.rounds)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn row(executables: &Executables, workload: &str, rounds: u32) -> Result<String, Failure> {
    let (mut tally, mut hand) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        tally.push(measure(&executables.tally_deferred, workload)?);
        hand.push(measure(&executables.hand_freed, workload)?);
    }
    if let Some(wrong) = tally.iter().chain(&hand).find(|run| run.sum != hand[0].sum) {
        return Err(Failure::step(format!(
            "{workload}: the sums differ ({} and {}), so one of the executables computes something else",
            hand[0].sum, wrong.sum
        )));
    }
    let seconds = |runs: &[Run]| median(runs.iter().map(|run| run.cpu.as_secs_f64()));
    let milliseconds = |runs: &[Run]| median(runs.iter().map(|run| run.gap_us as f64 / 1000.0));
    let mebibytes = |runs: &[Run]| median(runs.iter().map(|run| run.resident_kib as f64 / 1024.0));
    Ok(format!(
        "{workload:<12}{:>10.3}{:>12.3}{:>8.2}{:>11.2} ms{:>11.2} ms{:>12.0}{:>12.0}",
        seconds(&tally),
        seconds(&hand),
        seconds(&tally) / seconds(&hand),
        milliseconds(&tally),
        milliseconds(&hand),
        mebibytes(&tally),
        mebibytes(&hand),
    ))
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
        return Err(failed(format!("ended with wait status {status:#x}")));
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
    use super::{measure, median, read_line};
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn run_is_measured_and_failure_is_reported() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let script = folder.path().join("workload");
        let text = "#!/bin/sh\n[ $1 = lru ] || exit 3\nfor i in 1 2 3; do :; done\necho lru sum=7 gap_us=5\n";
        std::fs::write(&script, text).expect("the script can be written");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it can be made executable");
        let run = measure(&script, "lru").expect("the script plays the workload");
        assert_eq!((run.sum.as_str(), run.gap_us), ("7", 5));
        assert!(run.resident_kib > 0);
        let failure = measure(&script, "fifo").expect_err("the script refuses this one");
        assert!(failure.to_string().contains("wait status 0x300"), "{failure}");
    }
}
