//! `cargo xtask check`: what must hold before a change lands, apart from the tests.
//!
//! Five steps, the quick ones first; each prints its own complaints. The house rules (`xtask/tests`) hold file names and
//! lengths, and that ARCHITECTURE.md speaks of files and types that exist; the last step runs what the documents show.

mod documents;

use crate::failure::{Failure, Outcome};
use crate::{process, run, setup};
use std::process::ExitCode;

/// Without it the benches of benches/ are left out.
const BENCHES: &str = "tally-benches/counts";

/// Runs all checks, even after one failed, and names the ones that did.
pub fn check() -> Outcome {
    setup::ensure(setup::BUILD)?;
    let steps: [(&str, &[&str]); 4] = [
        ("formatting", &["fmt", "--all", "--check"]),
        // xtask's, as the tests of the workspace build them.
        ("house rules", &["test", "--quiet", "--workspace", "--bin", "xtask", "--test", "house"]),
        ("clippy", &["clippy", "--workspace", "--all-targets", "--features", BENCHES, "--", "--deny", "warnings"]),
        // The libraries of aot-runtime and tally-c are called like the crates `tally` and `tally_llvm`, whose pages those are.
        (
            "documentation",
            &[
                "doc",
                "--workspace",
                "--exclude",
                "aot-runtime",
                "--exclude",
                "tally-c",
                "--lib",
                "--no-deps",
                "--keep-going",
            ],
        ),
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
    if let Err(failure) = run::build_tally().and_then(|tally| documents::try_programs(&tally)) {
        eprintln!("xtask: {failure}");
        failed.push("programs in documents");
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::step(format!("these checks failed: {}", failed.join(", "))))
}
