//! Every program in `examples/` does what `examples/expected/<name>.txt` says, under both plans: run in the process at every
//! optimisation level, with a leak check, under zeal where `examples/zeal.txt` lists it, and built into an executable. Those that
//! `examples/prompt.txt` lists show when destructors run under the prompt plan; under the other they run, and later.
//!
//! A folder in `examples/` is one program of several modules, but for `examples/wrong/`: each program there has a mistake
//! on purpose and must be caught twice, by `tally verify`'s warning and by zeal at the first touch of the dead object.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tally_kit::tally_command::{describe, run, run_tally, source_tree};
use tally_tests::random_program::trial::SAVINGS;

/// The folder of programs that are wrong on purpose.
const WRONG: &str = "wrong";

struct Example {
    name: String,
    files: Vec<PathBuf>,
    expected: Vec<u8>,
}

/// What says that objects die when their last reference goes.
const PROMPT: [&str; 2] = ["--plan", "refcount-prompt"];

/// The names in one of the lists beside the examples.
fn listed(list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(source_tree().join("examples").join(list)).expect("the list can be read");
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim().to_owned());
    let names: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    assert!(!names.is_empty(), "{list} lists nothing");
    for name in &names {
        assert!(examples().iter().any(|example| example.name == *name), "{list} lists `{name}`, which is no example");
    }
    names
}

/// The examples that run under either plan.
fn examples_of_both_plans() -> Vec<Example> {
    let prompt_only = listed("prompt.txt");
    examples().into_iter().filter(|example| !prompt_only.contains(&example.name)).collect()
}

/// Those with destructors.
fn examples_with_destructors() -> Vec<Example> {
    let prompt_only = listed("prompt.txt");
    examples().into_iter().filter(|example| prompt_only.contains(&example.name)).collect()
}

fn examples() -> Vec<Example> {
    let folder = source_tree().join("examples");
    let mut examples: Vec<Example> = sorted_entries(&folder)
        .into_iter()
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let files = if path.is_dir() { sorted_entries(&path) } else { vec![path] };
            let files: Vec<PathBuf> = files.into_iter().filter(|file| is_program(file)).collect();
            (!files.is_empty() && name != WRONG).then(|| {
                let place = folder.join("expected").join(format!("{name}.txt"));
                let expected = std::fs::read(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
                Example { name, files, expected }
            })
        })
        .collect();
    examples.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(examples.len() >= 10, "there should be at least ten examples, found {}", examples.len());
    examples
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ll" || extension == "c" || extension == "bc")
}

/// Runs every example and lists those that did not exit with 0 and the expected output.
fn check_all(examples: &[Example], how: &str, run: impl Fn(&Example) -> std::process::Output) {
    let failures: Vec<String> = examples
        .iter()
        .filter_map(|example| {
            let output = run(example);
            let right = output.status.success() && output.stdout == example.expected;
            (!right).then(|| format!("{} {how}: {}", example.name, describe(&output)))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), examples.len(), failures.join("\n"));
}

fn arguments(options: &[&str], example: &Example) -> Vec<OsString> {
    options.iter().map(OsString::from).chain(example.files.iter().map(OsString::from)).collect()
}

fn run_with(options: &[&str]) {
    let how = options.join(" ");
    check_all(&examples_of_both_plans(), &how, |example| run_tally(&arguments(options, example), &[]));
}

fn run_prompt_with(options: &[&str]) {
    let options = [&["run"], &PROMPT[..], options].concat();
    check_all(&examples(), &options.join(" "), |example| run_tally(&arguments(&options, example), &[]));
}

/// Each example at each level with another choice of savings; all choices with `TALLY_EXAMPLE_MATRIX` in the environment.
#[test]
fn examples_do_the_same_whichever_counts_are_saved() {
    let all = std::env::var_os("TALLY_EXAMPLE_MATRIX").is_some();
    for (place, level) in ["0", "1", "2", "3", "s"].into_iter().enumerate() {
        for turn in 0..if all { SAVINGS.len() } else { 1 } {
            for (number, example) in examples().into_iter().enumerate() {
                let saved = SAVINGS[(number + place + turn) % SAVINGS.len()];
                let options =
                    [&["run"], &PROMPT[..], &["--opt", level, "--save-counts", saved, "--leak-check"]].concat();
                check_all(&[example], &options.join(" "), |example| run_tally(&arguments(&options, example), &[]));
            }
        }
    }
}

#[test]
fn examples_run_at_opt_0() {
    run_with(&["run", "--opt", "0"]);
}

#[test]
fn examples_run_at_opt_1() {
    run_with(&["run", "--opt", "1"]);
}

/// scenario 52: gcbench and binary trees are among them.
#[test]
fn examples_run_at_opt_2_and_leak_nothing() {
    run_with(&["run", "--opt", "2", "--leak-check"]);
}

#[test]
fn examples_run_at_opt_3() {
    run_with(&["run", "--opt", "3"]);
}

#[test]
fn examples_run_at_opt_s() {
    run_with(&["run", "--opt", "s"]);
}

#[test]
fn prompt_examples_run_at_opt_0() {
    run_prompt_with(&["--opt", "0"]);
}

#[test]
fn prompt_examples_run_at_opt_1() {
    run_prompt_with(&["--opt", "1"]);
}

/// scenario 52: gcbench and binary trees are among them.
#[test]
fn prompt_examples_run_at_opt_2_and_leak_nothing() {
    run_prompt_with(&["--opt", "2", "--leak-check"]);
}

#[test]
fn prompt_examples_run_at_opt_3() {
    run_prompt_with(&["--opt", "3"]);
}

#[test]
fn prompt_examples_run_at_opt_s() {
    run_prompt_with(&["--opt", "s"]);
}

/// Destructors of large structures may then run later; these examples have none.
#[test]
fn prompt_examples_run_with_a_pause_goal() {
    run_prompt_with(&["--pause-goal", "1ms"]);
}

fn small(examples: Vec<Example>) -> Vec<Example> {
    let names = listed("zeal.txt");
    examples.into_iter().filter(|example| names.contains(&example.name)).collect()
}

#[test]
fn small_examples_run_under_zeal() {
    let options = ["run", "--zeal", "--leak-check"];
    check_all(&small(examples_of_both_plans()), "--zeal", |example| run_tally(&arguments(&options, example), &[]));
}

#[test]
fn prompt_small_examples_run_under_zeal() {
    for level in ["0", "2"] {
        let options = [&["run", "--zeal", "--leak-check", "--opt", level], &PROMPT[..]].concat();
        let mut small = small(examples_of_both_plans());
        small.extend(examples_with_destructors());
        check_all(&small, &options.join(" "), |example| run_tally(&arguments(&options, example), &[]));
    }
}

fn check_built(examples: &[Example], how: &str, options: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder for executables");
    check_all(examples, how, |example| {
        let executable = folder.path().join(&example.name);
        let mut build = arguments(options, example);
        build.extend([OsString::from("-o"), executable.clone().into()]);
        let built = run_tally(&build, &[]);
        if !built.status.success() {
            return built;
        }
        run::<OsString>(&executable, &[], &[("TALLY_LEAK_CHECK", "1")])
    });
}

#[test]
fn examples_built_into_executables_run_and_leak_nothing() {
    check_built(&examples_of_both_plans(), "built", &["build"]);
}

#[test]
fn prompt_examples_built_into_executables_run_and_leak_nothing() {
    for level in ["0", "2"] {
        check_built(&examples(), "built", &[&["build", "--opt", level], &PROMPT[..]].concat());
    }
}

#[test]
fn under_the_deferred_plan_destructors_run_later_and_for_all_objects() {
    for example in examples_with_destructors() {
        let output = run_tally(&arguments(&["run", "--leak-check"], &example), &[]);
        assert!(output.status.success(), "{}", describe(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
        assert!(lines("open ") > 5, "{}", describe(&output));
        assert_eq!((lines("open "), lines("lock ")), (lines("close "), lines("unlock ")), "{}", describe(&output));
    }
}

#[test]
fn programs_with_a_mistake_are_warned_about_and_caught_under_zeal() {
    let files: Vec<PathBuf> = sorted_entries(&source_tree().join("examples").join(WRONG))
        .into_iter()
        .filter(|file| is_program(file))
        .collect();
    assert!(!files.is_empty(), "examples/wrong/ is empty");
    for file in files {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let verified = run_tally(&[OsString::from("verify"), file.clone().into()], &[]);
        let warning = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(warning.contains("warning") && warning.contains(&name), "{}", describe(&verified));
        let caught = run_tally(&[OsString::from("run"), "--zeal".into(), file.into()], &[]);
        assert_eq!(caught.status.code(), Some(5), "{}", describe(&caught));
        let message = String::from_utf8_lossy(&caught.stderr).into_owned();
        assert!(message.contains(&name), "the message should name the place: {}", describe(&caught));
    }
}

/// scenario 36.
#[test]
fn statistics_of_an_example_add_up() {
    let folder = tempfile::tempdir().expect("a folder for statistics");
    let place = folder.path().join("rings.json");
    let option = format!("--stats={}", place.display());
    let output = run_tally(&["run", "--leak-check", &option, "examples/rings.c"], &[]);
    assert!(output.status.success(), "{}", describe(&output));
    let text = std::fs::read_to_string(&place).expect("the statistics were written");
    let statistics: serde_json::Value = serde_json::from_str(&text).expect("the statistics are JSON");
    let figure = |key: &str| statistics[key].as_u64().unwrap_or_else(|| panic!("`{key}` is no number in\n{text}"));
    for key in ["pause_ns_max", "pause_ns_total", "allocated_bytes", "live_bytes", "log_entries"] {
        figure(key);
    }
    for key in ["epochs", "candidates", "cyclic_garbage_objects", "frames_walked", "roots_walked"] {
        assert!(figure(key) > 0, "rings.c should have some `{key}`\n{text}");
    }
    assert!(figure("trial_runs") > 0 && figure("trial_edges") >= figure("trial_runs"), "{text}");
    assert!(figure("pause_ns_max") <= figure("pause_ns_total"), "{text}");
    assert_eq!((figure("allocated_objects"), 0), (figure("freed_objects"), figure("live_objects")), "{text}");
}
