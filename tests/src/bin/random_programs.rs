//! `cargo run -p tally-tests --release --bin random_programs -- --seed 1 --count 1000`: random C programs through the
//! real pipeline, compared with the same programs over `calloc`, for any number of programs.
//!
//! Program number n of seed S is program S + n. A program that differs is kept in the folder that `--keep` names,
//! with the difference in a comment at its end, and made short unless `--no-reduce` is set.
//!
//! With `--second-opinion` its roots are compared instead with those of LLVM's shadow stack (`second_opinion.rs`), at
//! all levels under all plans. Every ten seconds it prints its progress; the last line is a result for
//! docs/work/testing.md.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use tally_kit::dice::Dice;
use tally_kit::progress::Progress;
use tally_kit::tally_command::source_tree;
use tally_kit::workers::each_number_on;
use tally_tests::random_program::trial::{Difference, Way, as_ir, compare, ways, ways_of_all_plans};
use tally_tests::random_program::{program, reduce::reduce};
use tally_tests::second_opinion::{Opinion, Witness};

#[derive(Parser)]
#[command(about = "Runs random C programs through Tally and compares them with the same programs over calloc")]
struct Arguments {
    /// The first program.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs.
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// How many at a time.
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Where failing programs are kept.
    #[arg(long, default_value = "target/random-programs")]
    keep: PathBuf,
    /// Keep failing programs as they are.
    #[arg(long)]
    no_reduce: bool,
    /// Go on after a difference.
    #[arg(long)]
    go_on: bool,
    /// Only print the program of the seed.
    #[arg(long)]
    print: bool,
    /// Compare the roots with those of LLVM's shadow stack instead.
    #[arg(long)]
    second_opinion: bool,
    /// Which plans: all of them, or one.
    #[arg(long, default_value = "all", value_parser = ["all", "deferred", "prompt", "trace"])]
    plan: String,
    /// The `tally` to test; without it one is built.
    #[arg(long)]
    tally: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.print {
        print!("{}", program(arguments.seed));
        return ExitCode::SUCCESS;
    }
    match soak(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("random_programs: {error}");
            ExitCode::from(2)
        }
    }
}

/// Allocations of a program at which its roots are compared.
const LOOKS: u64 = 3000;
const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];

/// Runs all programs; returns the number that differed.
fn soak(arguments: &Arguments) -> Result<u64, String> {
    let tally = match &arguments.tally {
        Some(tally) => std::path::absolute(tally).map_err(|error| error.to_string())?,
        None => build()?,
    };
    let keep = std::path::absolute(&arguments.keep).map_err(|error| error.to_string())?;
    std::fs::create_dir_all(&keep).map_err(|error| format!("{}: {error}", keep.display()))?;
    let witness = if arguments.second_opinion { Some(Witness::compile(&keep, &[])?) } else { None };
    let (done, runs, progress) = (AtomicU64::new(0), AtomicU64::new(0), Progress::new("programs", arguments.count));
    let started = Instant::now();
    let differ_max = if arguments.go_on { usize::MAX } else { 1 };
    let differ = each_number_on(arguments.jobs.max(1) as usize, arguments.count, differ_max, |number| {
        let seed = arguments.seed + number;
        let outcome = match &witness {
            Some(witness) => second_opinion(witness, &tally, &keep, arguments, seed),
            None => one(&tally, &keep, arguments, seed),
        };
        done.fetch_add(1, Ordering::Relaxed);
        progress.advance(1);
        outcome.map(|taken| _ = runs.fetch_add(taken, Ordering::Relaxed)).map_err(|report| progress.say(&report))
    });
    drop(progress);
    let (done, runs, seconds) = (done.into_inner(), runs.into_inner(), started.elapsed().as_secs_f64());
    let what = if arguments.second_opinion { "comparisons with the shadow stack" } else { "runs" };
    println!(
        "random programs: {done} programs from seed {}, {runs} {what}: {} differ, {seconds:.0} s, {:.2} a second",
        arguments.seed,
        differ.len(),
        done as f64 / seconds.max(0.001)
    );
    Ok(differ.len() as u64)
}

/// Compares one program's roots at all levels; returns the number of comparisons, or the report of a difference. A
/// folder with a difference stays.
fn second_opinion(
    witness: &Witness,
    tally: &Path,
    keep: &Path,
    arguments: &Arguments,
    seed: u64,
) -> Result<u64, String> {
    let folder = keep.join(format!("opinion-{seed}"));
    let run = || {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let place = folder.join("program.c");
        std::fs::write(&place, program(seed)).map_err(|error| error.to_string())?;
        let opinion = Opinion::of(witness, &folder, &as_ir(&place)?, &[], &[], LOOKS)?;
        let mut compared = 0;
        for (name, plan) in [("deferred", "refcount"), ("prompt", "refcount-prompt"), ("trace", "trace")] {
            for level in LEVELS.iter().filter(|_| arguments.plan == "all" || arguments.plan == name) {
                let way = ["--plan", plan, "--opt", level];
                opinion.compare(tally, &way).map_err(|why| format!("{}: {why}", way.join(" ")))?;
                compared += 1;
            }
        }
        Ok(compared)
    };
    let compared = run().map_err(|why: String| format!("seed {seed}: {why}\nkept in {}", folder.display()))?;
    _ = std::fs::remove_dir_all(&folder);
    Ok(compared)
}

/// Runs one program in several ways; returns their number, or the report of a difference.
fn one(tally: &Path, keep: &Path, arguments: &Arguments, seed: u64) -> Result<u64, String> {
    let folder = keep.join(format!("work-{seed}"));
    let clear = || _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (text, mut dice) = (program(seed), Dice::new(!seed));
    let ways = match arguments.plan.as_str() {
        "deferred" => ways(&mut dice),
        "prompt" => ways_of_all_plans(&mut dice).into_iter().filter(Way::is_prompt).collect(),
        "trace" => ways_of_all_plans(&mut dice).into_iter().filter(Way::is_trace).collect(),
        _ => ways_of_all_plans(&mut dice),
    };
    let outcome = try_text(tally, &folder.join("program.c"), &text, &ways);
    let report = match outcome {
        Ok(None) => {
            clear();
            return Ok(ways.len() as u64);
        }
        Ok(Some(difference)) => {
            let way = [difference.way.clone()];
            let same = |text: &str| {
                matches!(try_text(tally, &folder.join("smaller.c"), text, &way),
                    Ok(Some(found)) if found.sort == difference.sort)
            };
            let short = if arguments.no_reduce || !same(&text) { text } else { reduce(&text, same) };
            let said = format!("seed {seed}, {:?}\n{}", difference.way, difference.what).replace("*/", "* /");
            let place = keep.join(format!("seed-{seed}.c"));
            std::fs::write(&place, format!("{short}\n/* {said} */\n")).map_err(|error| error.to_string())?;
            if let Way::Optimised(..) = difference.way {
                keep_optimised(&folder, &place);
            }
            format!("{said}\nkept as {}", place.display())
        }
        Err(error) => format!("seed {seed}: {error}"),
    };
    clear();
    Err(report)
}

/// Keeps opt's output for the original program: `seed-1.plain.0.ll` for each module.
fn keep_optimised(folder: &Path, place: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let module = name.to_str().and_then(|name| name.strip_prefix("program.")?.strip_suffix(".opt.ll"));
        if let Some(module) = module {
            _ = std::fs::copy(entry.path(), place.with_extension(format!("{module}.ll")));
        }
    }
}

fn try_text(tally: &Path, place: &Path, text: &str, ways: &[Way]) -> Result<Option<Difference>, String> {
    std::fs::write(place, text).map_err(|error| error.to_string())?;
    compare(tally, place, ways)
}

fn build() -> Result<PathBuf, String> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "-p", "tally-llvm", "-p", "aot-runtime"])
        .current_dir(source_tree())
        .status()
        .map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = own.parent().and_then(Path::parent).ok_or("this program lies in no target directory")?;
    if status.success() { Ok(target.join("release/tally")) } else { Err("cargo cannot build `tally`".to_owned()) }
}
