//! What hosts ask of Tally, from compiled programs: `tests/programs/services/`, each run under all plans at two
//! levels (at every level with `TALLY_EVERY_WAY`), with the leak check, built, and under zeal. Each prints the same wherever it runs, `.txt` beside it.
//!
//! The same services from Rust, in more situations: `cycle-detector/tests/`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tally_kit::tally_command::{describe, run, run_tally, source_tree};
use tally_kit::ways::{every_way, turn_of};

const PLANS: [&str; 3] = ["refcount", "refcount-prompt", "trace"];

fn program(name: &str) -> PathBuf {
    source_tree().join("tests/programs/services").join(name)
}

fn expected(name: &str) -> String {
    let place = program(name).with_extension("txt");
    std::fs::read_to_string(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()))
}

fn check(output: &std::process::Output, name: &str, how: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said == expected(name), "{name}, {how}: {}", describe(output));
}

/// Runs a program in every way and compares what it prints.
fn in_every_way(name: &str) {
    as_users_do(name);
    for plan in PLANS {
        let zeal = ["run", "--plan", plan, "--zeal"].map(OsString::from);
        check(&run_tally(&[zeal.to_vec(), vec![program(name).into()]].concat(), &[]), name, &format!("zeal, {plan}"));
    }
}

/// Those of one plan: without optimisation, and another by turns.
fn levels(turn: usize) -> Vec<&'static str> {
    let optimised = ["1", "2", "3", "s"];
    if every_way() { [&["0"], &optimised[..]].concat() } else { vec!["0", optimised[turn % optimised.len()]] }
}

/// The same without zeal, which keeps all memory.
fn as_users_do(name: &str) {
    for (place, plan) in PLANS.into_iter().enumerate() {
        for level in levels(turn_of(name) + place) {
            let options = ["run", "--plan", plan, "--opt", level, "--leak-check"].map(OsString::from);
            let all = [options.to_vec(), vec![program(name).into()]].concat();
            check(&run_tally(&all, &[]), name, &format!("--plan {plan} --opt {level}"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("program");
        let built = build(name, plan, &executable);
        assert!(built.status.success(), "{}", describe(&built));
        let ran = run::<&str>(&executable, &[], &[("TALLY_LEAK_CHECK", "1")]);
        check(&ran, name, &format!("built, {plan}"));
    }
}

fn build(name: &str, plan: &str, executable: &Path) -> std::process::Output {
    let mut arguments: Vec<OsString> = ["build", "--plan", plan].map(OsString::from).to_vec();
    arguments.extend([program(name).into(), OsString::from("-o"), executable.into()]);
    run_tally(&arguments, &[])
}

/// Under the prompt plan the second of two marks took what waited for its finalizers as alive: 600 MB, and more with each round.
#[test]
fn finalizers_that_allocate_leave_no_garbage_behind() {
    for plan in PLANS {
        for setting in [&[][..], &["--epoch-bytes", "256KiB"]] {
            let options = [&["run", "--plan", plan, "--leak-check"], setting].concat();
            let all = options.iter().map(OsString::from).chain([program("finalizers_that_allocate.c").into()]);
            let output = run_tally(&all.collect::<Vec<_>>(), &[]);
            check(&output, "finalizers_that_allocate.c", &format!("{options:?}"));
        }
    }
}

/// Where the heap counted, each flip came before the deaths of the last had ended, and the set that finalizers wait for was never complete.
#[test]
fn finalizers_run_where_a_program_lets_go_of_as_much_as_it_makes() {
    for plan in PLANS {
        for setting in [&[][..], &[("TALLY_TRACING", "0")], &[("TALLY_EPOCH_BYTES", "1MiB")]] {
            let name = "finalizers_of_a_ring.c";
            let arguments = ["run", "--plan", plan, "--leak-check"].map(OsString::from);
            let output = run_tally(&[arguments.to_vec(), vec![program(name).into()]].concat(), setting);
            check(&output, name, &format!("--plan {plan}, {setting:?}"));
        }
    }
}

/// Under the prompt plan each step put all in order that still waited: minutes.
#[test]
fn finalizers_run_in_steps_in_the_order_of_their_types() {
    as_users_do("finalizers_in_steps.c");
}

#[test]
fn a_program_interns_texts_in_a_weak_set() {
    in_every_way("weak_set.c");
}

/// Heaps that mark, that count and that trace, beside objects that live.
#[test]
fn lists_of_owners_are_finalized_from_the_first_to_the_last() {
    in_every_way("lists_of_owners.c");
}

/// Of 4,095 there may be at a time.
#[test]
fn a_program_makes_weak_sets_without_end() {
    in_every_way("many_weak_sets.c");
}

/// As Lua's: in fields, arrays, nodes and roots, the tag a byte behind the word.
#[test]
fn a_program_keeps_values_of_a_tag_and_a_word() {
    in_every_way("pairs.c");
}

/// Numbers over references and the other way round, the same over itself, in fresh objects and those of other types. Under the prompt
/// plan objects die without a collection, so a count that is wrong by one shows.
#[test]
fn objects_in_pairs_die_when_their_last_pair_is_overwritten() {
    in_every_way("pair_writes.c");
    and_at_once("pair_writes.c");
}

/// The same of roots: pairs, structs of pairs and of references, by name and by address, few words and many.
#[test]
fn objects_in_roots_of_several_words_die_when_their_last_root_lets_go_of_them() {
    in_every_way("root_writes.c");
    and_at_once("root_writes.c");
}

/// Upvalues, nodes of a table and closures: references of both kinds in one object, in elements and in roots.
#[test]
fn a_program_keeps_plain_references_beside_values_with_tags() {
    in_every_way("mixed_fields.c");
    and_at_once("mixed_fields.c");
}

/// Under the prompt plan, where objects die without a collection.
fn and_at_once(name: &str) {
    for how in ["--opt=0", "--opt=1", "--opt=2", "--opt=3", "--zeal"] {
        let options = ["run", "--plan", "refcount-prompt", how].map(OsString::from).to_vec();
        let ran = run_tally(&[options, vec![program(name).into()]].concat(), &[("AT_ONCE", "1")]);
        check(&ran, name, &format!("at once, {how}"));
    }
}

/// By the position of a key's entry.
#[test]
fn a_program_walks_a_weak_map_from_key_to_key() {
    in_every_way("weak_map_walk.c");
}

/// And as C++, without a warning: every macro of `tally_gc.h`.
#[test]
fn a_program_uses_every_macro_in_c_and_in_cpp() {
    in_every_way("every_macro.c");
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("every_macro.cpp");
    std::fs::copy(program("every_macro.c"), &copy).expect("a copy");
    for (plan, edition) in PLANS.into_iter().flat_map(|plan| [(plan, "-std=c++17"), (plan, "-std=c++20")]) {
        let options = ["run", "--plan", plan, edition, "-Wall", "-Wextra", "-Werror"].map(OsString::from).to_vec();
        let ran = run_tally(&[options, vec![copy.clone().into()]].concat(), &[]);
        check(&ran, "every_macro.c", &format!("C++, {plan}, {edition}"));
    }
}

/// As at the end of the program, and nothing of it is done again there.
#[test]
fn a_program_that_goes_on_runs_all_finalizers() {
    in_every_way("finalize_all.c");
}

/// Lists, nodes and texts of a table grow, are placed anew, and shrink.
#[test]
fn a_program_resizes_the_storage_of_its_tables() {
    in_every_way("resize.c");
}

/// By stores that the lowering makes of the calls, and by the function.
#[test]
fn a_program_writes_to_an_open_stack() {
    for (plan, how) in PLANS.into_iter().flat_map(|plan| [(plan, "--opt=0"), (plan, "--opt=2"), (plan, "--zeal")]) {
        let options = ["run", "--leak-check", "--plan", plan, how].map(OsString::from).to_vec();
        let ran = run_tally(&[options, vec![program("open_object.c").into()]].concat(), &[]);
        check(&ran, "open_object.c", &format!("{plan}, {how}"));
    }
}

/// Names of fields and lines of roots are there, since the program asks.
#[test]
fn a_program_asks_why_its_objects_are_alive() {
    in_every_way("why_alive.c");
}

/// By the option and by the variable; an executable that was built with `--names` has the names of fields, too.
#[test]
fn at_exit_paths_lead_to_the_objects_of_a_type() {
    for plan in PLANS {
        let options = ["run", "--plan", plan, "--why", "Node"].map(OsString::from);
        let all = [options.to_vec(), vec![program("why_alive_at_exit.c").into()]].concat();
        let ran = run_tally(&all, &[]);
        let said = without_addresses(&String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success() && said == expected("why_alive_at_exit.c"), "{plan}: {}", describe(&ran));
        let folder = tempfile::tempdir().expect("a folder");
        for (names, field) in [(false, "byte 0"), (true, "newest")] {
            let executable = folder.path().join("program");
            let mut arguments = ["build", "--plan", plan].map(OsString::from).to_vec();
            arguments.extend(names.then(|| OsString::from("--names")));
            arguments.extend([program("why_alive_at_exit.c").into(), OsString::from("-o"), executable.clone().into()]);
            let built = run_tally(&arguments, &[]);
            assert!(built.status.success(), "{}", describe(&built));
            let ran = run::<&str>(&executable, &[], &[("TALLY_WHY", "Node")]);
            let said = without_addresses(&String::from_utf8_lossy(&ran.stderr));
            let wanted = expected("why_alive_at_exit.c").replace("newest", field);
            assert!(ran.status.success() && said == wanted, "{plan}, names {names}: {}", describe(&ran));
            let none = run::<&str>(&executable, &[], &[("TALLY_WHY", "Nodes")]);
            assert_eq!(String::from_utf8_lossy(&none.stderr), "tally: no `Nodes` is reachable at exit\n", "{plan}");
        }
    }
}

/// At two levels, built, and under zeal: sites name the functions that the programmer wrote, whatever was inlined.
#[test]
fn a_program_asks_where_its_objects_were_allocated() {
    for plan in PLANS {
        for how in ["--opt=0", "--opt=2", "--zeal"] {
            let options = ["run", "--plan", plan, how].map(OsString::from).to_vec();
            let ran = run_tally(&[options, vec![program("alloc_sites.c").into()]].concat(), &[]);
            check(&ran, "alloc_sites.c", &format!("{plan}, {how}"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("program");
        let built = build("alloc_sites.c", plan, &executable);
        assert!(built.status.success(), "{}", describe(&built));
        check(&run::<&str>(&executable, &[], &[]), "alloc_sites.c", &format!("built, {plan}"));
    }
}

/// By the option and by the variable: in the leak report, in the statistics, behind a path, and in the message about a dead object. An executable
/// without names says what it knows.
#[test]
fn reports_say_where_objects_were_allocated() {
    let leaking = PathBuf::from("tests/programs/services/why_alive_at_exit.c");
    for plan in PLANS {
        let options = ["run", "--plan", plan, "--leak-check", "--alloc-sites=all", "--stats", "--why", "Cache"];
        let ran = run_tally(&[options.map(OsString::from).to_vec(), vec![leaking.clone().into()]].concat(), &[]);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{plan}: {said}");
        let file = "tests/programs/services/why_alive_at_exit.c";
        for wanted in [
            format!("\n  allocated:\n        1000 Node (32000 bytes) in `main` at {file}:22\n"),
            format!("\n           1 Cache (16 bytes) in `main` at {file}:27\n"),
            format!(
                "tally: alloc site in `main` at {file}:22: Node, 1000 live objects, 32000 live bytes, 32000 allocated bytes\n"
            ),
            format!("\n    allocated in `main` at {file}:27\n"),
        ] {
            assert!(said.contains(&wanted), "{plan}: `{wanted}` in {said}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let executable = folder.path().join("program");
    let figures = folder.path().join("stats.json");
    let stats = figures.to_str().expect("a path in UTF-8");
    let variables = [("TALLY_ALLOC_SITES", "all"), ("TALLY_LEAK_CHECK", "1"), ("TALLY_STATS", stats)];
    for (names, function) in [(true, "`main` at "), (false, "`main`")] {
        let mut arguments =
            vec![OsString::from("build"), leaking.clone().into(), "-o".into(), executable.clone().into()];
        arguments.extend(names.then(|| OsString::from("--names")));
        assert!(run_tally(&arguments, &[]).status.success());
        let ran = run::<&str>(&executable, &[], &variables);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(said.contains(&format!("1000 Node (32000 bytes) in {function}")), "{names}: {said}");
        let json = std::fs::read_to_string(&figures).expect("statistics");
        assert!(json.contains("\"alloc_sites\": [{\"places\": [{\"function\": "), "{json}");
        assert!(json.contains("\"type\": \"Node\", \"live_objects\": 1000, \"live_bytes\": 32000, "), "{json}");
    }
    let wrong = source_tree().join("examples/wrong/forgotten_root.c");
    let ran = run_tally::<OsString>(&["run".into(), "--zeal".into(), "--alloc-sites".into(), wrong.into()], &[]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(5) && said.contains("\n    allocated in `link_pair` at "), "{said}");
    assert!(said.contains(", called from `main` at "), "{said}");
}

/// A line for each end of what frees objects, by the option, by the variable, and as long as the program asks for it.
#[test]
fn each_collection_is_logged_in_a_line() {
    let rings = source_tree().join("examples/rings.c");
    for (plan, kinds) in [("refcount", "collection epoch"), ("refcount-prompt", "round mark"), ("trace", "collection")]
    {
        let options = ["run", "--plan", plan, "--epoch-bytes", "256KiB"].map(OsString::from);
        let with = |option: &str| [options.to_vec(), vec![option.into(), rings.clone().into()]].concat();
        let logged = run_tally(&with("--log=collections"), &[]);
        let said = String::from_utf8_lossy(&logged.stderr).into_owned();
        assert!(logged.status.success() && said.lines().count() > 3, "{plan}: {}", describe(&logged));
        let mut freed = 0;
        for line in said.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(
                kinds.contains(words[1]) && words[3] == "at" && words[7] == "MiB" && words[12] == "objects",
                "{line}"
            );
            assert!(line.ends_with(" ms in all") && line.contains(" live; ") && line.contains("stop"), "{line}");
            freed += words[11].parse::<u64>().expect("a number");
        }
        assert!(freed > 1000, "{plan}: {said}");
        let quiet = run_tally(&with("--no-warnings"), &[]);
        assert!(quiet.status.success() && quiet.stderr.is_empty(), "{plan}: {}", describe(&quiet));
        let variable = run_tally(&with("--no-warnings"), &[("TALLY_LOG", "collections")]);
        assert!(!variable.stderr.is_empty() && variable.stdout == quiet.stdout, "{plan}: {}", describe(&variable));
    }
}

/// Under each plan, by the option and by the variable: what closes the cycles, and not what hangs on them.
#[test]
fn fields_that_close_collected_cycles_are_told_at_exit() {
    for plan in PLANS {
        let with = |option: &str| ["run", "--plan", plan, option].map(OsString::from).to_vec();
        let run = |options: Vec<OsString>, variables: &[(&str, &str)]| {
            let ran = run_tally(&[options, vec![program("cycles.c").into()]].concat(), variables);
            assert!(ran.status.success(), "{plan}: {}", describe(&ran));
            String::from_utf8_lossy(&ran.stderr).into_owned()
        };
        let said = run(with("--log=cycles"), &[]);
        let lines: Vec<(u64, &str)> = said
            .lines()
            .skip(1)
            .map(|line| line.split_once(" x ").expect("a cycle"))
            .map(|(times, path)| (times.trim().parse().expect("a number"), path))
            .collect();
        assert!(said.starts_with("tally: cycles that were collected, of "), "{plan}: {said}");
        assert_eq!(lines[0].1, "Parent.children -> Children.at[] -> Child.parent", "{plan}: {said}");
        assert!((30..=60 * 3).contains(&lines[0].0), "{plan}: {said}");
        assert_eq!(
            lines[1..].iter().map(|line| line.1).collect::<Vec<_>>(),
            ["Ring.next -> Ring.before"],
            "{plan}: {said}"
        );
        let with_both = run(with("--no-warnings"), &[("TALLY_LOG", "cycles,collections")]);
        assert!(with_both.contains("Parent.") && with_both.contains(" live; "), "{plan}: {with_both}");
        assert_eq!(run(with("--no-warnings"), &[]), "", "{plan}");
    }
}

/// Where the option is not given, by the program's own switch; names of fields are there, since the program asks.
#[test]
fn a_program_asks_which_fields_close_cycles() {
    in_every_way("cycle_report.c");
}

/// Addresses differ between plans.
fn without_addresses(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("0x") {
        Some((before, after)) => {
            let end = after.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(after.len());
            format!("{before}…{}\n", &after[end..])
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// scenarios 36, 39, 40, 151, 152
#[test]
fn a_program_controls_its_collector_and_looks_into_its_heap() {
    in_every_way("control.c");
}

/// scenario 43
#[test]
fn objects_own_things_outside_and_some_never_die() {
    in_every_way("outside.c");
}

#[test]
fn counts_of_frames_that_a_jump_skips_are_no_fault() {
    in_every_way("jump_over_roots.c");
}

/// Finalizers and callbacks do what the program does, between any two of its steps.
#[test]
fn all_services_at_once_in_random_order_agree() {
    in_every_way("mixture.c");
}

/// Nothing that the runtime had in hand is lost or forgotten.
#[test]
fn longjmp_leaves_finalizers_and_callbacks_and_the_others_go_on() {
    in_every_way("jumps.c");
}

/// There is always one left: no leak check.
#[test]
fn functions_that_a_jump_leaves_hold_nothing_for_good_and_a_switch_may_follow() {
    in_every_way("left_by_jumps.c");
}

#[test]
fn finalizers_step_to_the_end_and_allocate_beside_what_is_dying() {
    as_users_do("inside_finalizers.c");
}

#[test]
fn finalizers_that_make_others_without_end_do_not_keep_the_program_from_going_on() {
    let name = "endless.c";
    for plan in PLANS {
        for more in [&["--opt", "0"][..], &["--opt", "3"], &["--pause-goal", "1ms"], &["--zeal"]] {
            let options = [&["run", "--plan", plan][..], more].concat();
            let all: Vec<OsString> = options.iter().map(OsString::from).chain([program(name).into()]).collect();
            check(&run_tally(&all, &[]), name, &format!("{options:?}"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("program");
        let built = build(name, plan, &executable);
        assert!(built.status.success(), "{}", describe(&built));
        check(&run::<&str>(&executable, &[], &[]), name, &format!("built, {plan}"));
    }
}

/// scenarios 143, 144, 145
#[test]
fn a_program_runs_out_of_memory_and_goes_on() {
    as_users_do("memory.c");
}

/// scenario 122
#[test]
fn a_failure_at_any_allocation_of_a_program_changes_nothing_that_it_has_made() {
    let name = "failing_allocation.c";
    in_every_way(name);
    for plan in PLANS {
        let folder = tempfile::tempdir().expect("a folder");
        let executable = folder.path().join("program");
        let built = build(name, plan, &executable);
        assert!(built.status.success(), "{}", describe(&built));
        for number in 1..=90 {
            let number = number.to_string();
            for variable in ["TALLY_LEAK_CHECK", "TALLY_ZEAL"] {
                let variables = [("TALLY_FAIL_ALLOCATION", number.as_str()), (variable, "1")];
                let ran = run::<&str>(&executable, &[], &variables);
                check(&ran, name, &format!("{plan}, {variable}, allocation {number} fails"));
            }
        }
    }
}

/// Without a handler, and without asking for null, the program ends, and says why.
#[test]
fn an_allocation_that_fails_as_asked_ends_a_program_that_expects_none_to() {
    for plan in PLANS {
        let options = ["run", "--plan", plan, "--fail-allocation", "3", "examples/rings.c"];
        let output = run_tally(&options, &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{}", describe(&output));
        assert!(said.contains("fails as --fail-allocation or TALLY_FAIL_ALLOCATION asks"), "{said}");
    }
}

/// A function that frees a host value is called while others are taken apart. A managed one drained there, and the program crashed
/// without a word; a collection that it asks for is refused.
#[test]
fn host_values_are_freed_by_managed_functions_but_not_by_collections() {
    let name = "host_values_freed_by_managed_code.c";
    in_every_way(name);
    for options in [&["--plan", "refcount", "--zeal"][..], &["--plan", "refcount-prompt"]] {
        let file = program(name);
        let output = run_tally(&[&["run"], options, &[file.to_str().unwrap(), "--", "collect"]].concat(), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        let is_named = said.contains("a collection begins in the middle of another: functions that free a host value");
        assert!(output.status.code() == Some(5) && is_named, "{}", describe(&output));
    }
}
