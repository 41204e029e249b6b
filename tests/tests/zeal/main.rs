//! What zeal says, and about what it is silent: programs with a mistake are stopped with status 5 and a message that names it,
//! right programs run to their end.

mod messages;
mod right_programs;
mod wrong_writes;

use std::ffi::OsString;
use std::process::Output;
use tally_tests::tally_command::{describe, run_tally};

const PLANS: [&str; 2] = ["refcount", "refcount-prompt"];

/// Runs a program of C or IR, by its ending, under zeal.
fn run(plan: &str, level: &str, name: &str, program: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, program).expect("the folder can be written to");
    let arguments = ["run", "--zeal", "--plan", plan, "--opt", level].map(OsString::from);
    run_tally(&[&arguments[..], &[file.into()]].concat(), &[])
}

fn prints(program: &str, expected: &str) {
    for plan in PLANS {
        for level in ["0", "2"] {
            let output = run(plan, level, "program.c", program);
            let right = output.status.success() && output.stdout == expected.as_bytes();
            assert!(right, "{plan}, --opt {level}: {expected:?} expected: {}", describe(&output));
        }
    }
}
