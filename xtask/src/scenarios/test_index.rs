//! The tests that the sources hold, and the numbers of scenarios that their comments name.
//!
//! A test is a function under `#[test]`, named `path::function`, or a file that is one situation of a suite which reads its
//! folder, named by its path. What it says of scenarios stands in the comment above it (the lines at the beginning, for a
//! file): `scenario 17`, `scenarios 37, 42`, `scenarios 91 to 93`. Sources are read as text: `xtask` builds none of them.

use crate::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where tests stand.
const PACKAGES: [&str; 11] = [
    "aot-runtime",
    "benches",
    "compiled-code",
    "cycle-detector",
    "examples",
    "frontend-glue",
    "heap-picture",
    "rc-runtime",
    "stack-roots",
    "tally",
    "tests",
];

/// Folders whose files are situations each: their suites run every file in them.
const SITUATIONS: [&str; 6] = [
    "examples/",
    "frontend-glue/tests/hazards/",
    "frontend-glue/tests/lowering/",
    "frontend-glue/tests/refused/",
    "frontend-glue/tests/untouched/",
    "tests/programs/",
];

/// Test suites without test functions: their `main` is the test, or the trials that they make of a folder are.
const PROGRAMS: [&str; 2] = ["frontend-glue/tests/cases/hazards.rs", "frontend-glue/tests/random/modules.rs"];

/// See the file's first lines.
#[derive(Debug, Default)]
pub struct TestIndex {
    tests: BTreeMap<String, BTreeSet<u32>>,
}

impl TestIndex {
    /// Of the tree at `root`.
    pub fn of(root: &Path) -> Result<TestIndex, Failure> {
        let mut index = TestIndex::default();
        for package in PACKAGES {
            index.add_folder(root, package)?;
        }
        Ok(index)
    }

    /// Of files given as path and text.
    #[cfg(test)]
    pub fn from_texts(files: &[(&str, &str)]) -> TestIndex {
        let mut index = TestIndex::default();
        files.iter().for_each(|(path, text)| index.add_file(path, text));
        index
    }

    /// Each test and the scenarios that its comment names.
    pub fn tests(&self) -> impl Iterator<Item = (&String, &BTreeSet<u32>)> {
        self.tests.iter()
    }

    /// The scenarios that the test's comment names; none if there is no such test.
    pub fn numbers_of(&self, test: &str) -> Option<&BTreeSet<u32>> {
        self.tests.get(test)
    }

    fn add_folder(&mut self, root: &Path, folder: &str) -> Result<(), Failure> {
        let wrong = |error: std::io::Error| Failure::step(format!("cannot read {folder}: {error}"));
        for entry in std::fs::read_dir(root.join(folder)).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            if name.starts_with('.') || name == "target" {
                continue;
            }
            if entry.file_type().map_err(wrong)?.is_dir() {
                self.add_folder(root, &path)?;
            } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
                self.add_file(&path, &text);
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &str, text: &str) {
        if let Some(ending) = path.rsplit('.').next().filter(|ending| ["ll", "c"].contains(ending)) {
            if SITUATIONS.iter().any(|folder| path.starts_with(folder)) {
                self.tests.insert(path.to_owned(), numbers_in(&opening(text, ending == "c")));
            }
        } else if path.ends_with(".rs") {
            if PROGRAMS.contains(&path) {
                self.tests.insert(path.to_owned(), numbers_in(&opening(text, false)));
            }
            self.add_functions(path, text);
        }
    }

    fn add_functions(&mut self, path: &str, text: &str) {
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for place in (0..lines.len()).filter(|&place| lines[place] == "#[test]") {
            let above =
                lines[..place].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
            let comment: Vec<&str> = above.copied().collect::<Vec<_>>().into_iter().rev().collect();
            let below = lines[place..].iter().take_while(|line| !line.is_empty());
            let name = below.filter_map(|line| line.strip_prefix("fn ")).find_map(|rest| rest.split(['(', '<']).next());
            if let Some(name) = name {
                self.tests.insert(format!("{path}::{name}"), numbers_in(&comment.join("\n")));
            }
        }
    }
}

/// The comment at the beginning of a file.
fn opening(text: &str, block: bool) -> String {
    if block {
        let inside = text.strip_prefix("/*").and_then(|rest| rest.split_once("*/"));
        return inside.map_or(String::new(), |(comment, _)| comment.to_owned());
    }
    let comments = text.lines().take_while(|line| line.starts_with(';') || line.starts_with("//"));
    comments.collect::<Vec<_>>().join("\n")
}

/// The numbers that follow the words `scenario` and `scenarios`, also at the beginning of a sentence.
fn numbers_in(comment: &str) -> BTreeSet<u32> {
    let cleaned: String =
        comment.lines().map(|line| format!("{} ", line.trim_start_matches(['/', '!', ';', '*', ' ']))).collect();
    let cleaned = cleaned.to_lowercase();
    let mut numbers = BTreeSet::new();
    for (start, word) in cleaned.match_indices("scenario") {
        let mut rest = &cleaned[start + word.len()..];
        rest = rest.strip_prefix('s').unwrap_or(rest);
        let mut first = None;
        loop {
            let trimmed = rest.trim_start();
            let end = trimmed.find(|character: char| !character.is_ascii_digit()).unwrap_or(trimmed.len());
            let Ok(number) = trimmed[..end].parse::<u32>() else { break };
            numbers.extend(first.take().unwrap_or(number)..=number);
            let after = &trimmed[end..];
            rest = match after.strip_prefix(" to") {
                Some(more) => {
                    first = Some(number);
                    more
                }
                None => match after.strip_prefix(',').or_else(|| after.strip_prefix(" and")) {
                    Some(more) => more,
                    None => break,
                },
            };
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(comment: &str) -> Vec<u32> {
        numbers_in(comment).into_iter().collect()
    }

    #[test]
    fn numbers_follow_the_word() {
        assert_eq!(numbers("/// scenario 17: several rings"), [17]);
        assert_eq!(numbers("/// scenarios 37, 42 and\n/// 7: more than 100 of them; scenario 9"), [7, 9, 37, 42]);
        assert_eq!(numbers("; scenario 3.\n; 4 of them"), [3]);
        assert_eq!(numbers("/// Scenarios 64 and 65: both"), [64, 65]);
        assert_eq!(numbers("/// Scenarios 91 to 93, 95."), [91, 92, 93, 95]);
        assert_eq!(numbers("the scenarios of group 5, 17 of them"), Vec::<u32>::new());
    }

    #[test]
    fn tests_are_functions_below_the_attribute_and_files_of_suites() {
        let index = TestIndex::from_texts(&[
            (
                "tests/tests/a.rs",
                "/// scenario 4\nfn helper() {}\n    /// scenario 1\n    /// of two\n    #[test]\n    #[cfg(unix)]\n    \
                 fn first() {}\n#[test]\nfn second() {}\n",
            ),
            ("tests/programs/p.c", "/* A program.\n * scenario 5 */\n/* scenario 6 */\n"),
            ("frontend-glue/tests/refused/r.ll", "; scenario 7\ndeclare void @f()\n; scenario 8\n"),
            ("frontend-glue/tests/native.c", "/* scenario 9 */"),
        ]);
        let found: Vec<(&str, Vec<u32>)> =
            index.tests().map(|(test, numbers)| (test.as_str(), numbers.iter().copied().collect())).collect();
        assert_eq!(
            found,
            [
                ("frontend-glue/tests/refused/r.ll", vec![7]),
                ("tests/programs/p.c", vec![5]),
                ("tests/tests/a.rs::first", vec![1]),
                ("tests/tests/a.rs::second", vec![]),
            ]
        );
    }
}
