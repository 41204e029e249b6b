//! Every program in `examples/` does what `examples/expected/<name>.txt` says: run in the process at every optimisation
//! level, with a leak check, under zeal where `examples/zeal.txt` lists it, and built into an executable.
//!
//! A folder in `examples/` is one program of several modules, but for `examples/wrong/`: each program there has a mistake
//! on purpose and must be caught twice, by `tally verify`'s warning and by zeal at the first touch of the dead object.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tally_tests::tally_command::{describe, run, run_tally, source_tree};

/// The folder of programs that are wrong on purpose.
const WRONG: &str = "wrong";

struct Example {
    name: String,
    files: Vec<PathBuf>,
    expected: Vec<u8>,
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
    check_all(&examples(), &how, |example| run_tally(&arguments(options, example), &[]));
}

#[test]
fn examples_run_at_opt_0() {
    run_with(&["run", "--opt", "0"]);
}

#[test]
fn examples_run_at_opt_1() {
    run_with(&["run", "--opt", "1"]);
}

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
fn small_examples_run_under_zeal() {
    let listed = std::fs::read_to_string(source_tree().join("examples/zeal.txt")).expect("examples/zeal.txt");
    let names: Vec<&str> = listed
        .lines()
        .map(|line| line.split('#').next().unwrap_or("").trim())
        .filter(|line| !line.is_empty())
        .collect();
    let examples = examples();
    for name in &names {
        assert!(examples.iter().any(|example| example.name == *name), "zeal.txt lists `{name}`, which is no example");
    }
    assert!(!names.is_empty(), "zeal.txt lists nothing");
    let small: Vec<Example> = examples.into_iter().filter(|example| names.contains(&example.name.as_str())).collect();
    check_all(&small, "--zeal", |example| run_tally(&arguments(&["run", "--zeal", "--leak-check"], example), &[]));
}

#[test]
fn examples_built_into_executables_run_and_leak_nothing() {
    let folder = tempfile::tempdir().expect("a folder for executables");
    check_all(&examples(), "built", |example| {
        let executable = folder.path().join(&example.name);
        let mut build = arguments(&["build"], example);
        build.extend([OsString::from("-o"), executable.clone().into()]);
        let built = run_tally(&build, &[]);
        if !built.status.success() {
            return built;
        }
        run::<OsString>(&executable, &[], &[("TALLY_LEAK_CHECK", "1")])
    });
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
