//! `cargo run -p tally-tests --release --bin soak -- --ops 10000000`: random programs against the real heap, for any
//! length of time. Each soak has a seed of its own, which it prints; `--seed` repeats it.
//!
//! Programs are drawn from the same strategies as the property tests; program number n of seed S is always the same
//! one. A worker process runs them, so that a crash costs nothing: the program it was running is found in the
//! journal, shrunk with one child process a try, and printed. `--shrink FILE` does that to any program, `--run FILE`
//! runs one here and now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use tally_kit::progress::Progress;
use tally_kit::seed;
use tally_tests::failure_report::report;
use tally_tests::journal::{entry_text, folder, left_by};
use tally_tests::minimise::{minimise, read};
use tally_tests::op::Op;
use tally_tests::replay::Summary;
use tally_tests::setup::{Setup, setups};
use tally_tests::strategies::{Taste, nth_program, nth_program_of};

/// Exit status of a worker that found a difference.
const FOUND: u8 = 1;
/// Programs of one worker.
const BATCH: u64 = 38;

#[derive(Parser)]
#[command(about = "Runs random op programs on the real heap and the model heap and compares them")]
struct Arguments {
    /// Stop after about this many ops, over all setups together.
    #[arg(long, default_value_t = 10_000_000)]
    ops: u64,
    /// Or after so many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Which programs: the same seed gives the same ones. Without one, or with `random`, they were never run before.
    #[arg(long, default_value = "random", value_parser = seed::parse)]
    seed: u64,
    /// Longest program.
    #[arg(long, default_value_t = 3000)]
    longest: usize,
    /// Only this setup instead of all in turn; with `--run`, instead of the file's.
    #[arg(long)]
    setup: Option<String>,
    /// Only programs about this, such as `stacks`, instead of all in turn.
    #[arg(long)]
    taste: Option<String>,
    /// Run the program in this file.
    #[arg(long, conflicts_with = "shrink")]
    run: Option<PathBuf>,
    /// Make the failing program in this file short.
    #[arg(long)]
    shrink: Option<PathBuf>,
    /// Run this many programs in this process, from program number `--first`.
    #[arg(long, hide = true)]
    worker: Option<u64>,
    #[arg(long, hide = true, default_value_t = 0)]
    first: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = if let Some(place) = &arguments.run {
        replay(place, arguments.setup.as_deref())
    } else if let Some(place) = &arguments.shrink {
        shrink_file(place).map(|()| FOUND)
    } else if let Some(count) = arguments.worker {
        work(&arguments, count)
    } else {
        supervise(&arguments)
    };
    outcome.map(ExitCode::from).unwrap_or_else(|error| {
        eprintln!("soak: {error}");
        ExitCode::from(2)
    })
}

/// Program number `number` of the seed, and the setup it runs in.
fn draw(arguments: &Arguments, number: u64) -> Result<(Setup, Vec<Op>), String> {
    let setup = match &arguments.setup {
        Some(name) => Setup::named(name)?,
        None => setups().swap_remove(number as usize % setups().len()),
    };
    // Under zeal every safepoint is an epoch, and every epoch a recount of the heap.
    let longest = if setup.options.zeal { arguments.longest.div_ceil(10) } else { arguments.longest };
    let ops = match &arguments.taste {
        Some(name) => {
            let taste = Taste::named(name).ok_or_else(|| format!("no programs are about `{name}`"))?;
            nth_program_of(taste, arguments.seed, number, longest)
        }
        None => nth_program(arguments.seed, number, longest),
    };
    Ok((setup, ops))
}

/// Runs `count` programs; prints the number of their ops.
fn work(arguments: &Arguments, count: u64) -> Result<u8, String> {
    for number in arguments.first..arguments.first + count {
        let (setup, ops) = draw(arguments, number)?;
        let summary = match setup.run(&ops) {
            Ok(summary) => summary,
            Err(failure) => {
                return found(arguments.seed, number, &setup, &ops, &failure.what);
            }
        };
        println!("{}", Tally { ops: ops.len() as u64, summary }.line(setup.name));
    }
    Ok(0)
}

/// Leaves the program in a file for the supervisor.
fn found(seed: u64, number: u64, setup: &Setup, ops: &[Op], what: &str) -> Result<u8, String> {
    let place = folder().join(format!("found-{}.txt", std::process::id()));
    std::fs::write(&place, entry_text(setup.name, ops)).map_err(|error| error.to_string())?;
    eprintln!("program {number} of seed {seed}, setup {}: {what}", setup.name);
    println!("found {}", place.display());
    Ok(FOUND)
}

/// The work that programs have done.
#[derive(Clone, Copy, Default)]
struct Tally {
    ops: u64,
    summary: Summary,
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally { ops: self.ops + other.ops, summary: self.summary.plus(other.summary) }
    }

    /// The line in which a worker reports it.
    fn line(self, setup: &str) -> String {
        let numbers = std::iter::once(self.ops).chain(self.summary.counts());
        let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
        format!("done {setup} {}", words.join(" "))
    }

    /// Reads the setup and the work done in it from such a line.
    fn read(line: &str) -> Option<(&str, Tally)> {
        let (setup, numbers) = line.strip_prefix("done ")?.split_once(' ')?;
        let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let (&ops, counts) = numbers.split_first()?;
        let summary = Summary::of_counts(counts.try_into().ok()?);
        Some((setup, Tally { ops, summary }))
    }
}

/// Starts workers one after the other and shows their progress.
fn supervise(arguments: &Arguments) -> Result<u8, String> {
    println!("seed {}: `--seed {}` runs the same programs", arguments.seed, arguments.seed);
    let started = Instant::now();
    let (mut total, mut first) = (Tally::default(), 0);
    let mut by_setup: BTreeMap<String, Tally> = BTreeMap::new();
    let progress = Progress::new("ops", arguments.ops);
    let until = arguments.minutes.map(|minutes| started + Duration::from_secs(60 * minutes));
    while total.ops < arguments.ops && until.is_none_or(|until| Instant::now() < until) {
        let mut command = Command::new(own_path()?);
        command.args(["--seed", &arguments.seed.to_string(), "--longest", &arguments.longest.to_string()]);
        command.args(["--worker", &BATCH.to_string(), "--first", &first.to_string()]);
        if let Some(setup) = &arguments.setup {
            command.args(["--setup", setup]);
        }
        if let Some(taste) = &arguments.taste {
            command.args(["--taste", taste]);
        }
        let child = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let pid = child.id();
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let found = text.lines().find_map(|line| line.strip_prefix("found ")).map(PathBuf::from);
        if !output.status.success() {
            eprintln!("a worker ended with {} (seed {}, programs from {first})", output.status, arguments.seed);
            let place = found.or_else(|| left_by(pid)).ok_or("the worker left no program behind")?;
            shrink_file(&place)?;
            return Ok(FOUND);
        }
        for (setup, tally) in text.lines().filter_map(Tally::read) {
            total = total.plus(tally);
            let sum = by_setup.entry(setup.to_owned()).or_default();
            *sum = sum.plus(tally);
        }
        first += BATCH;
        progress.reach(total.ops);
    }
    drop(progress);
    for (setup, Tally { ops, summary }) in &by_setup {
        let Summary { comparisons, finalized, switches, .. } = summary;
        println!("{setup:30} {ops:9} ops, {comparisons} comparisons, {finalized} finalizers, {switches} switches");
    }
    let [objects, comparisons, objects_compared, out_of_memory, finalized, called, upgraded, refused, switches] =
        total.summary.counts();
    println!(
        "{objects} objects, {comparisons} comparisons of {objects_compared} objects, {out_of_memory} allocations refused, \
         {finalized} finalizers, {called} callbacks, weak references: {upgraded} yielded, {refused} dead; \
         {switches} switches"
    );
    let (ops, setups) = (total.ops, by_setup.len());
    println!(
        "{ops} ops in {first} programs in {setups} setups, seed {}: no difference, {:.0?}",
        arguments.seed,
        started.elapsed()
    );
    Ok(0)
}

fn replay(place: &Path, instead: Option<&str>) -> Result<u8, String> {
    let (of_file, ops) = read(place)?;
    let setup = instead.map_or(Ok(of_file), Setup::named)?;
    match setup.run(&ops) {
        Ok(summary) => {
            println!("no difference: {summary:?}");
            Ok(0)
        }
        Err(failure) => {
            eprintln!("{}", report(&setup, None, &ops, &failure));
            Ok(FOUND)
        }
    }
}

fn shrink_file(place: &Path) -> Result<(), String> {
    let smaller = place.with_extension("smaller.txt");
    let Some(failing) = minimise(place, &smaller, |_| {})? else {
        return Err(format!("{} does not fail when it is run alone", place.display()));
    };
    let (length, tries) = failing.before;
    eprintln!("{length} ops shrunk to {} in {tries} runs; it says:", failing.ops.len());
    let status = Command::new(own_path()?).arg("--run").arg(&smaller).status().map_err(|error| error.to_string())?;
    let text = entry_text(failing.setup.name, &failing.ops);
    eprintln!("{status}\n--- for cargo xtask replay {}\n{text}---", smaller.display());
    Ok(())
}

fn own_path() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| error.to_string())
}
