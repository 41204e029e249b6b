//! `cargo xtask mutants`: rules of the runtime and of the lowering are broken on purpose, one at a time, and a test must notice.
//!
//! `tests/mutants.toml` holds the mutants ([`Mutant`]): which text becomes what, and the test that must kill it. The
//! tree is copied to a folder of its own with a target folder of its own, so that no other build is touched. There each
//! named test must pass first, unchanged; then each mutant is applied, built, its test run, and the text put back. A
//! mutant that does not build, or whose text no longer stands in the source exactly once, is an error of the list: it
//! says so, and counts as not killed.

use crate::failure::{Failure, Outcome};
use crate::patch::{Patch, copy_tree};
use crate::{process, tree};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Where the list stands, from the project's folder.
const PLACE: &str = "tests/mutants.toml";

/// A test that takes longer than this has been killed: it would not end.
const SECONDS_MAX: u64 = 300;

/// `cargo xtask mutants`
#[derive(clap::Args)]
pub struct Arguments {
    /// Only mutants whose name holds one of these words
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Say which mutants there are, and build nothing
    #[arg(long)]
    list: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "mutant")]
    mutants: Vec<Mutant>,
}

/// A change that breaks a rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    /// What it is called.
    name: String,
    /// The rule that it breaks.
    breaks: String,
    /// The source file, from the project's folder.
    file: String,
    /// What stands there, exactly once.
    text: String,
    /// What stands there instead.
    becomes: String,
    /// The package of the test that must fail.
    package: String,
    /// The test's target, `lib` for unit tests.
    target: String,
    /// Its name in that target.
    test: String,
}

impl List {
    fn read(root: &Path) -> Result<List, Failure> {
        let text = std::fs::read_to_string(root.join(PLACE))
            .map_err(|error| Failure::unprepared(format!("{PLACE}: {error}")))?;
        toml::from_str(&text).map_err(|error| Failure::step(format!("{PLACE}: {error}")))
    }
}

impl Mutant {
    fn patch(&self) -> Patch<'_> {
        Patch { name: &self.name, file: &self.file, text: &self.text, becomes: &self.becomes }
    }

    fn cargo_test(&self, folder: &Path) -> Command {
        let mut cargo = process::cargo();
        cargo.current_dir(folder.join("tree")).env("CARGO_TARGET_DIR", folder.join("target"));
        cargo.args(["test", "--quiet", "--package", &self.package]);
        match self.target.as_str() {
            "lib" => cargo.arg("--lib"),
            target => cargo.args(["--test", target]),
        };
        cargo
    }
}

/// Tries all mutants, or those that were named.
pub fn mutants(arguments: &Arguments) -> Outcome {
    let mut list = List::read(tree::root())?.mutants;
    if !arguments.names.is_empty() {
        list.retain(|mutant| arguments.names.iter().any(|name| mutant.name.contains(name)));
    }
    if list.is_empty() {
        return Err(Failure::unprepared(format!("no mutant of {PLACE} is called so; `--list` says which there are")));
    }
    if arguments.list {
        list.iter().for_each(|mutant| println!("{}: {}", mutant.name, mutant.breaks));
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tree::release()?.with_file_name("mutants");
    copy_tree(tree::root(), &folder.join("tree"))?;
    let mut unkilled = Vec::new();
    let mut sound = BTreeSet::new();
    for mutant in &list {
        // Tests pass without the mutant, or their failure says nothing.
        if sound.insert((&mutant.package, &mutant.target, &mutant.test)) {
            passes_unchanged(mutant, &folder)?;
        }
        let outcome = mutant.patch().with(&folder.join("tree"), PLACE, || run_mutant(mutant, &folder));
        println!("{:<40} {}", mutant.name, outcome.as_ref().map_or_else(|problem| problem.clone(), Verdict::to_string));
        if !matches!(outcome, Ok(Verdict::Killed(_))) {
            unkilled.push(mutant.name.as_str());
        }
    }
    if unkilled.is_empty() {
        println!("{} mutants, all killed", list.len());
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::step(format!("{} of {} mutants were not killed: {}", unkilled.len(), list.len(), unkilled.join(", "))))
}

/// What became of a mutant.
enum Verdict {
    /// The test failed, and so.
    Killed(String),
    Survived,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Killed(how) => write!(f, "killed: {how}"),
            Verdict::Survived => f.write_str("SURVIVED"),
        }
    }
}

fn passes_unchanged(mutant: &Mutant, folder: &Path) -> Result<(), Failure> {
    let mut command = mutant.cargo_test(folder);
    let output = process::output_of(command.args(["--", "--exact", &mutant.test]))?;
    if output.contains("1 passed") {
        return Ok(());
    }
    let Mutant { package, target, test, .. } = mutant;
    Err(Failure::step(format!("{PLACE}: there is no test `{test}` in {package}, target {target}")))
}

fn run_mutant(mutant: &Mutant, folder: &Path) -> Result<Verdict, String> {
    // Warnings are to be expected: variables that are no longer used.
    process::output_of(mutant.cargo_test(folder).arg("--no-run"))
        .map_err(|failure| format!("does not build: {failure}"))?;
    let mut command = mutant.cargo_test(folder);
    command.args(["--", "--exact", &mutant.test]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot start cargo: {error}"))?;
    let start = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| format!("cannot wait for cargo: {error}"))?;
        match ended {
            Some(status) if status.success() => return Ok(Verdict::Survived),
            Some(status) => return Ok(Verdict::Killed(format!("{status}, by {}", mutant.test))),
            None if start.elapsed() > Duration::from_secs(SECONDS_MAX) => {
                // The test itself ends when its output is gone, or with the next run's build; cargo is ours to end.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Verdict::Killed(format!("no end after {SECONDS_MAX} s, by {}", mutant.test)));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::holds;
    use std::path::PathBuf;

    /// Cheap enough for every day: a change to a line that a mutant names changes the mutant, too.
    #[test]
    fn every_mutant_still_applies_and_names_a_test() {
        let list = List::read(tree::root()).expect("the list can be read").mutants;
        assert!(list.len() >= 12, "{} mutants", list.len());
        let mut complaints: Vec<String> =
            list.iter().filter_map(|mutant| mutant.patch().applied(tree::root(), PLACE).err()).collect();
        let names: BTreeSet<&str> = list.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names.len(), list.len(), "two mutants have one name");
        for mutant in &list {
            let folder = folder_of(&mutant.package);
            if mutant.target == "cases" {
                // The trial of a file, or one of its two.
                let trial = mutant.test.strip_suffix("::is_survived").unwrap_or(&mutant.test);
                let file = folder.join("tests").join(trial.replace("::", "/")).with_extension("ll");
                if !file.is_file() {
                    complaints.push(format!("{}: there is no {}", mutant.name, file.display()));
                }
                continue;
            }
            let function = format!("fn {}(", mutant.test.rsplit("::").next().expect("a name"));
            let folder = if mutant.target == "lib" { folder.join("src") } else { folder.join("tests") };
            if !holds(&folder, &function) {
                complaints.push(format!("{}: there is no `{}` in {}", mutant.name, mutant.test, folder.display()));
            }
        }
        assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    }

    /// The folder whose manifest names the package.
    fn folder_of(package: &str) -> PathBuf {
        let name = format!("name = \"{package}\"");
        let folders = std::fs::read_dir(tree::root()).expect("the tree").map(|entry| entry.expect("an entry").path());
        let has_name = |folder: &PathBuf| {
            std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.lines().any(|line| line == name))
        };
        folders.into_iter().find(has_name).unwrap_or_else(|| panic!("no manifest names {package}"))
    }
}
