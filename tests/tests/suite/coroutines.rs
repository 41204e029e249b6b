//! Coroutines in whole programs: `tests/programs/coroutines/`, each under all plans, at every level, with the leak check and
//! with a pause goal, built, and under zeal. Each prints the same wherever it runs, `.txt` beside it. How stacks meet native code,
//! exceptions, threads and the end of the process is in `frontend-glue/tests/suite/boundaries/coroutines.rs`.

use std::path::PathBuf;
use std::process::Output;
use tally_kit::tally_command::{describe, run, run_tally, source_tree};

const PLANS: [&str; 3] = ["refcount", "refcount-prompt", "trace"];
const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];

fn program(name: &str) -> PathBuf {
    source_tree().join("tests/programs/coroutines").join(name).with_extension("c")
}

fn check(output: &Output, name: &str, how: &str) {
    let place = program(name).with_extension("txt");
    let expected = std::fs::read_to_string(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said == expected, "{name}, {how}: {}", describe(output));
}

/// Runs a program with these options, and these arguments of its own.
fn runs(name: &str, options: &[&str], arguments: &[&str]) {
    let file = program(name);
    let file = file.to_str().expect("a path in UTF-8");
    let words = [&["run", "--no-warnings"][..], options, &[file, "--"], arguments].concat();
    check(&run_tally(&words, &[]), name, &format!("{options:?}"));
}

/// All ways but zeal.
fn as_users_do(name: &str, arguments: &[&str]) {
    for plan in PLANS {
        for level in LEVELS {
            runs(name, &["--plan", plan, "--opt", level, "--leak-check", "--epoch-bytes", "64KiB"], arguments);
        }
        runs(name, &["--plan", plan, "--leak-check", "--pause-goal", "200us"], arguments);
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("program");
        let (file, to) = (program(name), executable.to_str().expect("a path in UTF-8"));
        let file = file.to_str().expect("a path in UTF-8");
        let built = run_tally(&["build", "--plan", plan, file, "-o", to], &[]);
        assert!(built.status.success(), "{}", describe(&built));
        check(&run(&executable, arguments, &[("TALLY_LEAK_CHECK", "1")]), name, &format!("built, {plan}"));
    }
}

fn under_zeal(name: &str, arguments: &[&str]) {
    for plan in PLANS {
        for level in ["0", "2"] {
            runs(name, &["--plan", plan, "--opt", level, "--zeal"], arguments);
        }
    }
}

/// scenarios 111, 113, 115, 116: objects that only frames of a stopped stack hold live while something refers to the stack, and die with it: plain roots, tagged
/// ones, structs, roots whose address was passed on.
#[test]
fn objects_live_and_die_with_the_stack_whose_frames_hold_them() {
    as_users_do("held_by_frames", &[]);
    under_zeal("held_by_frames", &[]);
}

/// A function stores to a variable of several words of its caller, through its address, and leaves the stack: each word holds what it got.
#[test]
fn what_was_stored_through_an_address_before_a_switch_lives_behind_it() {
    as_users_do("stored_before_a_switch", &[]);
    under_zeal("stored_before_a_switch", &[]);
}

/// scenarios 109, 110, 112, 114, 117, 118: object to stack to frame to object.
#[test]
fn cycles_through_stopped_stacks_are_found() {
    as_users_do("cycles", &[]);
    under_zeal("cycles", &[]);
}

/// What the frames of a dropped stack alone have held dies at the next safepoint, in the order of the program.
#[test]
fn frames_of_a_dropped_stack_are_released_at_once_under_the_prompt_plan() {
    for level in LEVELS {
        runs("dropped_at_once", &["--plan", "refcount-prompt", "--opt", level, "--leak-check"], &[]);
    }
    for savings in ["none", "moves", "lazy-roots", "last-use", "held-parameters"] {
        runs("dropped_at_once", &["--plan", "refcount-prompt", "--save-counts", savings, "--leak-check"], &[]);
    }
    runs("dropped_at_once", &["--plan", "refcount-prompt", "--zeal"], &[]);
}

/// A search for what keeps an object alive goes through the frames of stacks that do not run.
#[test]
fn objects_of_stopped_stacks_say_why_they_are_alive() {
    as_users_do("why_alive", &[]);
    under_zeal("why_alive", &[]);
}

/// Stacks are made, left, dropped, closed and linked at random, at any depth of frames.
#[test]
fn random_switches_and_kills() {
    for plan in PLANS {
        for (level, seed) in [("0", "1"), ("2", "2"), ("3", "3")] {
            runs("random", &["--plan", plan, "--opt", level, "--zeal"], &[seed, "1200"]);
            runs(
                "random",
                &["--plan", plan, "--opt", level, "--leak-check", "--pause-goal", "200us"],
                &[seed, "20000"],
            );
        }
    }
}

/// A million, for an idle machine.
#[test]
#[ignore = "takes a minute"]
fn random_switches_and_kills_a_million_times() {
    for plan in PLANS {
        for level in LEVELS {
            runs("random", &["--plan", plan, "--opt", level, "--leak-check"], &["7", "1000000"]);
        }
    }
}

/// A hundred thousand stacks sleep at once, in 8 KiB each; as many as mappings allow where the kernel has no guards in page tables.
#[test]
fn a_hundred_thousand_stacks_sleep() {
    let stacks = if has_guards_without_mappings() { "100000" } else { "20000" };
    for plan in PLANS {
        runs("hundred_thousand", &["--plan", plan, "--leak-check"], &[stacks]);
    }
}

/// Their stacks were no reason to collect: 200 MB, and stops of 100 ms.
#[test]
fn stacks_that_are_left_behind_come_back() {
    for plan in PLANS {
        runs("left_behind", &["--plan", plan, "--leak-check"], &[]);
    }
}

/// The program got null, though all stacks but one were garbage.
#[test]
fn stacks_of_dead_coroutines_come_back_before_another_is_refused() {
    for plan in PLANS {
        runs("no_room_for_stacks", &["--plan", plan, "--leak-check"], &[]);
    }
}

/// Each collection laid down what frames hold in a block beyond the limit, and the program went on in that block.
#[test]
fn a_coroutine_that_stops_often_keeps_to_the_heap_limit() {
    as_users_do("heap_limit", &[]);
}

/// The program ended, though null is promised.
#[test]
fn coroutine_for_which_a_limited_heap_has_no_room_is_null() {
    as_users_do("null_at_the_limit", &[]);
}

/// Whether the kernel is Linux 6.13 or newer, whose `MADV_GUARD_INSTALL` splits no mapping.
fn has_guards_without_mappings() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux says its release");
    let mut numbers =
        release.split(|letter: char| !letter.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(13))
}
