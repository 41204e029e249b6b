//! Instructions of compiled code, of whole programs and of the lowering, counted by callgrind:
//! `cargo xtask bench counts`.
//!
//! `counts.rs` counts the runtime's own operations through the Rust API. The inline code of the lowering is counted
//! here, in executables that `tally build --opt 2` made of `compiled/`, one for each plan. Each run brings a thousand
//! objects into a state. Callgrind collects in one function, `measured_…`, that does one operation on each of them,
//! so start-up does not count. Of `workloads/`, at sizes that take callgrind a second, the workload's own function is
//! collected, epochs included; no slice ends by the clock there, or each run would be different. `paths.txt` names
//! all of them.
//!
//! `cargo xtask bench counts` builds the executables, passes their folder in `TALLY_COMPILED_OPERATIONS`, compares
//! with `approved.txt` and prints the cost of each operation. It fails when an operation costs nothing: then
//! something else was counted.

#![allow(missing_docs, reason = "the macros of iai-callgrind make public items and document none")]

use iai_callgrind::{
    Bench, BinaryBenchmark, BinaryBenchmarkConfig, BinaryBenchmarkGroup, Callgrind, Command, EntryPoint,
    binary_benchmark_group, main,
};
use std::path::{Path, PathBuf};

/// Lines of `group/name`, each with further words that only `cargo xtask bench counts` reads.
const PATHS: &str = include_str!("paths.txt");
/// The variable with the folder of the executables `deferred`, `prompt`, `tally-deferred`, `tally-prompt` and
/// `tally`.
const FOLDER: &str = "TALLY_COMPILED_OPERATIONS";
/// Units of work, about those of a slice of half a millisecond.
const UNITS: &str = "4096";
/// The C file that is lowered.
const LOWERED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads/havlak.c");

fn all(group: &mut BinaryBenchmarkGroup) {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| panic!("{FOLDER} is not set; run `cargo xtask bench counts`, which builds them"));
    for family in ["deferred", "prompt", "deferred_program", "prompt_program", "lowering"] {
        let mut benches = BinaryBenchmark::new(family);
        for name in names(family) {
            let (command, entry) = match family.strip_suffix("_program") {
                Some(plan) => program(&folder, plan, name),
                None if family == "lowering" => lowering(&folder, name),
                None => (Command::new(folder.join(family)).arg(name).build(), "measured_*"),
            };
            // Counts only instructions, and only those of the process itself: clang runs in another.
            let mut callgrind = Callgrind::with_args(["--cache-sim=no", "--trace-children=no"]);
            callgrind.entry_point(EntryPoint::Custom(entry.to_owned()));
            let mut config = BinaryBenchmarkConfig::default();
            config.tool(callgrind);
            benches.bench(Bench::new(name).config(config).command(command));
        }
        group.binary_benchmark(benches);
    }
}

/// A workload, and the function of it that is collected.
fn program(folder: &Path, plan: &str, name: &'static str) -> (Command, &'static str) {
    let arguments: &[&str] = match name {
        "bintrees" => &["bintrees18", "small"],
        "mutate" => &["mutate", "100000"],
        "bigheap" => &["bigheap", "50000", "100000"],
        "fifo" => &["fifo", "20000", "100000"],
        other => &[other, "small"],
    };
    let mut command = Command::new(folder.join(format!("tally-{plan}")));
    // Slices of units: the speed of callgrind on a machine must not decide the work of a stop.
    let paced = [("TALLY_PAUSE_GOAL", "1000s"), ("TALLY_SLICE_UNITS", UNITS)];
    (command.args(arguments).envs(paced).build(), name)
}

/// The lowering of one C file for a plan, or the look at it that comes before; clang runs before in another process.
fn lowering(folder: &Path, name: &str) -> (Command, &'static str) {
    let mut command = Command::new(folder.join("tally"));
    let entry = match name {
        "verify" => {
            command.args(["verify", LOWERED]);
            VERIFY
        }
        plan => {
            let plan = if plan == "prompt" { "refcount-prompt" } else { "refcount" };
            let output = folder.join("lowered.ll");
            command.args(["lower", LOWERED, "--plan", plan, "-o"]).arg(output.display().to_string());
            LOWER
        }
    };
    let variables = ["PATH", "LLVM_SYS_221_PREFIX"].map(|name| (name, std::env::var(name).unwrap_or_default()));
    (command.envs(variables).build(), entry)
}

/// The functions of frontend-glue that are collected.
const LOWER: &str = "tally_llvm::lower::lower";
const VERIFY: &str = "tally_llvm::verify::verify_source";

/// The names of a family.
fn names(family: &str) -> impl Iterator<Item = &'static str> {
    let paths = PATHS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().next());
    paths.filter_map(move |path| path.strip_prefix(family)?.strip_prefix('/'))
}

binary_benchmark_group!(name = compiled; benchmarks = |group: &mut BinaryBenchmarkGroup| all(group));

main!(binary_benchmark_groups = compiled);
