//! Every program in `examples/` does what `examples/expected/<name>.txt` says: run in the process at every optimisation
//! level, with a leak check, under zeal where `examples/zeal.txt` lists it, and built into an executable.
//!
//! A folder in `examples/` with an expected output is one program of several modules. `forgotten_root` is wrong on purpose
//! and must be caught twice: by `tally verify`'s warning, and by zeal at the first touch of the dead object.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tally_tests::tally_command::{describe, run, run_tally, source_tree};

/// The program that is wrong on purpose.
const FORGOTTEN_ROOT: &str = "forgotten_root";

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
            (!files.is_empty() && name != FORGOTTEN_ROOT).then(|| {
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
fn a_forgotten_root_is_warned_about_and_caught_under_zeal() {
    let folder = source_tree().join("examples");
    let candidates = ["c", "ll"].map(|extension| folder.join(FORGOTTEN_ROOT).with_extension(extension));
    let file = candidates.iter().find(|path| path.is_file()).expect("examples/forgotten_root.{c,ll}");
    let verified = run_tally(&[OsString::from("verify"), file.into()], &[]);
    let warning = String::from_utf8_lossy(&verified.stderr);
    assert!(warning.contains("warning") && warning.contains(FORGOTTEN_ROOT), "{}", describe(&verified));
    let caught = run_tally(&[OsString::from("run"), "--zeal".into(), file.into()], &[]);
    assert_eq!(caught.status.code(), Some(5), "{}", describe(&caught));
    let message = String::from_utf8_lossy(&caught.stderr);
    assert!(message.contains(FORGOTTEN_ROOT), "the message should name the place: {}", describe(&caught));
}
