//! `cargo xtask test`: everything that the workspace's tests need, then the tests.
//!
//! The tests of whole programs link `libtally.a` and start `tally`, which `cargo test` alone does not build (a
//! static library is no package's dependency), so those two are built first, in release form because programs run
//! millions of epochs. All tests run even when one fails.
//!
//! Where cargo-nextest is installed it runs them (`.config/nextest.toml`): it shows what each took, and ends what hangs.
//! `cargo test` runs the examples of the documentation, which nextest does not know, and everything where there is no nextest, or
//! where arguments are given: they are its own.

use crate::failure::{Failure, Outcome};
use crate::{process, run, setup, tree};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// `cargo xtask test`
#[derive(clap::Args)]
pub struct Arguments {
    /// Arguments of `cargo test`, such as a test's name or `-p tally-heap`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    rest: Vec<String>,
}

/// Runs the tests of the workspace.
pub fn test(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::TEST)?;
    let all = arguments.rest.is_empty();
    let suites = Suites { tally: built(all)?, clang_once: fresh_folder("clang-once")? };
    if !all || !has_nextest() {
        let mut tests = suites.cargo(&["test", "--no-fail-fast"]);
        if !names_a_package(&arguments.rest) {
            tests.arg("--workspace");
        }
        process::must_succeed(tests.args(&arguments.rest))?;
        return Ok(ExitCode::SUCCESS);
    }
    let tests = process::must_succeed(&mut suites.cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]));
    let examples =
        process::must_succeed(&mut suites.cargo(&["test", "--workspace", "--doc", "--no-fail-fast", "--quiet"]));
    tests.and(examples)?;
    Ok(ExitCode::SUCCESS)
}

/// What suites start and link.
const STARTED_OR_LINKED: [&str; 10] =
    ["-p", "tally-llvm", "-p", "aot-runtime", "-p", "tally-pass", "-p", "tally-c", "-p", "tally-kit"];

/// Builds the command, and what the tests need in their own profile: all tests of the workspace, or what their suites start and link,
/// which no test depends on. Both profiles at once: each ends in one large crate, which keeps one processor.
fn built(all: bool) -> Result<PathBuf, Failure> {
    let own_profile: &[&str] = if all { &["--workspace", "--lib", "--bins", "--tests"] } else { &STARTED_OR_LINKED };
    std::thread::scope(|scope| {
        let own = scope.spawn(|| process::must_succeed(process::cargo().arg("build").args(own_profile)));
        let tally = run::build_tally();
        own.join().expect("starting a process does not panic")?;
        tally
    })
}

/// What the suites are told.
struct Suites {
    /// The command that was built.
    tally: PathBuf,
    /// What `clang_once` has made (`kit/src/bin/clang_once.rs`).
    clang_once: PathBuf,
}

impl Suites {
    fn cargo(&self, words: &[&str]) -> Command {
        let mut cargo = process::cargo();
        cargo.args(words).env("TALLY_COMMAND", &self.tally).env("CLANG_ONCE", &self.clang_once);
        cargo
    }
}

/// An empty folder of that name in the target folder.
fn fresh_folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = tree::release()?.with_file_name(name);
    _ = std::fs::remove_dir_all(&folder);
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|error| Failure::step(format!("cannot make {}: {error}", folder.display())))?;
    Ok(folder)
}

/// Whether cargo-nextest is installed.
pub fn has_nextest() -> bool {
    process::output_of(process::cargo().args(["nextest", "--version"])).is_ok()
}

fn names_a_package(arguments: &[String]) -> bool {
    let own = arguments.iter().take_while(|word| *word != "--");
    own.into_iter().any(|word| word == "-p" || word.starts_with("--package"))
}

#[cfg(test)]
mod tests {
    use super::names_a_package;

    #[test]
    fn package_after_the_dashes_belongs_to_the_tests() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(names_a_package(&words("-p tally-heap")));
        assert!(names_a_package(&words("--package=tally-heap")));
        assert!(!names_a_package(&words("cycles -- -p")));
    }
}
