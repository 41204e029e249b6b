//! `cargo xtask bench weak`: bytes that an entry of a weak map takes, by plan and mode, and where they lie (benches/weak_memory.rs).

use crate::failure::Outcome;
use crate::process;
use std::process::ExitCode;

/// Builds the measuring program and runs it: each heap in a process of its own.
pub fn weak() -> Outcome {
    process::must_succeed(process::cargo().args(["run", "--release", "-p", "tally-benches", "--bin", "weak_memory"]))?;
    Ok(ExitCode::SUCCESS)
}
