//! What only the prompt plan promises, in compiled programs: `tests/programs/prompt/`. Counts that saturate, structures that
//! die deep and in slices, statistics and leak checks that make sense.
//!
//! Order of destruction has its own test, `destruction.rs`; what hosts see of the plan stands in `cycle-detector/tests/suite/prompt/`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Output;

use tally_heap::plan::Plan;
use tally_heap::services::host_roots::RootIndex;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::tally_command::{describe, run, run_tally, source_tree};
use tally_tests::heap_under_test::HeapUnderTest;
use tally_tests::random_program::trial::SAVINGS;
use tally_tests::shape::Kind;
use tally_tests::tally_heap::TallyHeap;

const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];

fn program(name: &str) -> PathBuf {
    source_tree().join("tests/programs/prompt").join(name)
}

fn run_prompt(options: &[&str], name: &str, arguments: &[&str]) -> Output {
    let mut all: Vec<OsString> = ["run", "--plan", "refcount-prompt"].map(OsString::from).to_vec();
    all.extend(options.iter().map(OsString::from));
    all.extend([program(name).into(), OsString::from("--")]);
    all.extend(arguments.iter().map(OsString::from));
    run_tally(&all, &[])
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn prompt_heap() -> TallyHeap {
    TallyHeap::new(HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() })
}

fn object(address: u64) -> ObjectRef {
    // SAFETY: [HEADER] an object that the test holds in a root.
    unsafe { ObjectRef::from_address(address) }
}

/// scenario 137: a count that is written near its limit goes beyond it and back down, and stays where it is.
#[test]
fn a_count_that_saturates_never_wraps_and_never_frees() {
    for start in [i32::MAX as u32 - 500, i32::MAX as u32 - 1, 0xc000_0000, u32::MAX - 500, u32::MAX - 1] {
        let mut heap = prompt_heap();
        let leaf = heap.allocate(Kind::Leaf, 0).expect("room");
        heap.push_root(Some(leaf));
        let array = heap.allocate(Kind::Array, 1000).expect("room");
        heap.push_root(Some(array));
        let at = Kind::Array.slot_offset(0);
        object(leaf).set_exact_count(start);
        assert_eq!(heap.mutator.count_of(object(leaf)), start);
        heap.fill_refs(array, at, leaf, 1000);
        let high = heap.mutator.count_of(object(leaf));
        assert!(high > i32::MAX as u32 && high >= start, "{start:#x} and 1000 more are {high:#x}");
        for _ in 0..2000 {
            heap.fill_refs(array, at, 0, 1000);
            heap.fill_refs(array, at, leaf, 1000);
        }
        for index in 0..200_000 {
            heap.store(array, at + index % 1000 * 8, 0);
            heap.store(array, at + index % 1000 * 8, leaf);
        }
        heap.fill_refs(array, at, 0, 1000);
        assert!(heap.mutator.count_of(object(leaf)) > i32::MAX as u32, "a stuck count stays");
        heap.set_root(0, None);
        heap.poll();
        heap.epoch();
        assert!(heap.live_objects().contains(&leaf), "nothing is freed on the word of a stuck count ({start:#x})");
        assert_eq!(heap.mutator.collect(), 1, "the mark knows");
        assert_eq!(heap.mutator.root(RootIndex(1)), Some(object(array)));
    }
}

/// scenario 137: the same with the counting that compiled code does inline, and with the mark after it.
#[test]
fn compiled_counts_saturate_too() {
    let expected = "shared\n".repeat(301)
        + "1: counted, not less\na count that fits brings death: 1\n"
        + &(2..5).map(|id| "shared\n".repeat(301) + &format!("{id}: stuck, not less\n")).collect::<String>()
        + "one that does not, none: 0\na collection finds them: 9\n";
    for level in LEVELS {
        let output = run_prompt(&["--opt", level, "--leak-check"], "saturation.c", &[]);
        assert!(output.status.success() && text(&output) == expected, "--opt {level}: {}", describe(&output));
    }
}

/// Drops a long list in an executable with a small stack; statistics and what the program printed.
fn drop_list(arguments_of_program: &str, variables: &[(&str, &str)]) -> (serde_json::Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (executable, figures) = (folder.path().join("deep"), folder.path().join("deep.json"));
    let mut arguments: Vec<OsString> = ["build", "--plan", "refcount-prompt"].map(OsString::from).to_vec();
    arguments.extend([program("deep.c").into(), OsString::from("-o"), executable.clone().into()]);
    let built = run_tally(&arguments, &[]);
    assert!(built.status.success(), "{}", describe(&built));
    // Recursion over ten million nodes would take far more stack than this.
    let script = format!("ulimit -s 256 && exec {} {arguments_of_program}", executable.display());
    let figures_text = figures.display().to_string();
    let variables = [&[("TALLY_STATS", figures_text.as_str()), ("TALLY_LEAK_CHECK", "1")], variables].concat();
    let output = run(std::path::Path::new("sh"), &["-c", &script], &variables);
    assert!(output.status.success(), "{}", describe(&output));
    let read = std::fs::read_to_string(&figures).expect("the statistics were written");
    (serde_json::from_str(&read).expect("JSON"), text(&output))
}

/// Units of work of a slice, where a test counts them; a death takes one.
const UNITS: u64 = 20_000;

/// scenario 44: the program goes on while a list of ten million nodes dies behind it, and small structures still die at once
/// (the program looks). The gap that it measures on its own clock is printed, and not asserted; what a slice does is counted below.
#[test]
fn a_list_of_ten_million_nodes_dies_in_slices_under_a_pause_goal() {
    let (figures, said) = drop_list("10000000", &[("TALLY_PAUSE_GOAL", "1ms")]);
    println!(
        "under a pause goal of 1 ms: {said}longest slice {} us",
        figures["pause_ns_max"].as_u64().unwrap_or(0) / 1000
    );
    let slices = figures["slices"].as_u64().expect("a number");
    // How many depends on the machine's speed; a slower one makes more.
    assert!(slices >= 8, "ten million deaths in {slices} slices\n{figures}");
    assert_eq!(figures["live_objects"], 0, "{figures}");
}

/// scenario 44: the same in slices of so many units of work, which are as long on every machine. The program counts deaths between
/// two of its statements, which are three safepoints apart.
#[test]
fn what_dies_of_a_long_list_at_one_safepoint_is_bounded() {
    let units = UNITS.to_string();
    let (figures, said) = drop_list("10000000 counted", &[("TALLY_PAUSE_GOAL", "1ms"), ("TALLY_SLICE_UNITS", &units)]);
    let mut numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok());
    let (stops, deaths_max) = (numbers.next().expect("stops"), numbers.next().expect("deaths"));
    assert!(deaths_max <= 3 * UNITS, "{said}");
    assert!(stops >= 10_000_000 / (3 * UNITS), "{said}");
    assert_eq!(figures["live_objects"], 0, "{figures}");
}

/// scenario 44.
#[test]
fn a_list_of_ten_million_nodes_dies_at_once_without_a_pause_goal() {
    let (figures, said) = drop_list("10000000", &[]);
    println!("without a pause goal: {said}");
    assert_eq!(figures["slices"], 0, "{figures}");
    let objects = figures["allocated_objects"].as_u64().expect("a number");
    assert!(objects > 10_000_000 && figures["freed_objects"] == figures["allocated_objects"], "{figures}");
    assert_eq!((&figures["promoted_objects"], &figures["log_entries"]), (&0.into(), &0.into()), "{figures}");
    // One for the leak check, and two on the way, at 6 and 45 MiB, since so much might have been garbage: together they follow
    // fewer references than objects are allocated. [BOUND]
    assert!(figures["marks"].as_u64() <= Some(3), "three marks\n{figures}");
    assert!(figures["mark_units"].as_u64() < figures["allocated_objects"].as_u64(), "long marks\n{figures}");
}

/// scenario 151: what a global holds at the end is left, named by type; its destructor runs last, with the program's end.
#[test]
fn a_leak_check_lists_what_a_global_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("kept.c");
    std::fs::write(
        &place,
        "#include <stdio.h>\n#include <tally_gc.h>\ntypedef struct Kept { struct Kept *next; } Kept;\n\
         static void died(Kept *kept) { printf(\"died\\n\"); }\nTALLY_FINALIZED_TYPE(Kept, died, next);\nstatic Kept *global;\n\
         int main(void) {\n    Kept *lost = TALLY_NEW(Kept);\n    TALLY_ROOT(lost);\n    TALLY_WRITE_GLOBAL(global, TALLY_NEW(Kept));\n    \
         printf(\"end\\n\");\n}\n",
    )
    .expect("written");
    let arguments: [OsString; 5] =
        ["run".into(), "--plan".into(), "refcount-prompt".into(), "--leak-check".into(), place.into()];
    let output = run_tally(&arguments, &[]);
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(3), "end\ndied\ndied\n"), "{}", describe(&output));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("Kept") && message.contains('1'), "{message}");
}

/// A function read nearly literally drains in front of its return: a result that its root holds as well had its own
/// count before that drain, and a recount found one too many.
#[test]
fn a_result_gets_its_count_after_the_drain_at_the_return() {
    for saved in SAVINGS.iter().chain(&["owned-results"]) {
        let options = ["--opt", "1", "--save-counts", saved, "--zeal"];
        let output = run_prompt(&options, "root_returned.c", &[]);
        assert_eq!(
            (output.status.code(), text(&output).as_str()),
            (Some(0), "4901\n"),
            "{options:?}: {}",
            describe(&output)
        );
    }
}

/// A store through a root's address is counted at its frame's next safepoint; until then cycles are not judged without it.
#[test]
fn a_ring_that_only_an_address_taken_root_holds_survives_batches_and_rounds() {
    for level in LEVELS {
        let output = run_prompt(&["--opt", level], "address_taken_root.c", &[]);
        assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "42\n"), "{}", describe(&output));
    }
}

/// A loop that changes what a root holds after the code behind it was looked at.
#[test]
fn result_that_is_the_parameter_or_what_a_loop_made_is_the_right_one() {
    for level in LEVELS {
        let output = run_prompt(&["--opt", level, "--leak-check"], "parameter_or_new_object.c", &[]);
        let right = (output.status.code(), text(&output).as_str()) == (Some(0), "-1 1 2 2 1 2 \n");
        assert!(right, "--opt {level}: {}", describe(&output));
    }
}

/// The same of a root whose count would go to a field that gets another object.
#[test]
fn count_of_a_root_is_given_to_no_other_object_where_a_loop_changes_what_it_holds() {
    for level in LEVELS {
        let output = run_prompt(&["--opt", level, "--leak-check"], "content_that_a_loop_changes.c", &[]);
        let right = (output.status.code(), text(&output).as_str()) == (Some(0), "0 4 67 637 5770 1 3 1\n");
        assert!(right, "--opt {level}: {}", describe(&output));
    }
}

/// Roots that callees in the same module store to: each store is named to the runtime, and no drain walks the stack for their
/// sake. What a store replaces dies at the next statement that calls, however deep that is.
#[test]
fn out_parameters_cost_no_walks_of_a_deep_stack() {
    for level in LEVELS {
        // Frames are larger without optimisation.
        let depth = if level == "0" { "8000" } else { "32000" };
        for goal in [&[][..], &["--pause-goal", "1ms"]] {
            let options = [&["--opt", level, "--leak-check"], goal].concat();
            let output = run_prompt(&options, "out_parameters.c", &[depth]);
            assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "0\n"), "{}", describe(&output));
        }
    }
}

/// Frames that lend roots in ways that are not named to the runtime: to native code, by memory, to another module, tagged words
/// and structs. A drain walks the stack for them, but not each: all walks are in proportion to what the program does.
#[test]
fn drains_below_many_frames_that_lend_roots_walk_them_now_and_then() {
    for level in ["0", "2"] {
        for how in ["native", "memory", "module", "tagged", "aggregate"] {
            // Frames are larger without optimisation.
            for depth in ["1000", if level == "0" { "8000" } else { "32000" }] {
                // A drain that the goal cuts off leaves pending objects, and as many more are let go of before the next.
                for (goal, waiting) in [(&[][..], "4"), (&["--pause-goal", "1ms"], "8")] {
                    let options = [&["--opt", level, "--leak-check"], goal].concat();
                    let output = lending_frames(&options, &[how, depth, waiting]);
                    let right = (output.status.code(), text(&output).as_str()) == (Some(0), "0\n");
                    assert!(right, "--opt {level} {goal:?}, {how}, {depth}: {}", describe(&output));
                }
            }
        }
    }
}

/// The same where each safepoint of few frames recounts the heap.
#[test]
fn address_taken_roots_are_counted_as_they_should_in_zeal() {
    for how in ["native", "memory", "module", "tagged", "aggregate"] {
        let output = lending_frames(&["--opt", "2", "--zeal"], &[how, "50", "4"]);
        let right = (output.status.code(), text(&output).as_str()) == (Some(0), "0\n");
        assert!(right, "{how}: {}", describe(&output));
    }
}

fn lending_frames(options: &[&str], arguments: &[&str]) -> Output {
    let files =
        ["lending_frames.c", "lending_frames_module.c", "lending_frames_native.c"].map(|file| program(file).into());
    let mut all: Vec<OsString> = ["run", "--no-warnings", "--plan", "refcount-prompt"].map(OsString::from).to_vec();
    all.extend(options.iter().map(OsString::from));
    all.extend(files);
    all.extend(["--"].iter().chain(arguments).map(OsString::from));
    run_tally(&all, &[])
}

/// The same where each safepoint recounts the heap.
#[test]
fn out_parameters_are_counted_as_they_should_in_zeal() {
    for level in ["0", "2"] {
        let output = run_prompt(&["--opt", level, "--zeal"], "out_parameters.c", &["0"]);
        assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "0\n"), "{}", describe(&output));
    }
}

/// What a write takes out of the field that held it last, by way of a variable, an argument or another field: it dies where it would
/// die if each count were written out, in the same order, and a weak reference to it is null from then on.
#[test]
fn objects_that_a_write_takes_out_of_a_field_die_when_they_should() {
    let right = "variable: 1 kept, 1 \nargument: 2 seen, 2 \nfield: 3 held, 3 \nback: 4 there, \nmoved: kept, 4 \n\
                 dropped: 5 gone, \nchain: weakly there, 6 7 gone \norder: 1 2 1 first, \n\
                 result: 11 held, 12 kept, 12 11 gone\nindex: 14 13 held, 13 kept, 13 \njump: 10 \n0\n";
    for level in LEVELS {
        let goals = [&[][..], &["--pause-goal", "1ms"], &["--save-counts", "none"], &["--zeal"]];
        for options in goals.map(|more| [&["--opt", level], more].concat()) {
            let output = run_prompt(&options, "taken.c", &[]);
            assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), right), "{}", describe(&output));
        }
    }
}

/// Functions that only write, parameters that a caller's variable holds, and polls: objects die where they would if each variable counted at
/// once, at every level, whatever is saved.
#[test]
fn what_leaves_and_held_parameters_let_go_of_dies_when_it_should() {
    let right = "10 11 cleared 20 moved on 21 results 30 31 \n40 41 loop 50 51 held\n60 61 62 63 not held 70 lent\n\
                 80 81 walk 90 91 ways\n";
    let ways = LEVELS.iter().flat_map(|&level| {
        [&[][..], &["--pause-goal", "1ms"], &["--zeal"]].map(|more| [&["--opt", level], more].concat())
    });
    let choices = SAVINGS.iter().map(|saved| vec!["--opt", "2", "--save-counts", saved]);
    for way in ways.chain(choices) {
        let output = run_prompt(&[&way[..], &["--leak-check"]].concat(), "leaves.c", &[]);
        let said = (output.status.code(), text(&output));
        assert_eq!(said, (Some(0), right.to_owned()), "{}: {}", way.join(" "), describe(&output));
    }
}

/// A word that a write takes out of one object is no reference in an object of another type.
#[test]
fn what_looks_like_a_word_that_was_taken_and_is_no_reference_is_not_counted() {
    for level in LEVELS {
        for options in [&[][..], &["--save-counts", "none"], &["--zeal"]] {
            let output = run_prompt(&[&["--opt", level], options].concat(), "bytes_or_reference.c", &[]);
            assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "0 wrong\n"), "{}", describe(&output));
        }
    }
}

/// A word is read as the type of the object reads it that it is written to, whatever the types of the writing module do.
#[test]
fn words_are_counted_as_the_type_of_their_object_reads_them() {
    let files = ["words_of_other_types.c", "words_of_other_types_module.c"].map(|file| program(file).into());
    for level in LEVELS {
        for options in [&[][..], &["--pause-goal", "1ms"], &["--zeal"]] {
            let mut all: Vec<OsString> =
                ["run", "--plan", "refcount-prompt", "--opt", level].map(OsString::from).to_vec();
            all.extend(options.iter().map(OsString::from));
            all.extend(files.clone());
            let output = run_tally(&all, &[]);
            let right = (output.status.code(), text(&output).as_str()) == (Some(0), "right\n");
            assert!(right, "{level}: {}", describe(&output));
        }
    }
}

/// A root that takes the count of a field releases its object without a note, so the write notes it.
#[test]
fn old_rings_that_a_write_takes_out_of_a_field_are_found() {
    for level in LEVELS {
        let output = run_prompt(&["--opt", level], "taken.c", &["rings"]);
        assert_eq!(
            (output.status.code(), text(&output).as_str()),
            (Some(0), "rings: found\n0\n"),
            "{}",
            describe(&output)
        );
    }
}

fn local_variables(options: &[&str], how: &str) -> Output {
    let mut all: Vec<OsString> = ["run", "--plan", "refcount-prompt"].map(OsString::from).to_vec();
    all.extend(options.iter().map(OsString::from));
    let native = source_tree().join("frontend-glue/tests/hazards/native.c");
    all.extend([program("local_variables.c").into(), program("attempt.ll").into(), native.into()]);
    all.extend(["--", how].map(OsString::from));
    run_tally(&all, &[])
}

/// What a local variable lets go of is not noted; each judgement looks at the roots instead, and no ring is lost to them.
#[test]
fn rings_that_local_variables_held_last_die_however_they_came_to_be_dropped() {
    for how in ["rounds", "lent", "passed", "returned", "thrown", "young", "structure"] {
        for level in ["0", "2"] {
            let output = local_variables(&["--opt", level], how);
            assert_eq!(
                (output.status.code(), text(&output).as_str()),
                (Some(0), "40\n"),
                "{how}: {}",
                describe(&output)
            );
        }
    }
}

/// Forty thousand frames under a program that allocates 50 MiB: a walk at each batch would be four million frames.
#[test]
fn a_deep_stack_is_walked_seldom() {
    for level in ["0", "2"] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("deep.json");
        let stats = format!("--stats={}", place.display());
        let output = local_variables(&["--opt", level, &stats], "recurse");
        assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "40001\n"), "{}", describe(&output));
        let read = std::fs::read_to_string(&place).expect("the statistics were written");
        let figures: serde_json::Value = serde_json::from_str(&read).expect("JSON");
        let walked = figures["frames_walked"].as_u64().expect("a number");
        assert!(walked > 40_000, "the stack was looked at");
        assert!(walked < 1_000_000, "{walked} frames walked for 1.7 million allocations");
        assert_eq!(figures["marks"], 0, "what roots hold is no evidence\n{read}");
    }
}

/// Loops of writes put their counts off: what dies, when, and in which order is what a model of the program says, at every level.
#[test]
fn writes_whose_counts_are_put_off_let_objects_die_when_they_should() {
    let ways = LEVELS.iter().map(|&level| vec!["--opt", level]);
    let choices = SAVINGS.iter().map(|saved| vec!["--opt", "2", "--save-counts", saved]);
    for way in ways.chain(choices) {
        let output = run_prompt(&[&way[..], &["--leak-check"]].concat(), "put_off.c", &[]);
        let said = (output.status.code(), text(&output));
        assert_eq!(said, (Some(0), "right\n".to_owned()), "{}: {}", way.join(" "), describe(&output));
    }
}

/// Variables that are tagged words or NaN boxes are counted as others are, at every level, whatever is saved, and under zeal.
#[test]
fn objects_that_tagged_variables_hold_die_when_they_should() {
    let ways = LEVELS.iter().map(|&level| vec!["--opt", level]);
    let choices = SAVINGS.iter().map(|saved| vec!["--opt", "2", "--save-counts", saved]);
    let zeal = LEVELS.iter().map(|&level| vec!["--zeal", "--opt", level]);
    for way in ways.chain(choices).chain(zeal) {
        let output = run_prompt(&[&way[..], &["--leak-check"]].concat(), "tagged_roots.c", &[]);
        let said = (output.status.code(), text(&output));
        assert_eq!(said, (Some(0), "right\n".to_owned()), "{}: {}", way.join(" "), describe(&output));
    }
}

/// scenario 36: rings under the prompt plan: what the statistics say must fit together.
#[test]
fn statistics_of_the_prompt_plan_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("rings.json");
    let option = format!("--stats={}", place.display());
    let output = run_tally(&["run", "--plan", "refcount-prompt", "--leak-check", &option, "examples/rings.c"], &[]);
    assert!(output.status.success(), "{}", describe(&output));
    let read = std::fs::read_to_string(&place).expect("the statistics were written");
    let figures: serde_json::Value = serde_json::from_str(&read).expect("JSON");
    let figure = |key: &str| figures[key].as_u64().unwrap_or_else(|| panic!("`{key}` is no number in\n{read}"));
    for key in [
        "epochs",
        "candidates",
        "trial_runs",
        "trial_edges",
        "cyclic_garbage_objects",
        "allocated_bytes",
        "pause_ns_max",
    ] {
        assert!(figure(key) > 0, "rings.c should have some `{key}`\n{read}");
    }
    assert!(figure("trial_edges") >= figure("trial_runs"), "{read}");
    assert_eq!((figure("allocated_objects"), 0), (figure("freed_objects"), figure("live_objects")), "{read}");
    for key in ["promoted_objects", "died_young_objects", "log_entries", "blocks_logged"] {
        assert_eq!(figure(key), 0, "`{key}` is of the deferred plan\n{read}");
    }
}

/// The collection runs when the drain that called the finalizer has ended, in front of a call whose argument is in no root.
#[test]
fn argument_in_flight_outlives_a_collection_that_a_finalizer_asks_for() {
    let expected = "died\n".repeat(5) + "10\n";
    for options in LEVELS.map(|level| vec!["--opt", level, "--leak-check"]).into_iter().chain([vec!["--zeal"]]) {
        let output = run_prompt(&options, "finalizer_collects.c", &[]);
        assert!(output.status.success() && text(&output) == expected, "{options:?}: {}", describe(&output));
    }
}

/// Their counts tell nothing, so a mark in slices takes them for alive: every second mark stops the world where they are many.
#[test]
fn objects_of_frames_that_jumps_left_die_with_a_pause_goal_too() {
    for level in ["0", "2"] {
        for options in [&[][..], &["--pause-goal", "200us"], &["--pause-goal", "200us", "--epoch-bytes", "1MiB"]] {
            let output = run_prompt(&[&["--opt", level], options].concat(), "frames_left_by_jumps.c", &[]);
            assert!(output.status.success() && text(&output) == "few\n", "{level} {options:?}: {}", describe(&output));
        }
    }
}
