//! Every program in `examples/` does what `examples/expected/<name>.txt` says, under all plans: run in the process at every
//! optimisation level, with a leak check, under zeal where `examples/zeal.txt` lists it, and built into an executable. Those that
//! `examples/prompt.txt` lists show when destructors run under the prompt plan (`suite/examples.rs` has them under the other).
//!
//! A folder in `examples/` is one program of several modules, but for `examples/wrong/`.

use crate::trial;
use libtest_mimic::Trial;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Output;
use tally_kit::situation::programs_in;
use tally_kit::tally_command::{describe, run, run_tally, source_tree};
use tally_kit::ways::every_way;
use tally_tests::random_program::trial::SAVINGS;

/// The folder of programs that are wrong on purpose.
const WRONG: &str = "wrong";
/// Compilers of a language of their own: `c-api/tests/suite/frontends.rs` has them.
const FRONTENDS: &str = "frontends";
const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];
/// What says that objects die when their last reference goes.
const PROMPT: [&str; 2] = ["--plan", "refcount-prompt"];
/// What says that nothing is counted.
const TRACE: [&str; 2] = ["--plan", "trace"];

#[derive(Clone)]
struct Example {
    name: String,
    /// Its place among the examples.
    number: usize,
    files: Vec<PathBuf>,
    expected: Vec<u8>,
    /// Whether it is small enough for an epoch at every safepoint.
    is_small: bool,
    /// Whether it shows when destructors run.
    is_prompt_only: bool,
}

/// A way to run an example, with the word that its trial is named by.
type Check = (&'static str, fn(&Example) -> Result<(), String>);

const CHECKS: [Check; 7] = [
    ("deferred", runs_deferred),
    ("prompt", runs_prompt),
    ("trace", runs_trace),
    ("savings", runs_whichever_counts_are_saved),
    ("zeal", runs_under_zeal),
    ("built", runs_built),
    ("without_roots", runs_without_written_roots),
];

/// Each example, in each group of ways.
pub fn trials() -> Vec<Trial> {
    let trial_of = |example: &Example, (way, check): Check| {
        let (name, example) = (format!("examples::{}::{way}", example.name), example.clone());
        trial(name, move || check(&example))
    };
    examples().iter().flat_map(|example| CHECKS.map(|check| trial_of(example, check))).collect()
}

fn examples() -> Vec<Example> {
    let folder = source_tree().join("examples");
    let mut paths = programs_in(&folder);
    let entries =
        std::fs::read_dir(&folder).expect("the examples are there").map(|entry| entry.expect("readable").path());
    paths.extend(entries.filter(|path| path.is_dir() && !path.ends_with(WRONG) && !path.ends_with(FRONTENDS)));
    paths.sort();
    let (small, prompt_only) = (listed("zeal.txt"), listed("prompt.txt"));
    let mut examples = Vec::new();
    for path in paths {
        let files = if path.is_dir() { programs_in(&path) } else { vec![path.clone()] };
        if files.is_empty() {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let place = folder.join("expected").join(format!("{name}.txt"));
        let expected = std::fs::read(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        let (is_small, is_prompt_only) = (small.contains(&name), prompt_only.contains(&name));
        examples.push(Example { name, number: examples.len(), files, expected, is_small, is_prompt_only });
    }
    assert!(examples.len() >= 19, "there should be at least 19 examples, found {}", examples.len());
    for name in small.iter().chain(&prompt_only) {
        assert!(examples.iter().any(|example| example.name == *name), "`{name}` is listed and is no example");
    }
    examples
}

/// The names in one of the lists beside the examples.
fn listed(list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(source_tree().join("examples").join(list)).expect("the list can be read");
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim().to_owned());
    let names: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    assert!(!names.is_empty(), "{list} lists nothing");
    names
}

fn runs_deferred(example: &Example) -> Result<(), String> {
    if example.is_prompt_only {
        return Ok(());
    }
    for level in LEVELS {
        let leak_check: &[&str] = if level == "2" { &["--leak-check"] } else { &[] };
        check_run(example, &[&["--opt", level], leak_check].concat())?;
    }
    Ok(())
}

fn runs_trace(example: &Example) -> Result<(), String> {
    if example.is_prompt_only {
        return Ok(());
    }
    let sliced = ["--epoch-bytes", "64KiB", "--pause-goal", "20us"];
    for (level, options) in [("0", &sliced[..]), ("2", &["--leak-check"])] {
        check_run(example, &[&TRACE[..], &["--opt", level], options].concat())?;
    }
    Ok(())
}

fn runs_prompt(example: &Example) -> Result<(), String> {
    for level in LEVELS {
        let leak_check: &[&str] = if level == "2" { &["--leak-check"] } else { &[] };
        check_run(example, &[&PROMPT[..], &["--opt", level], leak_check].concat())?;
    }
    // Destructors of large structures may then run later; these examples have none.
    check_run(example, &[&PROMPT[..], &["--pause-goal", "1ms"]].concat())
}

/// Every second level with another choice of savings; all levels with all choices with `TALLY_EVERY_WAY`.
fn runs_whichever_counts_are_saved(example: &Example) -> Result<(), String> {
    let is_taken = |place: usize| every_way() || place % 2 == example.number % 2;
    for (place, level) in LEVELS.into_iter().enumerate().filter(|&(place, _)| is_taken(place)) {
        for turn in 0..if every_way() { SAVINGS.len() } else { 1 } {
            let saved = SAVINGS[(example.number + place + turn) % SAVINGS.len()];
            check_run(example, &[&PROMPT[..], &["--opt", level, "--save-counts", saved, "--leak-check"]].concat())?;
        }
    }
    Ok(())
}

fn runs_under_zeal(example: &Example) -> Result<(), String> {
    if example.is_small && !example.is_prompt_only {
        check_run(example, &["--zeal", "--leak-check"])?;
    }
    if example.is_small || example.is_prompt_only {
        for level in ["0", "2"] {
            check_run(example, &[&["--zeal", "--leak-check", "--opt", level], &PROMPT[..]].concat())?;
        }
    }
    Ok(())
}

/// Without the roots of plain references that it writes: they are inferred. When destructors run is then another matter.
fn runs_without_written_roots(example: &Example) -> Result<(), String> {
    if example.is_prompt_only {
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a folder for programs without roots");
    let texts = example
        .files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    let texts: Vec<String> = texts.collect();
    if texts.iter().any(|text| text.contains("tally_walk_roots(")) {
        // A collector of its own, which takes every root for an object of its heap.
        return Ok(());
    }
    let files = example.files.iter().zip(texts).map(|(file, text)| {
        let stripped = folder.path().join(file.file_name().expect("a file has a name"));
        std::fs::write(&stripped, without_roots(&text)).expect("a program is written");
        stripped
    });
    let stripped: Vec<PathBuf> = files.collect();
    if let [first, _, ..] = &example.files[..] {
        let beside = first.parent().expect("a file is in a folder").read_dir().expect("the example's folder is read");
        for header in beside
            .map(|entry| entry.expect("readable").path())
            .filter(|path| path.extension().is_some_and(|it| it == "h"))
        {
            let text = std::fs::read_to_string(&header).expect("a header is text");
            let name = header.file_name().expect("a file has a name");
            std::fs::write(folder.path().join(name), without_roots(&text)).expect("a header is written");
        }
    }
    let stripped = Example { files: stripped, ..example.clone() };
    for plan in ["refcount", "refcount-prompt", "trace"] {
        let auto = |options: &[&'static str]| [&["--roots", "auto", "--plan", plan], options].concat();
        check_run(&stripped, &auto(&["--opt", "0", "--epoch-bytes", "64KiB"]))?;
        check_run(&stripped, &auto(&["--opt", "2", "--leak-check"]))?;
        if example.is_small {
            check_run(&stripped, &auto(&["--zeal"]))?;
        }
    }
    Ok(())
}

/// A program in C or IR without its roots of plain references.
fn without_roots(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(begin) = rest.find("TALLY_ROOT(") {
        kept += &rest[..begin];
        rest = &rest[begin..];
        rest = &rest[rest.find(");").expect("a statement ends") + 1..];
    }
    kept += rest;
    let is_root = |line: &&str| line.contains("call void @llvm.gcroot(") && line.contains("ptr null)");
    kept.lines().filter(|line| !is_root(line)).map(|line| format!("{line}\n")).collect()
}

fn runs_built(example: &Example) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder for executables");
    let prompt = ["0", "2"].map(|level| [&["--opt", level], &PROMPT[..]].concat());
    let deferred = if example.is_prompt_only { None } else { Some(Vec::new()) };
    for options in deferred.into_iter().chain(prompt) {
        let executable = folder.path().join(&example.name);
        let mut build = arguments("build", &options, example);
        build.extend([OsString::from("-o"), executable.clone().into()]);
        let built = run_tally(&build, &[]);
        if !built.status.success() {
            return Err(format!("build {}: {}", options.join(" "), describe(&built)));
        }
        let how = format!("built {}", options.join(" "));
        check(example, &how, &run::<OsString>(&executable, &[], &[("TALLY_LEAK_CHECK", "1")]))?;
    }
    Ok(())
}

fn check_run(example: &Example, options: &[&str]) -> Result<(), String> {
    check(example, &options.join(" "), &run_tally(&arguments("run", options, example), &[]))
}

fn check(example: &Example, how: &str, output: &Output) -> Result<(), String> {
    let is_right = output.status.success() && output.stdout == example.expected;
    if is_right { Ok(()) } else { Err(format!("{how}: {}", describe(output))) }
}

fn arguments(command: &str, options: &[&str], example: &Example) -> Vec<OsString> {
    let words = std::iter::once(&command).chain(options).map(OsString::from);
    words.chain(example.files.iter().map(OsString::from)).collect()
}
