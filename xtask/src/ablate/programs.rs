//! The programs that `ablate` counts, how they are built, and what one run of them is.
//!
//! They are the workloads, which show what one thing costs, and the real programs of `bench programs`. All have sizes here at
//! which cachegrind takes some seconds. Their heaps are some megabytes, so epochs are eight times as frequent as by default:
//! otherwise a run would see only a few. In the mode default-epochs they are as by default, which heuristics of their length
//! need.

use super::results::Measured;
use crate::bench::{build::WORKLOADS, counts, measure, programs::FOLDER};
use crate::failure::Failure;
use crate::{process, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name and arguments of the workloads.
const SIZES: [(&str, &[&str]); 12] = [
    ("bintrees14", &[]),
    ("cycles", &["1000", "262144"]),
    ("mutate", &["100000"]),
    ("list", &["1000000"]),
    ("bigheap", &["100000", "200000"]),
    ("fifo", &["50000", "200000"]),
    ("lru", &["1000", "524288"]),
    ("rings", &["1000", "50000"]),
    ("parents", &["1000", "20000"]),
    ("havlak", &["10000", "50000"]),
    ("toggle", &["50000", "100000"]),
    ("gcbench", &["small"]),
];

/// Name and size of the real programs. Those that have hardly anything to collect are short.
const REAL: [(&str, &str); 20] = [
    ("bounce", "1000"),
    ("list", "800"),
    ("permute", "600"),
    ("queens", "8000"),
    ("sieve", "1500"),
    ("storage", "150"),
    ("towers", "300"),
    ("cd", "150"),
    ("deltablue", "20000"),
    ("havlak", "4"),
    ("json", "200"),
    ("richards", "200000"),
    ("dom", "4000"),
    ("editor", "15000"),
    ("graph", "30000"),
    ("lua", "150"),
    ("map", "20000"),
    ("server", "12000"),
    ("simplify", "1500"),
    ("words", "500"),
];

/// A plan, and how its programs run.
#[derive(Debug)]
pub struct Mode {
    pub name: &'static str,
    pub plan: &'static str,
    /// Measured for each row of its plan, and not only for those that name it.
    pub is_common: bool,
    in_slices: bool,
    epoch_bytes: Option<&'static str>,
}

/// Slices of units: the speed of the machine must not decide the work of a stop.
const SLICES: [(&str, &str); 2] = [("TALLY_PAUSE_GOAL", "1000s"), ("TALLY_SLICE_UNITS", "4096")];
const SHORT: Option<&str> = Some("1MiB");

pub const MODES: [Mode; 4] = [
    Mode { name: "deferred", plan: "deferred", is_common: true, in_slices: true, epoch_bytes: SHORT },
    Mode { name: "prompt", plan: "prompt", is_common: true, in_slices: false, epoch_bytes: SHORT },
    Mode { name: "in-slices", plan: "prompt", is_common: true, in_slices: true, epoch_bytes: SHORT },
    Mode { name: "default-epochs", plan: "deferred", is_common: false, in_slices: true, epoch_bytes: None },
];

/// Those that were named, or all.
pub fn modes(names: &[String]) -> Result<Vec<&'static Mode>, Failure> {
    if let Some(name) = names.iter().find(|name| !MODES.iter().any(|mode| mode.name == **name)) {
        return Err(Failure::unprepared(format!("there is no mode `{name}`")));
    }
    Ok(MODES.iter().filter(|mode| names.is_empty() || names.iter().any(|name| name == mode.name)).collect())
}

impl Mode {
    /// What a run is called in the results.
    pub fn title(&self, program: &Program) -> String {
        format!("{} {}", self.name, program.name)
    }
}

/// A program that is counted.
#[derive(Debug)]
pub struct Program {
    name: String,
    /// The C files, if it is not one of the workloads.
    file: Option<PathBuf>,
    arguments: Vec<String>,
}

/// The workloads, the real programs, and those that were named.
pub fn all(others: &[String]) -> Result<Vec<Program>, Failure> {
    let workloads = SIZES.iter().map(|(name, sizes)| {
        let arguments = std::iter::once(name).chain(sizes.iter()).map(|word| (*word).to_owned()).collect();
        Program { name: (*name).to_owned(), file: None, arguments }
    });
    let mut programs: Vec<Program> = workloads.collect();
    programs.extend(REAL.iter().map(|(name, size)| {
        let file = tree::root().join(FOLDER).join(name).with_extension("c");
        Program { name: format!("{name}.c"), file: Some(file), arguments: vec![(*size).to_owned()] }
    }));
    for line in others {
        let mut words = line.split_whitespace().map(str::to_owned);
        let file = words.next().map(PathBuf::from).filter(|file| file.is_file());
        let file = file.ok_or_else(|| Failure::unprepared(format!("`{line}` does not begin with a file")))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        programs.push(Program { name, file: Some(file), arguments: words.collect() });
    }
    Ok(programs)
}

impl Program {
    /// The name of its executables, without the plan.
    pub fn executable(&self) -> &str {
        if self.file.is_some() { &self.name } else { "workloads" }
    }

    fn path(&self, plan: &str, folder: &Path) -> PathBuf {
        folder.join(format!("{}-{plan}", self.executable()))
    }

    pub fn build(&self, tally: &Path, runtime: &Path, plan: &str, folder: &Path) -> Result<(), Failure> {
        let option = if plan == "prompt" { "refcount-prompt" } else { "refcount" };
        let mut build = process::command(tally);
        build.args(["build", "--no-warnings", "--plan", option]).env("TALLY_RUNTIME", runtime);
        match &self.file {
            Some(file) => build.arg(file),
            None => build.args(tree::files(WORKLOADS, &["c"])?),
        };
        process::output_of(build.arg("-o").arg(self.path(plan, folder))).map(drop)
    }

    /// Runs it under cachegrind, and once without for memory and time.
    pub fn run(&self, mode: &Mode, folder: &Path) -> Result<Measured, Failure> {
        let executable = self.path(mode.plan, folder);
        let title = mode.title(self).replace(' ', "-");
        let (out, statistics) = (folder.join(format!("{title}.out")), folder.join(format!("{title}.json")));
        let mut counted = process::command("valgrind");
        counted.args(["--tool=cachegrind", "--cache-sim=no", "--quiet"]);
        counted.arg(format!("--cachegrind-out-file={}", out.display())).arg(&executable);
        self.prepare(&mut counted, mode);
        process::output_of(&mut counted)?;
        let text = std::fs::read_to_string(&out).map_err(|error| Failure::step(format!("{title}: {error}")))?;
        let instructions =
            counts::total(&text).ok_or_else(|| Failure::step(format!("{} has no sum", out.display())))?;
        let mut timed = process::command(&executable);
        self.prepare(&mut timed, mode);
        timed.env("TALLY_STATS", &statistics).stdout(Stdio::null()).stderr(Stdio::null());
        let failed = |error: std::io::Error| Failure::step(format!("{title}: {error}"));
        let child = timed.spawn().map_err(failed)?;
        let (status, usage) = measure::wait_with_usage(&child).map_err(failed)?;
        if status != 0 {
            return Err(Failure::step(format!("{title}: ended with {status}")));
        }
        let [marks] = measure::counters(&statistics, ["marks"])?;
        Ok(Measured {
            instructions,
            peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            marks: marks as u64,
            cpu_us: (usage.ru_utime.tv_sec * 1_000_000 + usage.ru_utime.tv_usec).try_into().unwrap_or(0),
        })
    }

    fn prepare(&self, command: &mut Command, mode: &Mode) {
        command.args(&self.arguments).env("TALLY_RESERVE", "16GiB");
        if mode.in_slices {
            command.envs(SLICES);
        }
        if let Some(bytes) = mode.epoch_bytes {
            command.env("TALLY_EPOCH_BYTES", bytes);
        }
    }
}
