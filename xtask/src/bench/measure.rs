//! One run of a program: what it printed, and what it cost as the kernel counted it.
//!
//! Called by everything that times. A program says `NAME sum=S gap_us=G` (benches/workloads/run.h): the sum proves what
//! it did, the gap is the longest time between two ticks inside it. One that adds `peak_kib=P` says its peak of memory
//! itself: what the kernel says of a child begins with the memory of xtask, which is more than a small program needs. CPU time is that of the process and not of the
//! clock, so that other programs on the machine disturb it less. A run that takes longer than its limit is ended; what
//! it printed until then does not count.

use crate::failure::Failure;
use crate::process;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What one run said and cost.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Run {
    /// What proves that the work was done.
    pub sum: String,
    /// User and system time of all threads, in seconds.
    pub cpu_s: f64,
    /// Time by the clock, in seconds.
    pub wall_s: f64,
    /// Peak of the memory in use.
    pub resident_mib: f64,
    /// The longest time between two ticks.
    pub gap_ms: f64,
}

/// How a run ended that was started.
#[derive(Debug)]
pub enum Ending {
    /// It printed its line.
    Finished(Run),
    /// It was still running when its time was up.
    TimedOut,
    /// It does not know the workload: status 2.
    Unknown,
}

/// Runs a program that must finish.
pub fn run(command: Command, workload: &str) -> Result<Run, Failure> {
    let named = process::shown(&command);
    match run_within(command, workload, Duration::from_secs(3600))? {
        Ending::Finished(run) => Ok(run),
        Ending::TimedOut => Err(Failure::step(format!("`{named}`: did not end within an hour"))),
        Ending::Unknown => Err(Failure::step(format!("`{named}`: ended with exit status: 2"))),
    }
}

/// Runs a program and ends it when `limit` is over.
pub fn run_within(mut command: Command, workload: &str, limit: Duration) -> Result<Ending, Failure> {
    command.stdout(Stdio::piped());
    let named = process::shown(&command);
    let failed = |what: String| Failure::step(format!("`{named}`: {what}"));
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let mut output = child.stdout.take().expect("standard output was asked for above");
    let in_time = is_closed_within(&mut output, start + limit);
    let (text, is_late) = match in_time {
        Ok(Some(text)) => (text, false),
        Ok(None) => {
            child.kill().map_err(|error| failed(error.to_string()))?;
            (String::new(), true)
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    let (status, usage) = wait_with_usage(&child).map_err(|error| failed(error.to_string()))?;
    let wall_s = start.elapsed().as_secs_f64();
    if is_late {
        return Ok(Ending::TimedOut);
    }
    let status = ExitStatus::from_raw(status);
    if status.code() == Some(2) {
        return Ok(Ending::Unknown);
    }
    if !status.success() {
        return Err(failed(format!("ended with {status}")));
    }
    let Line { sum, gap_us, peak_kib } = read_line(&text, workload)
        .ok_or_else(|| failed(format!("printed {text:?} and not `{workload} sum=S gap_us=G`")))?;
    let cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let resident_mib = peak_kib.unwrap_or(usage.ru_maxrss as f64) / 1024.0;
    Ok(Ending::Finished(Run { sum, cpu_s, wall_s, resident_mib, gap_ms: gap_us as f64 / 1000.0 }))
}

/// Counters of the statistics that a program left in a file (`TALLY_STATS=FILE.json`).
pub fn counters<const N: usize>(path: &Path, keys: [&str; N]) -> Result<[f64; N], Failure> {
    let failed = |error: String| Failure::step(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let values: serde_json::Value = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let mut counters = [0.0; N];
    for (key, counter) in keys.into_iter().zip(&mut counters) {
        *counter = values[key].as_f64().ok_or_else(|| failed(format!("has no number `{key}`")))?;
    }
    Ok(counters)
}

/// The middle of some values, or halfway between the two in the middle.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// The processor's name, and how many there are.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{}, {processors} processors", name.unwrap_or("x86-64"))
}

/// What is written until the other side closes; nothing if that does not happen before `end`.
fn is_closed_within(output: &mut ChildStdout, end: Instant) -> std::io::Result<Option<String>> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left_ms = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
        let mut asked = libc::pollfd { fd: output.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which outlives the call.
        match unsafe { libc::poll(&raw mut asked, 1, left_ms) } {
            0 => return Ok(None),
            1.. => match output.read(&mut piece)? {
                0 => return Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
                count => bytes.extend_from_slice(&piece[..count]),
            },
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// Waits for the child and returns its wait status and what it used.
/// Waits for a child, and returns its status and what it used.
pub fn wait_with_usage(child: &Child) -> std::io::Result<(i32, libc::rusage)> {
    let id = i32::try_from(child.id()).expect("process ids fit an i32 on Linux");
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to locals that outlive the call; nothing else waits for this child.
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

fn seconds(value: libc::timeval) -> f64 {
    value.tv_sec as f64 + value.tv_usec as f64 / 1e6
}

/// What a program says at its end.
#[derive(Debug, PartialEq)]
struct Line {
    sum: String,
    gap_us: u64,
    peak_kib: Option<f64>,
}

fn read_line(text: &str, workload: &str) -> Option<Line> {
    let mut words = text.split_whitespace();
    if words.next()? != workload {
        return None;
    }
    let sum = words.next()?.strip_prefix("sum=")?.to_owned();
    let gap_us = words.next()?.strip_prefix("gap_us=")?.parse().ok()?;
    let peak_kib = match words.next() {
        Some(word) => Some(word.strip_prefix("peak_kib=")?.parse().ok()?),
        None => None,
    };
    Some(Line { sum, gap_us, peak_kib })
}

#[cfg(test)]
mod tests {
    use super::{Ending, Line, counters, median, read_line, run, run_within};
    use crate::process;
    use std::process::Command;
    use std::time::{Duration, Instant};

    fn script(text: &str) -> Command {
        let mut command = process::command("sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn counters_are_read_by_their_keys() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("statistics.json");
        std::fs::write(&path, "{\n  \"epochs\": 3,\n  \"pauses\": 4\n}\n").expect("it can be written");
        assert_eq!(counters(&path, ["pauses", "epochs"]).expect("both are there"), [4.0, 3.0]);
        let failure = counters(&path, ["marks"]).expect_err("there are no marks").to_string();
        assert!(failure.contains("has no number `marks`"), "{failure}");
    }

    #[test]
    fn median_of_even_number_lies_between() {
        assert_eq!(median([4.0, 1.0, 2.0, 8.0].into_iter()), 3.0);
        assert_eq!(median([9.0, 1.0, 2.0].into_iter()), 2.0);
    }

    #[test]
    fn line_of_another_workload_is_refused() {
        let line = |peak_kib| Some(Line { sum: "12".to_owned(), gap_us: 3, peak_kib });
        assert_eq!(read_line("lru sum=12 gap_us=3\n", "lru"), line(None));
        assert_eq!(read_line("lru sum=12 gap_us=3 peak_kib=2048\n", "lru"), line(Some(2048.0)));
        assert_eq!(read_line("lru sum=12 gap_us=3 resident=2048\n", "lru"), None);
        assert_eq!(read_line("fifo sum=12 gap_us=3\n", "lru"), None);
        assert_eq!(read_line("", "lru"), None);
    }

    #[test]
    fn run_is_measured_and_failure_is_reported() {
        let done = run(script("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo lru sum=7 gap_us=5000"), "lru");
        let done = done.expect("the script plays the workload");
        assert_eq!((done.sum.as_str(), done.gap_ms), ("7", 5.0));
        assert!(done.resident_mib > 0.0 && done.cpu_s > 0.0 && done.wall_s > 0.0, "{done:?}");
        let failure = run(script("exit 3"), "lru").expect_err("the script refuses").to_string();
        assert!(failure.contains("ended with exit status: 3"), "{failure}");
        let failure = run(script("kill -6 $$"), "lru").expect_err("the script kills itself").to_string();
        assert!(failure.contains("ended with signal: 6"), "{failure}");
    }

    #[test]
    fn run_beyond_its_limit_is_ended() {
        let start = Instant::now();
        let ending = run_within(script("exec sleep 60"), "lru", Duration::from_millis(50)).expect("it can be started");
        assert!(matches!(ending, Ending::TimedOut), "{ending:?}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn program_that_does_not_know_the_workload_says_so_by_its_status() {
        let ending = run_within(script("exit 2"), "lru", Duration::from_secs(20)).expect("it can be started");
        assert!(matches!(ending, Ending::Unknown), "{ending:?}");
    }
}
