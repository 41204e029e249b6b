//! `cargo xtask coverage`: which lines of the crates without LLVM do tests run?
//!
//! The crates are built with the compiler's own instrumentation in a target folder of its own, their tests run, and
//! those of the oracle that need no compiled programs; then LLVM's tools make a table of it. What only compiled
//! programs reach (the C entry points, the walk of their stacks, the handling of their signals) is tested by
//! frontend-glue's suites and shows here as not run: `libtally.a` is not instrumented. Processes that end by a signal
//! leave no profile, and a test that forks counts the parent only.
//!
//! The tools must be as new as the compiler's LLVM; Debian's `llvm-22` has them.

use crate::failure::{Failure, Outcome};
use crate::{process, setup, tree};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The crates that are measured: each package, and its folder.
const CRATES: [(&str, &str); 5] = [
    ("heap-picture", "heap-picture"),
    ("stack-roots", "stack-roots"),
    ("tally-heap", "rc-runtime"),
    ("tally-collector", "cycle-detector"),
    ("tally-gc", "tally"),
];

/// The suites of `tests/`, as filters of its executable, that drive the heap by itself.
const SUITES: [&str; 10] = [
    "barrier_clauses::",
    "barriers::",
    "cycles::",
    "deep::",
    "effort::",
    "heap_ops::",
    "layout::",
    "limits::",
    "marks::",
    "properties::",
];

/// `cargo xtask coverage`
#[derive(clap::Args)]
pub struct Arguments {
    /// Also write an LCOV file
    #[arg(long, value_name = "FILE")]
    lcov: Option<PathBuf>,
    /// Also write HTML pages into this folder
    #[arg(long, value_name = "FOLDER")]
    html: Option<PathBuf>,
    /// Only files whose path holds one of these words, with the numbers of the lines that nothing ran
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Count again from the profiles of the last time
    #[arg(long)]
    no_run: bool,
}

/// Of how many, how many ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Share {
    ran: u64,
    of: u64,
}

/// Lines and regions of a file or a crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    lines: Share,
    regions: Share,
}

/// Builds, runs, and prints the table.
pub fn coverage(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::COVERAGE)?;
    let folder = tree::release()?.with_file_name("coverage");
    let profiles = folder.join("profiles");
    let made = |error: std::io::Error| Failure::step(format!("{}: {error}", profiles.display()));
    let mut failed = false;
    if !arguments.no_run {
        _ = std::fs::remove_dir_all(&profiles);
        std::fs::create_dir_all(&profiles).map_err(made)?;
        failed |= process::must_succeed(&mut cargo_test(&folder, &crates())).is_err();
        failed |= process::must_succeed(cargo_test(&folder, &suites()).arg("--").args(SUITES)).is_err();
    }
    let mut objects = executables(&process::output_of(cargo_test(&folder, &crates()).args(LIST))?)?;
    objects.extend(executables(&process::output_of(cargo_test(&folder, &suites()).args(LIST))?)?);
    let (list, merged) = (folder.join("profiles.txt"), folder.join("tally.profdata"));
    let written: Vec<String> =
        std::fs::read_dir(&profiles).map_err(made)?.flatten().map(|entry| entry.path().display().to_string()).collect();
    if written.is_empty() {
        return Err(Failure::unprepared("there are no profiles; run `cargo xtask coverage` without --no-run"));
    }
    std::fs::write(&list, written.join("\n")).map_err(made)?;
    let mut merge = process::command(setup::llvm_tool("llvm-profdata"));
    process::must_succeed(merge.args(["merge", "-sparse", "-o"]).arg(&merged).arg("-f").arg(&list))?;
    let tool = |words: &[&str]| {
        let mut tool = process::command(setup::llvm_tool("llvm-cov"));
        tool.args(words).arg(format!("-instr-profile={}", merged.display()));
        objects.iter().for_each(|object| _ = tool.arg("-object").arg(object));
        tool.args(sources().flat_map(|folder| [PathBuf::from("-sources"), folder]));
        tool
    };
    let lcov = process::output_of(&mut tool(&["export", "-format=lcov"]))?;
    if let Some(file) = &arguments.lcov {
        std::fs::write(file, &lcov).map_err(|error| Failure::step(format!("{}: {error}", file.display())))?;
    }
    if let Some(folder) = &arguments.html {
        process::must_succeed(
            tool(&["show", "-format=html", "-show-line-counts-or-regions"]).arg("-output-dir").arg(folder),
        )?;
    }
    let summary = process::output_of(&mut tool(&["export", "-summary-only"]))?;
    print!("{}", table(&counted(&summary)?, &missed(&lcov), &arguments.files));
    if failed {
        return Err(Failure::step("a test failed, see above; what it ran up to there is in the table"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What makes `cargo test` say where its executables are instead of running them.
const LIST: [&str; 2] = ["--no-run", "--message-format=json"];

fn cargo_test(folder: &Path, words: &[String]) -> Command {
    let mut cargo = process::cargo();
    cargo.args(["test", "--quiet", "--no-fail-fast", "--lib"]).args(words);
    cargo.env("CARGO_TARGET_DIR", folder).env("RUSTFLAGS", "-Cinstrument-coverage");
    cargo.env("LLVM_PROFILE_FILE", folder.join("profiles/%p-%m.profraw"));
    cargo
}

fn crates() -> Vec<String> {
    let packages = CRATES.iter().flat_map(|(package, _)| ["-p", package]);
    std::iter::once("--tests").chain(packages).map(str::to_owned).collect()
}

/// The folders whose files are in the table.
fn sources() -> impl Iterator<Item = PathBuf> {
    CRATES.iter().map(|(_, folder)| tree::root().join(folder).join("src"))
}

/// Without `--tests`: that would be all of them.
fn suites() -> Vec<String> {
    ["-p", "tally-tests", "--test", "suite"].map(str::to_owned).to_vec()
}

/// The test executables in cargo's messages.
fn executables(messages: &str) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line)
            .map_err(|error| Failure::step(format!("cargo's message cannot be read: {error}")))?;
        found.extend(message["executable"].as_str().map(PathBuf::from));
    }
    Ok(found)
}

/// Lines and regions of each file, by its path from the project's folder.
fn counted(summary: &str) -> Result<BTreeMap<String, Counted>, Failure> {
    let unread = |what: &str| Failure::step(format!("llvm-cov's summary cannot be read: {what}"));
    let summary: Value = serde_json::from_str(summary).map_err(|error| unread(&error.to_string()))?;
    let files = summary["data"][0]["files"].as_array().ok_or_else(|| unread("no files"))?;
    let mut all = BTreeMap::new();
    for file in files {
        let share = |of: &str| {
            let counts = &file["summary"][of];
            let number = |name: &str| counts[name].as_u64().ok_or_else(|| unread(name));
            Ok(Share { ran: number("covered")?, of: number("count")? })
        };
        let name = from_root(file["filename"].as_str().ok_or_else(|| unread("no name"))?);
        all.insert(name, Counted { lines: share("lines")?, regions: share("regions")? });
    }
    Ok(all)
}

fn from_root(path: &str) -> String {
    Path::new(path).strip_prefix(tree::root()).unwrap_or(Path::new(path)).display().to_string()
}

/// The lines of each file that nothing ran, from LCOV: `SF:file`, `DA:line,count`.
fn missed(lcov: &str) -> BTreeMap<String, Vec<u64>> {
    let (mut all, mut file) = (BTreeMap::<String, Vec<u64>>::new(), String::new());
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = from_root(path);
        } else if let Some((number, "0")) = line.strip_prefix("DA:").and_then(|rest| rest.split_once(',')) {
            all.entry(file.clone()).or_default().extend(number.parse::<u64>());
        }
    }
    all
}

/// A row for each file and a sum for each crate; for the files that are asked for, the lines that nothing ran.
fn table(counted: &BTreeMap<String, Counted>, missed: &BTreeMap<String, Vec<u64>>, asked: &[String]) -> String {
    let mut text = format!("{:<50}{:>22}{:>22}\n", "", "lines", "regions");
    let row = |name: &str, of: &Counted| format!("{name:<50}{:>22}{:>22}\n", shown(of.lines), shown(of.regions));
    let mut sums: BTreeMap<&str, Counted> = BTreeMap::new();
    for (name, of) in counted {
        let sum = sums.entry(name.split('/').next().unwrap_or("")).or_default();
        for (sum, of) in [(&mut sum.lines, of.lines), (&mut sum.regions, of.regions)] {
            *sum = Share { ran: sum.ran + of.ran, of: sum.of + of.of };
        }
        let is_asked = asked.iter().any(|word| name.contains(word.as_str()));
        if asked.is_empty() || is_asked {
            text.push_str(&row(name, of));
        }
        if let Some(lines) = missed.get(name).filter(|_| is_asked) {
            text.push_str(&format!("    not run: {}\n", ranges(lines)));
        }
    }
    text.push('\n');
    sums.iter().for_each(|(name, of)| text.push_str(&row(name, of)));
    text
}

fn shown(Share { ran, of }: Share) -> String {
    let percent = if of == 0 { 100.0 } else { 100.0 * ran as f64 / of as f64 };
    format!("{ran} of {of} {percent:5.1} %")
}

/// `3-5 9` for 3, 4, 5 and 9.
fn ranges(lines: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &line in lines {
        match ranges.last_mut() {
            Some((_, end)) if line <= *end + 1 => *end = line,
            _ => ranges.push((line, line)),
        }
    }
    let shown = |&(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    ranges.iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_nothing_ran_are_listed_as_ranges() {
        let file = tree::root().join("a/src/b.rs");
        let lcov = format!("SF:{}\nDA:3,0\nDA:4,0\nDA:5,2\nDA:9,0\nend_of_record\n", file.display());
        let missed = missed(&lcov);
        assert_eq!(ranges(&missed["a/src/b.rs"]), "3-4 9");
        let counted = BTreeMap::from([(
            "a/src/b.rs".to_owned(),
            Counted { lines: Share { ran: 1, of: 4 }, regions: Share { ran: 0, of: 0 } },
        )]);
        let text = table(&counted, &missed, &["b.rs".to_owned()]);
        assert!(text.contains("1 of 4  25.0 %") && text.contains("not run: 3-4 9"), "{text}");
        assert!(!table(&counted, &missed, &[]).contains("not run"));
    }

    /// llvm-cov says nothing about a folder that is not there; its files would only be missing in the table.
    #[test]
    fn every_measured_package_has_its_sources_in_the_table() {
        for ((package, _), sources) in CRATES.iter().zip(sources()) {
            assert!(sources.join("lib.rs").is_file(), "{}: no library", sources.display());
            let manifest = std::fs::read_to_string(sources.with_file_name("Cargo.toml")).expect("a package");
            assert!(manifest.contains(&format!("\nname = \"{package}\"\n")), "{package}: {}", sources.display());
        }
    }

    #[test]
    fn summary_of_llvm_cov_is_read() {
        let file = tree::root().join("a/src/b.rs");
        let summary = format!(
            r#"{{"data":[{{"files":[{{"filename":"{}","summary":{{"lines":{{"count":4,"covered":3}},"regions":{{"count":9,"covered":5}}}}}}]}}]}}"#,
            file.display()
        );
        let counted = counted(&summary).expect("as llvm-cov writes it");
        assert_eq!(counted["a/src/b.rs"], Counted { lines: Share { ran: 3, of: 4 }, regions: Share { ran: 5, of: 9 } });
        assert!(super::counted("{}").is_err());
    }

    #[test]
    fn executables_are_found_among_the_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":\"/x/t\"}\nwords\n{\"executable\":null}\n";
        assert_eq!(executables(messages).expect("sound"), BTreeSet::from([PathBuf::from("/x/t")]));
    }
}
