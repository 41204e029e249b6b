//! The ways to build a program of benches/programs: the heap under it, and the words that compile it.
//!
//! All go through the same clang at -O2, what a release build has, so that only the heap differs.

use crate::bench::build::{DEFERRED, PROMPT, Plan, TRACE};
use crate::{process, setup};
use std::path::Path;
use std::process::Command;

/// A heap under a program.
pub struct Way {
    /// What the tables and `--limit` call it.
    pub name: &'static str,
    /// What it is, for readers of the tables.
    pub what: &'static str,
    /// What stands behind the source.
    pub libraries: &'static [&'static str],
    /// A header that must be there, and the Debian package that has it.
    needs: Option<(&'static str, &'static str)>,
    compiler: Compiler,
}

enum Compiler {
    Tally(Plan),
    Clang(&'static [&'static str]),
}

/// All of them, in the order of the tables; the others are compared with the first.
pub const WAYS: &[Way] = &[
    Way {
        name: "malloc",
        what: "freed by hand, glibc",
        libraries: &["-lm"],
        needs: None,
        compiler: Compiler::Clang(&["-DFREED_BY_HAND"]),
    },
    Way {
        name: DEFERRED.executable,
        what: "on Tally",
        libraries: &[],
        needs: None,
        compiler: Compiler::Tally(DEFERRED),
    },
    Way {
        name: PROMPT.executable,
        what: "on Tally, objects die when their last reference goes",
        libraries: &[],
        needs: None,
        compiler: Compiler::Tally(PROMPT),
    },
    Way {
        name: TRACE.executable,
        what: "on Tally, nothing is counted, and collections stop the program",
        libraries: &[],
        needs: None,
        compiler: Compiler::Tally(TRACE),
    },
    Way {
        name: "mimalloc",
        what: "freed by hand, mimalloc",
        libraries: &["-lm", "-lmimalloc"],
        needs: Some(("/usr/include/mimalloc-override.h", "libmimalloc-dev")),
        compiler: Compiler::Clang(&["-DFREED_BY_HAND", "-include", "stdlib.h", "-include", "mimalloc-override.h"]),
    },
    Way {
        name: "boehm",
        what: "on the conservative collector of Boehm and Demers",
        libraries: &["-lm", "-lgc"],
        needs: Some(("/usr/include/gc.h", "libgc-dev")),
        compiler: Compiler::Clang(&["-DON_BOEHM"]),
    },
];

impl Way {
    /// The Debian package that it lacks, if it does.
    pub fn missing_package(&self) -> Option<&'static str> {
        self.needs.filter(|(header, _)| !Path::new(header).exists()).map(|(_, package)| package)
    }

    /// Whether it runs on Tally.
    pub fn is_tally(&self) -> bool {
        matches!(self.compiler, Compiler::Tally(_))
    }

    /// What compiles and links a source; the output and the libraries are to follow.
    pub fn command(&self, tally: &Path, source: &Path) -> Command {
        let mut command = match &self.compiler {
            Compiler::Tally(plan) => {
                let mut command = process::command(tally);
                command.args(["build", "--opt", "2", "--plan", plan.option]);
                command
            }
            Compiler::Clang(words) => {
                let mut command = process::command(setup::llvm_tool("clang"));
                command.arg("-O2").args(*words);
                command
            }
        };
        command.arg(source);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::WAYS;

    #[test]
    fn first_way_is_there_everywhere_and_names_are_of_one_way_each() {
        assert_eq!((WAYS[0].name, WAYS[0].missing_package()), ("malloc", None));
        let mut names: Vec<&str> = WAYS.iter().map(|way| way.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), WAYS.len());
    }
}
