//! How files become modules where their names do not say it: the language, and words for clang.

use std::ffi::OsString;

use crate::load::source_file::Kind;

/// How source files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The language of standard input, and of files whose name and first bytes tell none.
    pub language: Option<Kind>,
    /// Words of clang for files in C and C++, as in `-I include -DSIZE=3`.
    pub clang: Vec<OsString>,
    /// Editions of C and of C++: the last of each counts.
    pub editions: Vec<OsString>,
}

impl Reading {
    /// The words with which clang compiles a file of that kind.
    pub(crate) fn words(&self, kind: Kind) -> Vec<OsString> {
        let is_of_cpp = |edition: &OsString| {
            let name = edition.as_encoded_bytes();
            name.starts_with(b"c++") || name.starts_with(b"gnu++")
        };
        let edition = self.editions.iter().rfind(|edition| is_of_cpp(edition) == (kind == Kind::Cpp));
        let edition = edition.map(|edition| {
            let mut word = OsString::from("-std=");
            word.push(edition);
            word
        });
        self.clang.iter().cloned().chain(edition).collect()
    }
}
