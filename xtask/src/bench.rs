//! `cargo xtask bench …`: the workloads, built, timed side by side, and counted.
//!
//! ```text
//! build DIR     tally-deferred, tally-prompt and hand-freed, each taking a workload's name   bench/build.rs
//! programs      whole programs on Tally, freed by hand, and on Boehm's collector           bench/programs.rs
//! compare       interleaved rounds of the three, CPU time, ratios, sums checked              bench/compare.rs
//! peers         other heaps and languages on the same workloads                              bench/peers.rs
//! scaling       garbage and epochs beside live heaps of all sizes                            bench/scaling.rs
//! counts        instructions of the fast paths under callgrind (benches/)                    bench/counts.rs
//! lowering      what the lowering costs on SQLite and Lua                                    bench/lowering.rs
//! weak          bytes that an entry of a weak map takes                                      bench/weak.rs
//! ```
//! Times differ from machine to machine and from hour to hour, so they are compared, never asserted;
//! instruction counts do not, so they hold the fast paths.

pub mod build;
mod chart;
pub mod compare;
pub mod counts;
mod document;
mod lowering;
pub mod measure;
mod peers;
pub mod programs;
mod rounds;
mod scaling;
mod utilisation;
mod weak;

use crate::failure::Outcome;

/// The subcommands of `cargo xtask bench`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Build the workloads under both of Tally's plans and with hand-written frees
    Build(build::Arguments),
    /// Whole programs on Tally, freed by hand, and on Boehm's collector
    Programs(programs::Arguments),
    /// Time the workloads side by side and print the ratios
    Compare(compare::Arguments),
    /// Other heaps and other languages on the same workloads
    Peers(peers::Arguments),
    /// What garbage and epochs cost beside live heaps of all sizes
    Scaling(scaling::Arguments),
    /// Count the instructions of the fast paths, compiled and in the runtime, under callgrind
    Counts(counts::Arguments),
    /// What the lowering costs on SQLite and Lua: time, code size, speed
    Lowering(lowering::Arguments),
    /// Bytes that an entry of a weak map takes, by plan and mode
    Weak,
}

/// Runs one of them.
pub fn bench(command: &Command) -> Outcome {
    match command {
        Command::Build(arguments) => build::build(arguments),
        Command::Programs(arguments) => programs::programs(arguments),
        Command::Compare(arguments) => compare::compare(arguments),
        Command::Peers(arguments) => peers::peers(arguments),
        Command::Scaling(arguments) => scaling::scaling(arguments),
        Command::Counts(arguments) => counts::counts(arguments),
        Command::Lowering(arguments) => lowering::lowering(arguments),
        Command::Weak => weak::weak(),
    }
}
