//! Order of destruction: C programs whose destructors print, against the definition (`tests/src/destruction.rs`).
//!
//! At -O0 every count of the plan is in the code; above, most are saved. The output may not differ, whichever are saved
//! at whatever level. Two programs in three are of several modules.

use std::ffi::OsString;

use tally_kit::tally_command::{describe, run_tally};
use tally_tests::destruction::{Program, machine};
use tally_tests::random_program::modules::{self, Destructors};
use tally_tests::random_program::trial::SAVINGS;

/// Programs of one test run; `TALLY_DESTRUCTION_PROGRAMS` and `TALLY_SEED` ask for more, or others.
const COUNT: u64 = 12;
const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().expect("the variable is a number"))
}

fn first_difference(expected: &str, found: &str) -> String {
    let line = expected.lines().zip(found.lines()).position(|(one, other)| one != other);
    let line = line.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    let around = |text: &str| text.lines().skip(line.saturating_sub(12)).take(16).collect::<Vec<_>>().join(" ");
    format!("from line {} on:\nexpected … {} …\nfound    … {} …", line + 1, around(expected), around(found))
}

/// scenario 54.
#[test]
fn random_programs_destroy_in_the_order_of_the_definition() {
    let folder = tempfile::tempdir().expect("a folder for programs");
    let first = number("TALLY_SEED", 1);
    let (mut lines, mut deaths) = (0, 0);
    for seed in first..first + number("TALLY_DESTRUCTION_PROGRAMS", COUNT) {
        let program = Program::new(seed);
        let place = folder.path().join(format!("seed-{seed}.c"));
        std::fs::write(&place, program.text()).expect("the folder can be written to");
        let files = modules::write(&place, Destructors::With).expect("the folder can be written to");
        let mut ways: Vec<Vec<&str>> = LEVELS.iter().map(|level| vec!["--opt", *level]).collect();
        let one = SAVINGS[(seed % SAVINGS.len() as u64) as usize];
        ways.extend(
            [["0", "all"], ["2", "none"], ["2", one]]
                .map(|[level, saved]| vec!["--opt", level, "--save-counts", saved]),
        );
        ways.push(vec!["--opt", if seed % 2 == 0 { "0" } else { "2" }, "--zeal"]);
        for way in ways {
            let fuel = if way.contains(&"--zeal") { 6 } else { 30 };
            let expected = machine::run(&program, fuel);
            let mut arguments: Vec<OsString> =
                ["run", "--plan", "refcount-prompt", "--leak-check"].map(OsString::from).to_vec();
            arguments.extend(way.iter().map(OsString::from));
            arguments.extend(files.iter().map(OsString::from));
            arguments.extend(["--".into(), fuel.to_string().into()]);
            let output = run_tally(&arguments, &[]);
            let found = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success() && found == expected && output.stderr.is_empty(),
                "seed {seed} {way:?}, {}\n{}\n{}",
                first_difference(&expected, &found),
                describe(&output),
                program.text()
            );
            lines += expected.lines().count();
            deaths += expected.lines().filter(|line| line.starts_with('-')).count();
        }
    }
    assert!(deaths > 100 && lines > 4 * deaths / 3, "the programs do too little: {deaths} deaths in {lines} lines");
}
