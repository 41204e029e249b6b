//! The tables of the documents and the code name the same things: variables of the environment, keys of the statistics, symbols of C.
//!
//! Both are read as text. A variable is what stands as `"TALLY_…"` in the sources of the crates that read the environment; a key
//! is what `statistics_report.rs` writes; a symbol is what a header of `aot-runtime/include` names.

use crate::sources::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names with this beginning that are no variables of a program's environment: a macro of C, and what tests of xtask set.
const NO_VARIABLES: [&str; 2] = ["TALLY_", "TALLY_ROOT"];
/// Crates that read the environment of programs and of `tally`.
const READERS: [&str; 6] =
    ["rc-runtime/src", "compiled-code/src", "cycle-detector/src", "stack-roots/src", "tally/src", "frontend-glue/src"];

fn read(place: &str) -> String {
    std::fs::read_to_string(root().join(place)).unwrap_or_else(|error| panic!("{place}: {error}"))
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// The words of letters, digits and `_` that begin with `start`, where `before` stands in front.
fn words<'text>(text: &'text str, before: &str, start: &str) -> BTreeSet<&'text str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let opening = format!("{before}{start}");
    let places = text.match_indices(&opening).map(|(at, _)| at + before.len());
    places.map(|at| text[at..].split(|letter| !is_part(letter)).next().unwrap_or("")).collect()
}

/// What stands in backquotes in a document, without its blocks of code.
fn quoted(text: &str) -> String {
    let prose = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    prose.split('`').skip(1).step_by(2).flat_map(|word| [word, "\n"]).collect()
}

#[test]
fn each_variable_that_is_read_is_in_running_md_and_none_else() {
    let mut sources = Vec::new();
    READERS.iter().for_each(|crate_| files(&root().join(crate_), "rs", &mut sources));
    let texts: Vec<String> = sources.iter().map(|file| std::fs::read_to_string(file).expect("a source")).collect();
    let literals = texts.iter().flat_map(|text| words(text, "\"", "TALLY_").into_iter().map(move |word| (text, word)));
    let whole = literals.filter(|(text, word)| text.contains(&format!("\"{word}\"")));
    let mut read_by_code: BTreeSet<&str> = whole.map(|(_, word)| word).collect();
    NO_VARIABLES.iter().for_each(|name| _ = read_by_code.remove(name));
    assert!(read_by_code.len() >= 10, "the sources were not read: {read_by_code:?}");
    let document = quoted(&read("docs/use/running.md"));
    let documented = words(&document, "", "TALLY_");
    assert_eq!(read_by_code, documented, "left: read by the code, right: named in docs/use/running.md");
}

#[test]
fn the_statistics_of_running_md_are_those_that_are_written() {
    let source = read("compiled-code/src/program/statistics_report.rs");
    let keys = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with("(\""));
        lines.filter_map(|line| Some(line.strip_prefix("(\"")?.split_once('"')?.0.to_owned())).collect()
    };
    let document = read("docs/use/running.md");
    let section =
        document.split("\n## Statistics").nth(1).expect("the section").split("\n## ").next().expect("its text");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let first_cells = rows.filter_map(|line| line.split('|').nth(1));
    let documented: BTreeSet<String> =
        first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned)).collect();
    assert!(documented.len() > 20, "the table was not read");
    assert_eq!(keys(&source), documented, "left: written, right: in the table of docs/use/running.md");
}

/// What a document calls by name can be called.
#[test]
fn each_symbol_that_a_document_names_is_in_a_header() {
    let headers = ["aot-runtime/include/tally.h", "aot-runtime/include/tally_gc.h", "c-api/include/tally-c/lower.h"];
    let header = headers.map(read).concat();
    let mut documents = vec![root().join("README.md")];
    files(&root().join("docs"), "md", &mut documents);
    let mut unknown = BTreeSet::new();
    let declared = [words(&header, "", "tally_"), words(&header, "", "TALLY_")].concat_all();
    let variables = read("docs/use/running.md");
    let variables = words(&variables, "", "TALLY_");
    let manifest = read("Cargo.toml").replace('-', "_");
    let crates = words(&manifest, "", "tally_");
    let mut named = 0;
    for document in documents {
        let text = quoted(&std::fs::read_to_string(&document).expect("a document"));
        for name in [words(&text, "", "tally_"), words(&text, "", "TALLY_")].concat_all() {
            named += 1;
            // `tally_weak_…` and the like stand for a family.
            let is_family = name.ends_with('_') && declared.iter().any(|known| known.starts_with(name));
            let is_ours = declared.contains(name) || variables.contains(name) || crates.contains(name);
            if !is_ours && !is_family && !OTHERS.contains(&name) {
                unknown.insert(format!("{}: {name}", document.strip_prefix(root()).expect("ours").display()));
            }
        }
    }
    assert!(named > 100, "the documents were not read");
    assert!(unknown.is_empty(), "in no header: {unknown:#?}");
}

/// Names that begin alike and that no program calls or sets: what only lowered code calls, a `cfg` of the compiler, and
/// variables that the tests read.
const OTHERS: [&str; 5] = ["tally_landed", "tally_tsan", "TALLY_DAMAGE_SECONDS", "TALLY_EVERY_WAY", "TALLY_SEED"];

trait ConcatAll<'text> {
    fn concat_all(self) -> BTreeSet<&'text str>;
}

impl<'text, const N: usize> ConcatAll<'text> for [BTreeSet<&'text str>; N] {
    fn concat_all(self) -> BTreeSet<&'text str> {
        self.into_iter().flatten().collect()
    }
}
