//! Instructions of compiled code, counted by callgrind and held: `cargo xtask bench counts`.
//!
//! `counts.rs` counts the runtime's own operations through the Rust API. What the lowering emits inline is counted here, in
//! executables that `tally build --opt 2` made of `compiled/`, one for each plan: each run brings a thousand objects into a state,
//! and callgrind collects in one function, `measured_…`, that does one thing to each of them, so start-up does not count.
//! `compiled/limits.txt` names the operations, what each may cost, and the loop that has to be subtracted.
//!
//! `cargo xtask bench counts` builds the executables, says where they are in `TALLY_COMPILED_OPERATIONS`, and prints what each
//! operation costs; it fails when one costs nothing, which means that something else was counted.

#![allow(missing_docs, reason = "the macros of iai-callgrind make public items and document none")]

use iai_callgrind::{
    Bench, BinaryBenchmark, BinaryBenchmarkConfig, BinaryBenchmarkGroup, Callgrind, Command, EntryPoint, EventKind,
    binary_benchmark_group, main,
};
use std::path::PathBuf;

/// Lines of `at most`, `plan/operation`, and perhaps what to subtract.
const LIMITS: &str = include_str!("compiled/limits.txt");
/// The folder in which the executables `deferred` and `prompt` stand.
const FOLDER: &str = "TALLY_COMPILED_OPERATIONS";

fn all(group: &mut BinaryBenchmarkGroup) {
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| panic!("{FOLDER} is not set; run `cargo xtask bench counts`, which builds them"));
    for plan in ["deferred", "prompt"] {
        let mut benches = BinaryBenchmark::new(plan);
        for (limit, operation) in limits(plan) {
            let mut callgrind = Callgrind::default();
            callgrind.entry_point(EntryPoint::Custom("measured_*".to_owned()));
            callgrind.hard_limits([(EventKind::Ir, limit)]);
            let mut config = BinaryBenchmarkConfig::default();
            config.tool(callgrind);
            let command = Command::new(folder.join(plan)).arg(operation).build();
            benches.bench(Bench::new(operation).config(config).command(command));
        }
        group.binary_benchmark(benches);
    }
}

/// The limits of a plan's operations.
fn limits(plan: &str) -> impl Iterator<Item = (u64, &'static str)> {
    let lines = LIMITS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.filter_map(move |line| {
        let mut words = line.split_whitespace();
        let limit = words.next().and_then(|word| word.replace('_', "").parse().ok());
        let limit = limit.unwrap_or_else(|| panic!("limits.txt: `{line}` does not begin with a number"));
        let (of, operation) = words.next().and_then(|name| name.split_once('/')).unwrap_or_else(|| {
            panic!("limits.txt: `{line}` names no plan/operation");
        });
        (of == plan).then_some((limit, operation))
    })
}

binary_benchmark_group!(name = compiled; benchmarks = |group: &mut BinaryBenchmarkGroup| all(group));

main!(binary_benchmark_groups = compiled);
