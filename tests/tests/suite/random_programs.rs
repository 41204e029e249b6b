//! Some random C programs through the whole pipeline, under all plans, at some levels of optimisation, against the same over
//! `calloc`.
//!
//! `cargo run -p tally-tests --release --bin random_programs -- --seed S --count N` runs more, in more ways, and makes short
//! what it finds; `--print --seed S` shows a program.

use tally_kit::dice::Dice;
use tally_kit::seed;
use tally_kit::tally_command::tally;
use tally_kit::workers::each_number;
use tally_tests::random_program::program;
use tally_tests::random_program::trial::{Way, compare};

/// Programs of one test run.
const COUNT: u64 = 24;

#[test]
fn random_programs_do_what_they_do_without_tally() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let failures = each_number(COUNT, 1, |number| {
        let seed = number + seed::of_the_run(1);
        let place = folder.path().join(format!("seed-{seed}.c"));
        std::fs::write(&place, program(seed)).expect("the folder can be written to");
        let mut dice = Dice::new(seed);
        let ways = [["0", "1"], ["2", "3"], ["0", "0"], ["1", "2"], ["0", "2"]].map(|levels| {
            let options = ["--opt", *dice.pick(&levels), "--leak-check", "--epoch-bytes", "16KiB"];
            Way::Run(options.map(str::to_owned).to_vec())
        });
        // Under the prompt plan counts are literal at -O0 and saved above.
        let [low, high, literal, saved, sliced] = ways;
        let sliced = sliced.trace().with(&["--pause-goal", "20us"]);
        let ways = [low, high, literal.prompt(), saved.prompt(), sliced];
        match compare(tally(), &place, &ways) {
            Ok(None) => Ok(()),
            Ok(Some(difference)) => Err(format!("seed {seed}: {:?} {}", difference.way, difference.what)),
            Err(error) => Err(format!("seed {seed}: {error}")),
        }
    });
    let reasons: Vec<String> = failures.into_iter().map(|(_, reason)| reason).collect();
    assert!(reasons.is_empty(), "{}", reasons.join("\n"));
}

#[test]
fn a_seed_is_always_the_same_program() {
    assert_eq!(program(3), program(3));
    assert_ne!(program(3), program(4));
}
