//! The `tally` command ([`crate::tally_command`]) on files in a folder of its own.
//!
//! A test writes its program as text, runs the command in that folder and checks exit status, output and errors.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::tally_command::{checked_tally, clang_once};

/// A folder with a test's files; it is removed with the value.
#[derive(Debug)]
pub struct Folder {
    folder: tempfile::TempDir,
    /// A clang in place of the one that `tally` finds.
    clang: Option<PathBuf>,
}

/// The exit status and output of a process.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `None` when a signal ended it.
    pub status: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Folder {
    /// A folder with these files.
    pub fn with(files: &[(&str, &str)]) -> Folder {
        let folder = Folder { folder: tempfile::tempdir().unwrap(), clang: None };
        for (name, text) in files {
            std::fs::write(folder.path(name), text).unwrap();
        }
        folder
    }

    /// The same for programs that are compiled in many ways: clang makes bitcode of each C file once.
    pub fn compiling_once(files: &[(&str, &str)]) -> Folder {
        Folder { clang: clang_once(), ..Folder::with(files) }
    }

    /// The path that a file of that name has, or would have.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The files in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `tally` with these arguments, in the folder.
    pub fn tally(&self, arguments: &[&str]) -> Outcome {
        self.tally_with(&[], arguments)
    }

    /// The same with environment variables.
    pub fn tally_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
        let mut command = self.command(checked_tally());
        Outcome::of(command.args(arguments).envs(variables.iter().copied()).output().unwrap())
    }

    /// Runs a program by `tally run` with these words, under each plan at both ends of optimisation, in each of these ways: it must end
    /// with status 0 and print `expected`.
    pub fn prints_under_all_plans(&self, ways: &[&str], words: &[&str], expected: &str) {
        for plan in ["refcount", "refcount-prompt", "trace"] {
            for level in ["0", "2"] {
                for way in ways {
                    let run = [&["run", "--plan", plan, "--opt", level, way], words].concat();
                    let outcome = self.tally(&run);
                    let printed = (outcome.status, outcome.stdout.as_str());
                    assert_eq!(printed, (Some(0), expected), "{run:?}: {outcome:?}");
                }
            }
        }
    }

    /// Runs `tally`. A signal ends it, so without a status, when it takes more processor time than that.
    pub fn tally_within(&self, processor_seconds: u64, arguments: &[&str]) -> Outcome {
        let mut shell = self.command(Path::new("sh"));
        let limit = format!("ulimit -t {processor_seconds}; exec \"$0\" \"$@\"");
        Outcome::of(shell.arg("-c").arg(limit).arg(checked_tally()).args(arguments).output().unwrap())
    }

    /// `tally build` to `program`, which must succeed without a word.
    pub fn build(&self, arguments: &[&str]) {
        let mut all = vec!["build", "-o", "program"];
        all.extend(arguments);
        let built = self.tally(&all);
        assert_eq!(built, Outcome { status: Some(0), stdout: String::new(), stderr: String::new() }, "{arguments:?}");
    }

    /// Runs the program that `build` made.
    pub fn program(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
        let mut command = self.command(&self.path("program"));
        Outcome::of(command.args(arguments).envs(variables.iter().copied()).output().unwrap())
    }

    /// Runs a tool, in the folder.
    pub fn run(&self, tool: &str, arguments: &[&str]) -> Outcome {
        Outcome::of(self.command(Path::new(tool)).args(arguments).output().unwrap())
    }

    /// A tool's standard output about `program`.
    pub fn inspect(&self, tool: &str, arguments: &[&str]) -> String {
        let outcome = self.run(tool, &[arguments, &["program"]].concat());
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        outcome.stdout
    }

    /// A command that starts in the folder, without variables of ours.
    pub fn command(&self, name: &Path) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TALLY_") {
                command.env_remove(name);
            }
        }
        command.envs(self.clang.iter().map(|clang| ("TALLY_CLANG", clang)));
        command
    }
}

impl Outcome {
    /// The outcome of a process that has ended.
    pub fn of(output: Output) -> Outcome {
        Outcome {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
