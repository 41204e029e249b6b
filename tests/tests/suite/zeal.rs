//! What zeal says, and about what it is silent: programs with a mistake are stopped with status 5 and a message that names it,
//! right programs run to their end.

mod jumps;
mod messages;
mod right_programs;
mod wrong_writes;

use std::ffi::OsString;
use std::process::Output;
use tally_kit::tally_command::{describe, run_tally};

const PLANS: [&str; 2] = ["refcount", "refcount-prompt"];

/// Runs a program of C or IR, by its ending, under zeal.
fn run(plan: &str, level: &str, name: &str, program: &str) -> Output {
    run_with(&["--zeal", "--plan", plan, "--opt", level], name, program, &[])
}

fn run_without_zeal(plan: &str, level: &str, program: &str) -> Output {
    run_with(&["--plan", plan, "--opt", level], "program.c", program, &[])
}

/// Under zeal, too; with the statistics.
fn run_with_statistics(plan: &str, level: &str, name: &str, program: &str) -> (Output, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("figures.json");
    let text = place.display().to_string();
    let output = run_with(&["--zeal", "--plan", plan, "--opt", level], name, program, &[("TALLY_STATS", &text)]);
    let figures = std::fs::read_to_string(place).unwrap_or_default();
    (output, serde_json::from_str(&figures).unwrap_or_default())
}

fn run_with(options: &[&str], name: &str, program: &str, variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, program).expect("the folder can be written to");
    let mut arguments = vec![OsString::from("run")];
    arguments.extend(options.iter().map(OsString::from));
    arguments.push(file.into());
    run_tally(&arguments, variables)
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
