//! A file that is one situation: its name says which, and its comments say what is expected, in lines `; KEYWORD: text`.
//!
//! Suites over folders read them: a trial for each file, named by it.

use crate::tally_command::source_tree;
use std::path::{Path, PathBuf};

/// A file and its text.
#[derive(Debug, Clone)]
pub struct Situation {
    /// Where it is.
    pub file: PathBuf,
    /// All of it.
    pub text: String,
}

impl Situation {
    /// Reads the file.
    pub fn read(file: &Path) -> Situation {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Situation { file: file.to_owned(), text }
    }

    /// The situations of a folder of the source tree, by name; there are at least so many.
    pub fn all(folder: &str, at_least: usize) -> Vec<Situation> {
        let files = programs_in(&source_tree().join(folder));
        assert!(files.len() >= at_least, "{folder}: only {} of {at_least} situations are there", files.len());
        files.iter().map(|file| Situation::read(file)).collect()
    }

    /// The file's name without its ending.
    pub fn name(&self) -> &str {
        self.file.file_stem().and_then(|name| name.to_str()).expect("names are text")
    }

    /// The lines of its comments: keyword and text.
    pub fn told(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.lines().filter_map(|line| line.strip_prefix("; ")?.split_once(": "))
    }

    /// The texts behind a keyword.
    pub fn all_of<'a>(&'a self, keyword: &'a str) -> impl Iterator<Item = &'a str> {
        self.told().filter(move |(told, _)| *told == keyword).map(|(_, text)| text)
    }

    /// The first text behind a keyword.
    pub fn one_of(&self, keyword: &str) -> Option<&str> {
        self.told().find(|(told, _)| *told == keyword).map(|(_, text)| text)
    }
}

/// The programs in a folder, sorted: text and bitcode of LLVM, and C.
pub fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ["ll", "bc", "c"].iter().any(|known| ending == *known)));
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::Situation;

    #[test]
    fn keywords_stand_in_comments_and_have_texts() {
        let text = "; Hazard: calls: two\n; WITH: a.ll\n; WITH: b.c c.ll\ndefine void @f() ; WITH: no\n";
        let situation = Situation { file: "folder/two_calls.ll".into(), text: text.to_owned() };
        assert_eq!(situation.name(), "two_calls");
        assert_eq!(situation.all_of("WITH").collect::<Vec<_>>(), ["a.ll", "b.c c.ll"]);
        assert_eq!((situation.one_of("Hazard"), situation.one_of("ZEAL")), (Some("calls: two"), None));
    }
}
