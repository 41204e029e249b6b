//! Random programs about pointers that merge: what a root protects, however the pointer to it was made.
//!
//! Program number n of a seed is always the same one: a function with roots, variables and derived pointers that go through
//! phis, selects, freezes, loops, casts and memory (`program.rs`), made right by acting it out (`model.rs`), which gives
//! the sums that it must print for 16 arguments. Fifty programs are a module (`text.rs`), which is run by `tally run` with small
//! epochs under either plan and at several levels, and under either plan with zeal.
//! What fails is run again alone, so that a failure names its program; its file is kept.
//!
//! Without a count, as in `cargo test`, it runs a fixed number, and with each mitigation left out that the programs are about
//! one module until it fails: a check that cannot fail would prove nothing. `--without origins-of-stored` leaves one out, and
//! looks for a program that loses an object.

mod model;
mod program;
mod text;

use crate::Arguments;
use inkwell::context::Context;
use program::{Author, Op};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tally_kit::dice::Dice;
use tally_kit::progress::Progress;
use tally_kit::tally_command::checked_tally;
use tally_kit::workers::each_number;
use tally_llvm::load::reading::Reading;
use tally_llvm::lower::{LowerOptions, lower};
use text::{Rooting, Size};

const MODULE: u64 = 50;
/// What a plain `cargo test` runs.
const FIXED: u64 = 300;
/// Programs among which one must fail without a mitigation.
const WITHOUT: u64 = 400;
const MITIGATIONS: [&str; 2] = ["origins-of-stored", "roots-in-place-of-others"];
const LEVELS: [&str; 4] = ["0", "1", "2", "3"];
/// Modules with failures after which no more are made.
const FAILURES_MAX: usize = 10;
/// For what hangs: the longest takes half a minute of a processor, which others may be using.
const RUN_SECONDS_MAX: &str = "900";

/// A program, its number, and the sums it prints.
struct Numbered {
    number: u64,
    ops: Vec<Op>,
    sums: Vec<u64>,
}

impl Numbered {
    fn of(seed: u64, number: u64) -> Numbered {
        let mut dice = Dice::raw(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut ops = Author::program(&mut dice);
        let sums = model::act_out(&mut ops);
        Numbered { number, ops, sums }
    }
}

/// Makes programs and runs them.
pub fn main(arguments: &Arguments) -> ExitCode {
    let folder = std::env::temp_dir().join(format!("tally-merged-pointers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (seed, count) = (arguments.seed, arguments.count);
    let right = match (&arguments.without, count) {
        (Some(mitigation), _) => is_noticed(&folder, seed, count.unwrap_or(WITHOUT), mitigation),
        (None, Some(count)) => all_are_right(&folder, seed, count),
        (None, None) => {
            all_are_right(&folder, seed, FIXED)
                && MITIGATIONS.iter().all(|mitigation| is_noticed(&folder, seed, WITHOUT, mitigation))
        }
    };
    if right {
        let _ = std::fs::remove_dir_all(&folder);
        return ExitCode::SUCCESS;
    }
    println!("the modules are in {}", folder.display());
    ExitCode::FAILURE
}

/// Runs programs in all ways.
fn all_are_right(folder: &Path, seed: u64, count: u64) -> bool {
    let progress = Progress::new("programs", count);
    let failures = each_number(count.div_ceil(MODULE), FAILURES_MAX, |module| {
        let numbers = module * MODULE..count.min((module + 1) * MODULE);
        let programs: Vec<Numbered> = numbers.map(|number| Numbered::of(seed, number)).collect();
        let failed = check(folder, module, &programs);
        failed.iter().for_each(|reason| progress.say(&format!("seed {seed}: {reason}")));
        progress.advance(programs.len() as u64);
        if failed.is_empty() { Ok(()) } else { Err(failed.len()) }
    });
    drop(progress);
    let failed: usize = failures.into_iter().map(|(_, failed)| failed).sum();
    println!("merged pointers: {count} programs of seed {seed}, {failed} failures");
    failed == 0
}

/// Whether a program fails that is lowered without a mitigation.
fn is_noticed(folder: &Path, seed: u64, count: u64, mitigation: &str) -> bool {
    for first in (0..count).step_by(MODULE as usize) {
        let programs: Vec<Numbered> = (first..first + MODULE).map(|number| Numbered::of(seed, number)).collect();
        let file = write(folder, &format!("without-{first}"), &programs, Size::Small, Rooting::Written);
        let lowered = folder.join(format!("without-{first}.bc"));
        lower_without(&file, mitigation, &lowered);
        let program = folder.join("without");
        let mut build = Command::new(checked_tally());
        build.args(["build", "--opt", "1", "-o"]).args([&program, &lowered]);
        let built = build.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let mut command = Command::new("timeout");
        command.arg(RUN_SECONDS_MAX).arg(&program).env("TALLY_ZEAL", "1");
        if let Err(reason) = outcome(&mut command, &programs) {
            println!("merged pointers: without {mitigation} a program from {first} on fails: {reason}");
            return true;
        }
    }
    println!("merged pointers: without {mitigation} none of {count} programs of seed {seed} fails");
    false
}

fn lower_without(file: &Path, mitigation: &str, to: &Path) {
    let context = Context::create();
    let machine = tally_llvm::emit::target::machine(Default::default()).unwrap();
    let module = tally_llvm::pipeline::load(&context, file, &machine, &Reading::default()).unwrap();
    let options = LowerOptions {
        module_name: "merged.ll".into(),
        without: Some(mitigation.parse().unwrap()),
        zeal: true,
        ..LowerOptions::default()
    };
    lower(&module, &options).unwrap();
    assert!(module.write_bitcode_to_path(to), "the lowered module cannot be written");
}

/// Runs a module in all ways; what failed.
fn check(folder: &Path, module: u64, programs: &[Numbered]) -> Vec<String> {
    let mut failures = Vec::new();
    for (rooting, options) in ways(module as usize) {
        let size = if options.contains(&"--zeal") { Size::Small } else { Size::Line };
        let file = write(folder, &format!("module-{module}"), programs, size, rooting);
        if run(&file, &options, programs).is_ok() {
            std::fs::remove_file(file).unwrap();
            continue;
        }
        let before = failures.len();
        for program in programs {
            let alone = std::slice::from_ref(program);
            let own = write(folder, &format!("program-{}-{size:?}-{rooting:?}", program.number), alone, size, rooting);
            match run(&own, &options, alone) {
                Ok(()) => std::fs::remove_file(own).unwrap(),
                Err(reason) => failures.push(format!(
                    "program {}: {reason}\ntally run {} {}",
                    program.number,
                    options.join(" "),
                    own.display()
                )),
            }
        }
        if failures.len() == before {
            failures.push(format!("module {module} fails, none of its programs alone: {}", options.join(" ")));
        }
    }
    failures
}

/// How module number `turn` is run: under the deferred plan each time plainly and with zeal, and the other ways take turns. Without
/// written roots it is run under zeal, or with small epochs.
fn ways(turn: usize) -> Vec<(Rooting, Vec<&'static str>)> {
    let with = |more: usize, options: &[&'static str]| {
        let level = LEVELS[(turn / 2 + more) % LEVELS.len()];
        [&["--opt", level, "--epoch-bytes", "16KiB"], options].concat()
    };
    let third: &[&str] = match turn % 4 {
        0 => &["--plan", "refcount-prompt"],
        2 => &["--pause-goal", "500us"],
        _ => &["--plan", "refcount-prompt", "--zeal"],
    };
    let written = [with(0, &[]), with(2, &["--zeal"]), with(1, third)].map(|way| (Rooting::Written, way));
    let plan = ["refcount", "refcount-prompt", "trace"][turn % 3];
    let inferred = [
        (Rooting::Typed, with(turn, &["--zeal", "--plan", plan])),
        (Rooting::Auto, with(turn + 1, &["--zeal", "--plan", plan, "--roots", "auto"])),
        (Rooting::Typed, with(turn + 2, &["--plan", plan])),
    ];
    written.into_iter().chain(inferred).collect()
}

fn write(folder: &Path, name: &str, programs: &[Numbered], size: Size, rooting: Rooting) -> PathBuf {
    let file = folder.join(format!("{name}.ll"));
    let programs: Vec<(u64, &[Op])> = programs.iter().map(|program| (program.number, &program.ops[..])).collect();
    std::fs::write(&file, text::module(&programs, size, rooting)).unwrap();
    file
}

/// Runs a file that must print the sums of these programs.
fn run(file: &Path, options: &[&str], programs: &[Numbered]) -> Result<(), String> {
    let mut command = Command::new("timeout");
    command.arg(RUN_SECONDS_MAX).arg(checked_tally()).arg("run").args(options).arg(file);
    outcome(&mut command, programs)
}

/// Whether a command prints the sums of these programs.
fn outcome(command: &mut Command, programs: &[Numbered]) -> Result<(), String> {
    let output = command.output().unwrap();
    assert_ne!(output.status.code(), Some(124), "{command:?} takes longer than {RUN_SECONDS_MAX} seconds");
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = programs.iter().flat_map(|program| {
        let number = program.number;
        program.sums.iter().enumerate().map(move |(argument, sum)| format!("{number} {argument} {sum}"))
    });
    let mut lines = printed.lines();
    for expected in expected {
        let line = lines.next().unwrap_or("nothing");
        if line != expected {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}, printed {line}, expected {expected}\n{said}", output.status));
        }
    }
    if output.status.code() == Some(0) { Ok(()) } else { Err(format!("{}", output.status)) }
}
