//! `cargo xtask check`: what must hold before a change lands, apart from the tests.
//!
//! Four steps, the quick ones first; each prints its own complaints. The last is the house's own rules
//! (`xtask/tests`): file names and lengths, and that ARCHITECTURE.md speaks of files and types that exist.

use crate::failure::{Failure, Outcome};
use crate::{process, setup};
use std::process::ExitCode;

/// Runs all checks, even after one failed, and names the ones that did.
pub fn check() -> Outcome {
    setup::ensure(setup::BUILD)?;
    let steps: [(&str, &[&str]); 4] = [
        ("formatting", &["fmt", "--all", "--check"]),
        ("house rules", &["test", "--quiet", "--package", "xtask"]),
        ("clippy", &["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
        ("documentation", &["doc", "--workspace", "--lib", "--no-deps"]),
    ];
    let mut failed = Vec::new();
    for (name, arguments) in steps {
        let mut step = process::cargo();
        step.args(arguments);
        if name == "documentation" {
            step.env("RUSTDOCFLAGS", "--deny warnings");
        }
        if let Err(failure) = process::must_succeed(&mut step) {
            eprintln!("xtask: {failure}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::step(format!("{} of {} checks failed: {}", failed.len(), steps.len(), failed.join(", "))))
}
