//! `cargo xtask replay WHAT` and `cargo xtask soak`: the oracle of the heap, built in release form and started.
//!
//! What they are told goes to the two commands of `tests/src/bin/`, so an option of theirs needs no change here:
//! `--help` says what there is. The exit status is theirs: 0 nothing differs, 1 something does, 2 a wrong command line.
//! Neither needs LLVM.

use crate::failure::{Failure, Outcome};
use crate::{process, tree};
use std::process::ExitCode;

/// `cargo xtask replay`, `cargo xtask soak`
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// SETUP/SEED/NUMBER/LONGEST as a failure prints it, a seed, or a file with a program, and options; `--help` lists those
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WHAT")]
    rest: Vec<String>,
}

/// Runs what has failed once more.
pub fn replay(arguments: &Arguments) -> Outcome {
    start("replay", &arguments.rest)
}

/// Runs what was never run before.
pub fn soak(arguments: &Arguments) -> Outcome {
    start("soak", &arguments.rest)
}

fn start(name: &str, rest: &[String]) -> Outcome {
    process::must_succeed(process::cargo().args(["build", "--release", "-p", "tally-tests", "--bin", name]))?;
    // Files are named from where the person stands.
    let mut command = std::process::Command::new(tree::release()?.join(name));
    let status = process::status_of(command.args(rest))?;
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(ExitCode::from(code)),
        None => Err(Failure::step(format!("`{name}` ended with {status}"))),
    }
}
