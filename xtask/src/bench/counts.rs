//! `cargo xtask bench counts`: how many instructions the fast paths take, under callgrind.
//!
//! The benches are in benches/ and run by iai-callgrind, which wants a runner of exactly its own version; the version
//! is read off Cargo.lock and the runner installed by cargo if it is not there. Arguments go to `cargo bench`.

use crate::failure::{Failure, Outcome};
use crate::{process, setup, tree};
use std::process::{Command, ExitCode};

const LIBRARY: &str = "iai-callgrind";
const RUNNER: &str = "iai-callgrind-runner";

/// `cargo xtask bench counts`
#[derive(clap::Args)]
pub struct Arguments {
    /// Arguments of `cargo bench`, such as `-- write_clean`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    rest: Vec<String>,
}

/// Installs the runner if needed and runs the benches.
pub fn counts(arguments: &Arguments) -> Outcome {
    setup::ensure(&[setup::Need::Compiler, setup::Need::Valgrind])?;
    let lock = std::fs::read_to_string(tree::root().join("Cargo.lock"))
        .map_err(|error| Failure::step(format!("cannot read Cargo.lock: {error}")))?;
    let version = locked_version(&lock, LIBRARY)
        .ok_or_else(|| Failure::step(format!("Cargo.lock has no {LIBRARY}; do the benches still use it?")))?;
    if installed_version().as_deref() != Some(version) {
        let exact = format!("={version}");
        process::must_succeed(process::cargo().args(["install", "--locked", RUNNER, "--version", &exact]))?;
    }
    process::must_succeed(process::cargo().args(["bench", "-p", "tally-benches"]).args(&arguments.rest))?;
    Ok(ExitCode::SUCCESS)
}

fn installed_version() -> Option<String> {
    let text = process::output_of(Command::new(RUNNER).arg("--version")).ok()?;
    text.split_whitespace().last().map(str::to_owned)
}

/// The version of `package` in the text of a Cargo.lock.
fn locked_version<'lock>(lock: &'lock str, package: &str) -> Option<&'lock str> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn version_is_the_package_own_and_not_a_neighbours() {
        let lock = "[[package]]\nname = \"iai-callgrind-macros\"\nversion = \"0.6.1\"\n\n\
                    [[package]]\nname = \"iai-callgrind\"\nversion = \"0.16.1\"\n";
        assert_eq!(locked_version(lock, "iai-callgrind"), Some("0.16.1"));
        assert_eq!(locked_version(lock, "clap"), None);
    }
}
