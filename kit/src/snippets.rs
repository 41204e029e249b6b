//! Snippets that rustc takes or refuses: a small stand-in for a crate of compile-fail tests.
//!
//! They are compiled against the libraries that the test itself was built with, to metadata only, with
//! `#![forbid(unsafe_code)]` in front. A suite says what stands before each snippet, and one that is right, by which the
//! libraries of this build are found: older ones lie beside them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// So many of the newest libraries of each crate are tried.
const NEWEST: usize = 6;

/// The libraries, and the text around a snippet.
pub struct Snippets {
    libraries: Vec<(&'static str, PathBuf)>,
    before: &'static str,
    parameters: &'static str,
}

impl Snippets {
    /// Snippets that use `crates`, in a function with `parameters`, behind `before`. `right` is one that compiles.
    ///
    /// # Panics
    /// When it does not, with any of the libraries that lie beside the test.
    pub fn new(crates: &[&'static str], before: &'static str, parameters: &'static str, right: &str) -> Snippets {
        let found: Vec<Vec<PathBuf>> = crates.iter().map(|name| libraries(name)).collect();
        let choices = found.iter().fold(vec![vec![]], |choices: Vec<Vec<PathBuf>>, of_crate| {
            let with = |choice: &Vec<PathBuf>| {
                of_crate.iter().map(|path| [choice.clone(), vec![path.clone()]].concat()).collect::<Vec<_>>()
            };
            choices.iter().flat_map(with).collect()
        });
        for choice in choices {
            let libraries = crates.iter().copied().zip(choice).collect();
            let snippets = Snippets { libraries, before, parameters };
            if snippets.complaints(right).is_empty() {
                return snippets;
            }
        }
        panic!("no libraries of {found:?} can be used");
    }

    /// What rustc says about a function with this body; empty when it takes it.
    pub fn complaints(&self, body: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("snippet.rs");
        let (before, parameters) = (self.before, self.parameters);
        let text = format!("#![forbid(unsafe_code)]\n{before}\npub fn snippet({parameters}) {{\n{body}\n}}\n");
        std::fs::write(&source, text).expect("writable");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "-A", "warnings", "-o"]);
        rustc.arg(folder.path().join("snippet.rmeta"));
        for (name, library) in &self.libraries {
            let deps = library.parent().expect("it lies in a folder");
            rustc.arg("--extern").arg(format!("{name}={}", library.display()));
            rustc.arg("-L").arg(format!("dependency={}", deps.display()));
        }
        let output = rustc.arg(&source).output().expect("rustc runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), said.is_empty(), "{said}");
        said
    }

    /// The snippet compiles.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn taken(&self, body: &str) {
        let said = self.complaints(body);
        assert!(said.is_empty(), "this is right:\n{body}\n{said}");
    }

    /// The snippet is refused for that reason alone.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn refused(&self, body: &str, code: &str) {
        let said = self.complaints(body);
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error[")).collect();
        let expected = format!("error[{code}]");
        let all = !errors.is_empty() && errors.iter().all(|line| line.starts_with(&expected));
        assert!(all, "expected {code} alone about\n{body}\n{said}");
    }
}

/// The newest libraries of a crate beside this test, the newest first.
fn libraries(name: &str) -> Vec<PathBuf> {
    let here = std::env::current_exe().expect("a test knows its own path");
    let folder = here.parent().expect("target/<profile>/deps");
    let mut found: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(folder)
        .expect("readable")
        .filter_map(|entry| entry.ok())
        .filter(|entry| is_library_of(&entry.path(), name))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    found.sort();
    found.into_iter().rev().take(NEWEST).map(|(_, path)| path).collect()
}

fn is_library_of(path: &Path, name: &str) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
}
