//! Every program in `benches/programs/` computes on Tally what it does with `malloc` and the frees written by hand.
//!
//! Each is compiled with its frees once, and run on Tally at its small size, and under zeal at its tiny one. To be
//! short, it has one of -O0 and -O2 under each plan, and zeal under one of the plans at one of both: the next program
//! has others. So it is with the same program without its roots, which are inferred then: one of the plans at one of both levels,
//! under zeal. `TALLY_EVERY_WAY` in the environment runs all 24 ways of each. That `tally verify` warns of none is a trial of
//! `mistakes::not_accused`.
//!
//! The workloads are one program, with inferred roots: they are compared with their hand-freed twins.

use crate::trial;
use libtest_mimic::Trial;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;
use tally_kit::situation::programs_in;
use tally_kit::tally_command::{describe, run, run_tally, source_tree};
use tally_kit::ways::every_way;

/// The folder of the programs.
pub const FOLDER: &str = "benches/programs";
/// Fewer would mean that the folder is not read.
const PROGRAMS_AT_LEAST: usize = 20;
/// Likewise of the runner of the workloads.
const WORKLOADS_AT_LEAST: usize = 14;

const PLANS: [&str; 3] = ["refcount", "refcount-prompt", "trace"];
const LEVELS: [&str; 2] = ["0", "2"];

/// One way to run a program on Tally, at the size that goes with it.
struct Way {
    plan: &'static str,
    level: &'static str,
    is_zeal: bool,
    /// The roots are those that Tally infers, and not those of the program.
    is_inferred: bool,
}

/// What makes inferred roots of a program's own.
const INFERRED: [&str; 4] = ["--roots", "auto", "-D", "TALLY_ROOTS_INFERRED"];

/// Each program in its ways.
pub fn trials() -> Vec<Trial> {
    let programs = programs_in(&source_tree().join(FOLDER));
    assert!(programs.len() >= PROGRAMS_AT_LEAST, "only {} programs were found", programs.len());
    let trial_of = |(number, file): (usize, PathBuf)| {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        trial(format!("bench_programs::{name}"), move || computes_the_same(&file, &ways(number)))
    };
    let workloads = trial("bench_programs::workloads_without_written_roots".to_owned(), workloads_compute_the_same);
    programs.into_iter().enumerate().map(trial_of).chain([workloads]).collect()
}

/// The ways of the program with this number.
fn ways(number: usize) -> Vec<Way> {
    let all = every_way();
    let mut ways = Vec::new();
    for (plan_number, plan) in PLANS.into_iter().enumerate() {
        for (level_number, level) in LEVELS.into_iter().enumerate() {
            let turn = (plan_number, level_number);
            let is_turn = |is_zeal: bool, is_inferred: bool| match (is_zeal, is_inferred) {
                (false, false) => level_number == (number + plan_number) % 2,
                (true, false) => turn == (number / 2 % PLANS.len(), number / 4 % 2),
                (true, true) => turn == (number % PLANS.len(), number / 3 % 2),
                (false, true) => false,
            };
            for (is_zeal, is_inferred) in [(false, false), (true, false), (false, true), (true, true)] {
                if all || is_turn(is_zeal, is_inferred) {
                    ways.push(Way { plan, level, is_zeal, is_inferred });
                }
            }
        }
    }
    ways
}

fn computes_the_same(file: &Path, ways: &[Way]) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder for an executable");
    let executable = folder.path().join("freed_by_hand");
    let mut words: Vec<OsString> = ["-O0", "-w", "-DFREED_BY_HAND"].map(OsString::from).into();
    words.extend([file.into(), "-o".into(), executable.clone().into(), "-lm".into()]);
    let built = run(Path::new("cc"), &words, &[]);
    if !built.status.success() {
        return Err(format!("freed by hand: {}", describe(&built)));
    }
    for size in ["small", "tiny"] {
        let expected = sum_of(&run(&executable, &[size], &[])).map_err(|wrong| format!("freed by hand: {wrong}"))?;
        for way in ways.iter().filter(|way| way.is_zeal == (size == "tiny")) {
            let roots = if way.is_inferred { " without roots" } else { "" };
            let how = format!("{} -O{} {size}{roots}", way.plan, way.level);
            let sum = sum_of(&run_on_tally(file, way, size)).map_err(|wrong| format!("{how}: {wrong}"))?;
            if sum != expected {
                return Err(format!("{how}: {sum}, and {expected} when freed by hand"));
            }
        }
    }
    Ok(())
}

fn run_on_tally(file: &Path, way: &Way, size: &str) -> Output {
    let mut words: Vec<OsString> =
        ["run", "--no-warnings", "--plan", way.plan, "--opt", way.level].map(OsString::from).into();
    words.push(if way.is_zeal { "--zeal" } else { "--leak-check" }.into());
    words.extend(INFERRED.iter().filter(|_| way.is_inferred).map(OsString::from));
    words.extend([file.into(), "--".into(), size.into()]);
    run_tally(&words, &[])
}

/// Each workload at its small size, under one plan and level; under all with `TALLY_EVERY_WAY`.
fn workloads_compute_the_same() -> Result<(), String> {
    let workloads = source_tree().join("benches/workloads");
    let folder = tempfile::tempdir().expect("a folder for executables");
    let twin = folder.path().join("hand_freed");
    let include: OsString = format!("-I{}", workloads.display()).into();
    let mut words: Vec<OsString> = vec!["-O1".into(), include, "-o".into(), twin.clone().into()];
    words.extend(programs_in(&workloads.join("hand_freed")).into_iter().map(OsString::from));
    let built = run(Path::new("cc"), &words, &[]);
    if !built.status.success() {
        return Err(format!("freed by hand: {}", describe(&built)));
    }
    let runner = std::fs::read_to_string(workloads.join("run.h")).expect("the runner's text");
    let names = runner.split("strcmp(name, \"").skip(1).filter_map(|rest| rest.split('"').next());
    let names: Vec<&str> = names.filter(|&name| name != "nop").collect();
    if names.len() < WORKLOADS_AT_LEAST {
        return Err(format!("only {names:?} were found in run.h"));
    }
    let all = every_way();
    let ways = PLANS.into_iter().flat_map(|plan| LEVELS.map(|level| (plan, level)));
    for (plan, level) in ways.filter(|&way| all || way == ("refcount-prompt", "2")) {
        let executable = folder.path().join("inferred");
        let mut build: Vec<OsString> =
            ["build", "--no-warnings", "--plan", plan, "--opt", level].map(OsString::from).into();
        build.extend(INFERRED.map(OsString::from));
        build.extend(programs_in(&workloads).into_iter().map(OsString::from));
        build.extend(["-o".into(), executable.clone().into()]);
        let built = run_tally(&build, &[]);
        if !built.status.success() {
            return Err(format!("{plan} -O{level}: {}", describe(&built)));
        }
        for name in &names {
            let [expected, sum] = [&twin, &executable].map(|program| sum_of(&run(program, &[name, "small"], &[])));
            if expected != sum {
                return Err(format!("{name}, {plan} -O{level}: {sum:?}, and {expected:?} when freed by hand"));
            }
        }
    }
    Ok(())
}

/// The words `NAME sum=S` of a run that has succeeded; the gap that follows is another one each time.
fn sum_of(output: &Output) -> Result<String, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let sum = text.split_once(" gap_us=").map(|(sum, _)| sum.to_owned());
    let is_quiet = output.status.success() && output.stderr.is_empty();
    sum.filter(|sum| is_quiet && sum.contains(" sum=")).ok_or_else(|| describe(output))
}
