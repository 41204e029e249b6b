//! Options about source files, in the spelling of compilers: the language, and what clang is told for C and C++.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::load::reading::Reading;
use crate::load::source_file::Kind;

/// How source files are read.
#[derive(Args, Debug)]
pub(super) struct Sources {
    /// The language of standard input (the file -), and of files whose name tells none
    #[arg(short = 'x', value_name = "LANGUAGE", value_enum)]
    language: Option<Language>,
    /// For C and C++: look for headers in DIR, too
    #[arg(short = 'I', value_name = "DIR", allow_hyphen_values = true)]
    include: Vec<OsString>,
    /// For C and C++: define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<OsString>,
    /// For C or C++: the edition of the language, as -std=c11 or -std=c++20
    #[arg(long = "std", value_name = "EDITION")]
    editions: Vec<OsString>,
    /// For C: exceptions of C++ may pass through its functions (-fexceptions)
    #[arg(long = "fexceptions", overrides_with = "exceptions")]
    exceptions: bool,
    /// For C and C++: clang's warnings, as -Wall; and -Wl,WORDS: words for the linker
    #[arg(short = 'W', value_name = "WORDS")]
    words: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// C, over tally_gc.h
    C,
    /// C++; it calls what files in C define
    #[value(name = "c++")]
    Cpp,
    /// LLVM IR, as text or as bitcode
    Ir,
}

impl Sources {
    pub(super) fn reading(&self) -> Reading {
        let kind = |language| match language {
            Language::C => Kind::C,
            Language::Cpp => Kind::Cpp,
            Language::Ir => Kind::Text,
        };
        let with = |option: &'static str| move |value: &OsString| joined(option, value);
        let include = self.include.iter().map(with("-I"));
        let define = self.define.iter().map(with("-D"));
        let warnings = self.words.iter().filter(|word| !is_for_linker(word)).map(with("-W"));
        let exceptions = self.exceptions.then(|| OsString::from("-fexceptions"));
        Reading {
            language: self.language.map(kind),
            clang: include.chain(define).chain(warnings).chain(exceptions).collect(),
            editions: self.editions.clone(),
        }
    }

    /// The words of -Wl,…
    pub(super) fn for_linker(&self) -> impl Iterator<Item = OsString> {
        self.words.iter().filter(|word| is_for_linker(word)).map(|word| joined("-W", word))
    }
}

fn is_for_linker(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"l,")
}

pub(super) fn joined(option: &str, value: &OsString) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}
