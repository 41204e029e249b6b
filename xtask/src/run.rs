//! `cargo xtask run FILE…`: from a fresh clone to a running program, in one command.
//!
//! Installs what is missing, builds `tally` and `libtally.a` in release form, and becomes `tally run` with the words
//! it was given: options of `tally run` are not known here, so a new one needs no change. The exit status is the
//! program's own. [`build_tally`] is what the other commands use to get at the two files.

use crate::failure::{Failure, Outcome};
use crate::{process, setup, tree};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// `cargo xtask run`
#[derive(clap::Args)]
pub struct Arguments {
    /// FILE… [options of `tally run`] [-- arguments of the program]
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "FILE…")]
    pub rest: Vec<String>,
}

/// Builds Tally if needed and runs the program with it.
pub fn run(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::BUILD)?;
    let tally = build_tally()?;
    // Files are named from where the person stands, so unlike the other chores this one stays there.
    let status = process::status_of(std::process::Command::new(&tally).arg("run").args(&arguments.rest))?;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
        (None, Some(signal)) => {
            eprintln!("xtask: the program was ended by signal {signal}");
            Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)))
        }
        (None, None) => Err(Failure::step(format!("the program ended without a status: {status}"))),
    }
}

/// Builds the `tally` command and the library that compiled programs link; returns the command's path.
pub fn build_tally() -> Result<PathBuf, Failure> {
    let packages = ["-p", "tally-llvm", "-p", "aot-runtime"];
    let mut build = process::cargo();
    // With CARGO_INCREMENTAL=1 in the environment a crate becomes several units, and some paths are up to 7 in a
    // hundred longer or shorter: what is measured and what is run should not depend on who builds it.
    build.args(["build", "--release"]).args(packages).env("CARGO_INCREMENTAL", "0");
    process::must_succeed(&mut build)?;
    let tally = tree::release()?.join("tally");
    if tally.is_file() {
        return Ok(tally);
    }
    Err(Failure::step(format!("cargo built no {}; is CARGO_TARGET_DIR the same as for xtask?", tally.display())))
}
