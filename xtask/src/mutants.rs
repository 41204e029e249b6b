//! `cargo xtask mutants`: rules of the runtime and of the lowering are broken on purpose, one at a time, and a test must notice.
//!
//! `tests/mutants.toml` holds the mutants ([`Mutant`]): which text becomes what, and the test that must kill it. The
//! tree is copied to a folder of its own with a target folder of its own, so that nobody's build is touched. There each
//! named test must pass first, unchanged; then each mutant is applied, built, its test run, and the text put back. A
//! mutant that does not build, or whose text no longer stands in the source exactly once, is an error of the list: it
//! says so, and counts as not killed.

use crate::failure::{Failure, Outcome};
use crate::{process, tree};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
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
    /// The file with the change.
    fn applied(&self, root: &Path) -> Result<String, String> {
        let text = std::fs::read_to_string(root.join(&self.file)).map_err(|error| format!("{}: {error}", self.file))?;
        match text.matches(&self.text).count() {
            1 => Ok(text.replacen(&self.text, &self.becomes, 1)),
            count => {
                Err(format!("{}: the text of `{}` stands there {count} times; mend {PLACE}", self.file, self.name))
            }
        }
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
        let outcome = try_mutant(mutant, &folder);
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

/// Puts the mutant into the copy, and takes it out again.
fn try_mutant(mutant: &Mutant, folder: &Path) -> Result<Verdict, String> {
    let changed = mutant.applied(tree::root())?;
    let place = folder.join("tree").join(&mutant.file);
    let write = |text: &str| std::fs::write(&place, text).map_err(|error| format!("{}: {error}", place.display()));
    write(&changed)?;
    let verdict = run_mutant(mutant, folder);
    let original = std::fs::read_to_string(tree::root().join(&mutant.file));
    write(&original.map_err(|error| format!("{}: {error}", mutant.file))?)?;
    verdict
}

fn run_mutant(mutant: &Mutant, folder: &Path) -> Result<Verdict, String> {
    // Warnings are to be expected: variables that nobody uses now.
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

/// Brings the copy up to date. Files that are the same are left alone, so that cargo builds only what has changed.
fn copy_tree(from: &Path, to: &Path) -> Result<(), Failure> {
    let problem = |path: &Path, error: std::io::Error| Failure::step(format!("{}: {error}", path.display()));
    let mut wanted = BTreeSet::new();
    std::fs::create_dir_all(to).map_err(|error| problem(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| problem(from, error))? {
        let source = entry.map_err(|error| problem(from, error))?.path();
        let name = source.file_name().expect("an entry has a name").to_owned();
        let shown = name.to_string_lossy();
        if shown == "target" || shown.starts_with('.') && shown != ".cargo" {
            continue;
        }
        let copy = to.join(&name);
        wanted.insert(name.clone());
        if source.is_dir() {
            copy_tree(&source, &copy)?;
        } else {
            let bytes = std::fs::read(&source).map_err(|error| problem(&source, error))?;
            if std::fs::read(&copy).ok().as_deref() != Some(&bytes[..]) {
                std::fs::write(&copy, bytes).map_err(|error| problem(&copy, error))?;
            }
        }
    }
    for entry in std::fs::read_dir(to).map_err(|error| problem(to, error))? {
        let stale: PathBuf = entry.map_err(|error| problem(to, error))?.path();
        if !wanted.contains(stale.file_name().expect("an entry has a name")) {
            let removed = if stale.is_dir() { std::fs::remove_dir_all(&stale) } else { std::fs::remove_file(&stale) };
            removed.map_err(|error| problem(&stale, error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cheap enough for every day: who changes a line that a mutant names changes the mutant, too.
    #[test]
    fn every_mutant_still_applies_and_names_a_test() {
        let list = List::read(tree::root()).expect("the list can be read").mutants;
        assert!(list.len() >= 12, "{} mutants", list.len());
        let mut complaints: Vec<String> = list.iter().filter_map(|mutant| mutant.applied(tree::root()).err()).collect();
        let names: BTreeSet<&str> = list.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names.len(), list.len(), "two mutants have one name");
        for mutant in &list {
            let folder = folder_of(&mutant.package);
            if mutant.target == "cases" {
                // The trial of a file.
                let file = folder.join("tests").join(mutant.test.replace("::", "/")).with_extension("ll");
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

    fn holds(folder: &Path, text: &str) -> bool {
        let entries = std::fs::read_dir(folder).expect("a package's folder");
        entries.map(|entry| entry.expect("an entry").path()).any(|path| {
            path.is_dir() && holds(&path, text)
                || path.extension().is_some_and(|ending| ending == "rs")
                    && std::fs::read_to_string(&path).is_ok_and(|file| file.contains(text))
        })
    }

    fn mutant(text: &str) -> Mutant {
        let [name, breaks, package, target, test] = ["m", "a rule", "xtask", "lib", "t"].map(str::to_owned);
        let (file, text, becomes) = ("code.rs".to_owned(), text.to_owned(), "two".to_owned());
        Mutant { name, breaks, file, text, becomes, package, target, test }
    }

    #[test]
    fn text_that_is_gone_or_stands_twice_is_an_error_that_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("code.rs"), "one three three").expect("it can be written to");
        assert_eq!(mutant("one").applied(folder.path()).as_deref(), Ok("two three three"));
        for (text, count) in [("four", "0 times"), ("three", "2 times")] {
            let complaint = mutant(text).applied(folder.path()).expect_err("it does not apply");
            assert!(complaint.contains(count) && complaint.contains("code.rs"), "{complaint}");
        }
    }

    #[test]
    fn copy_follows_the_tree_and_leaves_out_what_is_built() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir_all(from.join("src")).expect("a folder");
        std::fs::create_dir_all(from.join("target")).expect("a folder");
        std::fs::write(from.join("src/a.rs"), "a").expect("a file");
        copy_tree(&from, &to).expect("a copy");
        assert!(to.join("src/a.rs").is_file() && !to.join("target").exists());
        std::fs::remove_file(from.join("src/a.rs")).expect("it was there");
        std::fs::write(from.join("src/b.rs"), "b").expect("a file");
        copy_tree(&from, &to).expect("a copy");
        assert!(to.join("src/b.rs").is_file() && !to.join("src/a.rs").exists());
    }
}
