//! `cargo xtask test`: everything that the workspace's tests need, then the tests.
//!
//! The tests of whole programs link `libtally.a` and start `tally`, which `cargo test` alone does not build (a
//! static library is nobody's dependency), so those two are built first, in release form because programs run
//! millions of epochs. All tests run even when one fails. Arguments go to `cargo test`.

use crate::failure::Outcome;
use crate::{process, run, setup};
use std::process::ExitCode;

/// `cargo xtask test`
#[derive(clap::Args)]
pub struct Arguments {
    /// Arguments of `cargo test`, such as a test's name or `-p tally-heap`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    rest: Vec<String>,
}

/// Runs the tests of the workspace.
pub fn test(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::BUILD)?;
    let tally = run::build_tally()?;
    let mut tests = process::cargo();
    tests.args(["test", "--no-fail-fast"]).env("TALLY_COMMAND", &tally);
    if !names_a_package(&arguments.rest) {
        tests.arg("--workspace");
    }
    process::must_succeed(tests.args(&arguments.rest))?;
    Ok(ExitCode::SUCCESS)
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
