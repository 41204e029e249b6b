//! Random op programs against the real heap: the share of the oracle that runs with every `cargo test`.
//!
//! A failure prints its seed and a shrunk program. The seed is always the same, so that a failure is that of the change at
//! hand; `TALLY_SEED=n` runs the programs of another, `TALLY_SEED=random` programs that were never run before, and so does
//! `cargo xtask soak --seed random` for as long as one likes. A failure that ends the process leaves its program in the journal
//! (`tests/src/journal.rs`).

use tally_kit::seed;
use tally_tests::setup::{Setup, check_series};

fn property(setup: &str, programs: u64, ops_max: usize) {
    let setup = Setup::named(setup).expect("a setup of that name");
    let total = check_series(&setup, seed::of_the_run(1), programs, ops_max);
    let ops = programs * ops_max as u64;
    assert!(total.objects > ops / 20, "the programs did too little: {total:?}");
    assert!(
        total.comparisons > 2 * programs && total.objects_compared > ops / 20,
        "too little was compared: {total:?}"
    );
    let services = [total.finalized, total.called, total.upgraded];
    // Seeds may be fresh. Sixty programs without trials call about ten callbacks, so the limit is well below that.
    assert!(ops_max < 1000 || services.iter().all(|count| *count > 2), "services were not asked for: {total:?}");
}

/// scenario 157.
#[test]
fn default_heap_agrees_with_the_model() {
    property("default", 60, 1500);
}

/// scenario 157.
#[test]
fn slices_agree_with_the_model() {
    property("sliced", 120, 1500);
}

#[test]
fn slices_of_five_units_agree_with_the_model() {
    property("tiny-slices", 60, 1500);
}

#[test]
fn mark_in_every_epoch_agrees_with_the_model() {
    property("eager-marks", 60, 1500);
}

#[test]
fn mark_without_trials_agrees_with_the_model() {
    property("marks-without-trials", 60, 1500);
}

#[test]
fn stop_the_world_agrees_with_the_model() {
    property("stop-the-world", 60, 1500);
}

#[test]
fn heap_without_trials_agrees_with_the_model() {
    property("without-trials", 60, 1500);
}

#[test]
fn blocks_logged_as_a_whole_agree_with_the_model() {
    property("whole-blocks-logged", 60, 1500);
}

#[test]
fn mark_beside_whole_blocks_logged_agrees_with_the_model() {
    property("marks-and-whole-blocks-logged", 60, 1500);
}

#[test]
fn nearly_full_heap_agrees_with_the_model() {
    property("small-heap", 60, 1500);
}

#[test]
fn zeal_agrees_with_the_model() {
    property("zeal", 60, 60);
}

/// scenario 157.
#[test]
fn prompt_heap_agrees_with_the_model() {
    property("prompt", 60, 1500);
}

/// The live set is what exact counting leaves, at every poll.
#[test]
fn prompt_heap_without_trials_frees_at_every_poll_what_counting_frees_and_nothing_else() {
    property("prompt-without-trials", 60, 1500);
}

#[test]
fn prompt_marks_in_every_round_agree_with_the_model() {
    property("prompt-marks", 60, 1500);
}

#[test]
fn prompt_marks_without_trials_agree_with_the_model() {
    property("prompt-marks-without-trials", 60, 1500);
}

#[test]
fn prompt_marks_in_slices_agree_with_the_model() {
    property("prompt-marks-sliced", 60, 1500);
}

#[test]
fn prompt_drains_of_seven_units_agree_with_the_model() {
    property("prompt-slices", 60, 1500);
}

#[test]
fn prompt_drains_by_the_clock_agree_with_the_model() {
    property("prompt-pause-goal", 60, 1500);
}

#[test]
fn nearly_full_prompt_heap_agrees_with_the_model() {
    property("prompt-small-heap", 60, 1500);
}

#[test]
fn prompt_zeal_agrees_with_the_model() {
    property("prompt-zeal", 60, 60);
}
