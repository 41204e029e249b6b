//! The `tally` command: its command line, and the subcommands.
//!
//! There is one file per subcommand under `command/`. Every failure becomes one message here, with exit status 2: bad
//! usage (reported by clap) and bad input are the same to a script. A program that runs under `tally run` has its own
//! exit statuses; those of the runtime are listed in `--help`.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;

use crate::guard::crash_net::CrashNet;
use crate::guard::loaded_llvm;
use clap::{Parser, Subcommand};

mod build;
mod cc;
mod failure;
mod linking;
mod lower;
mod maps;
mod messages;
mod options;
mod remarks;
mod run;
mod shell;
mod sources;
mod verify;
mod warnings;
mod words;

use failure::Failure;

/// The exit status of bad usage and bad input.
const BAD_INPUT: u8 = 2;

/// Tally manages the memory of programs that compile to LLVM: it lowers gc "refcount" functions
/// (llvm.gcroot, llvm.gcwrite, llvm.gcread) on stock LLVM 22 and runs or links them.
/// Objects are reference-counted, at the next epoch (deferred plan) or at once (prompt plan);
/// garbage cycles are found and freed, too.
///
/// Try it on a C program that only writes `#include <tally_gc.h>`:
///
///   tally run examples/lru_cache.c
#[derive(Debug, Parser)]
#[command(name = "tally", version = version(), verbatim_doc_comment, after_help = EPILOGUE)]
struct Tally {
    #[command(subcommand)]
    command: Command,
}

/// Tally's version, and that of the LLVM in this process.
fn version() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let [major, minor, patch] = loaded_llvm::version();
        format!("{} (LLVM {major}.{minor}.{patch})", env!("CARGO_PKG_VERSION"))
    })
}

const EPILOGUE: &str = "\
Examples:
  tally run program.ll                      compile in memory and run
  tally run --leak-check --stats program.c  the same for C; lists leaks and costs
  tally run --zeal program.c                find a forgotten root
  tally build -O3 a.ll b.bc -o program      link an executable
  tally lower program.ll -o lowered.ll      see what the calls and stores become

`tally COMMAND --help` has the options of each.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Build(build::Build),
    Cc(cc::Cc),
    /// The same as cc, for C++: the program may have files in C with objects of Tally's
    #[command(name = "c++", disable_help_flag = true)]
    Cpp(cc::Cc),
    Lower(lower::Lower),
    Verify(verify::Verify),
    Maps(maps::Maps),
    Completions(shell::Completions),
    Man(shell::Man),
}

/// Reads a command line, whose first word is the command's name, without doing what it says: for the fuzz target
/// `command_line`.
///
/// # Errors
/// What the command would say of it.
pub fn parse_command_line(words: impl IntoIterator<Item = OsString>) -> Result<(), clap::Error> {
    Tally::try_parse_from(words::with_two_dashes(words.into_iter().collect())).map(drop)
}

/// Runs the subcommand of the command line: all of `main.rs`.
pub fn main() -> ExitCode {
    restore_broken_pipe();
    ended(words::with_response_files(std::env::args_os().collect()).and_then(run))
}

fn run(words: Vec<OsString>) -> Result<(), Failure> {
    let command = Tally::parse_from(words::with_two_dashes(words)).command;
    let net = CrashNet::spread();
    match command {
        Command::Run(run) => run.execute(net),
        Command::Build(build) => build.execute(),
        Command::Lower(lower) => lower.execute(),
        Command::Verify(verify) => verify.execute(),
        Command::Maps(maps) => maps.execute(),
        Command::Completions(completions) => completions.execute(),
        Command::Man(man) => man.execute(),
        Command::Cc(cc) => cc.execute(cc::Driver::C),
        Command::Cpp(cc) => cc.execute(cc::Driver::Cpp),
    }
}

fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            tally_heap::tell_line!("tally: {message}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// Rust ignores SIGPIPE; a program run by `tally run` must meet the signal as an executable would,
/// and `tally lower … | head` ends quietly.
fn restore_broken_pipe() {
    // SAFETY: sets the default action before any other thread exists.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    use super::{Tally, parse_command_line};
    use clap::CommandFactory;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    /// Words of sensible and of senseless command lines. The fuzz target `command_line` begins with them, too.
    const WORDS: &str = include_str!("../../fuzz/corpus/command_line/words");

    /// A tenth of a second of command lines, the same each time: understood, or refused in words.
    #[test]
    fn command_lines_of_random_words_are_understood_or_refused() {
        let words: Vec<&str> = WORDS.lines().collect();
        let mut state = 1u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let (mut understood, mut refused) = (0, 0);
        for _ in 0..3000 {
            let mut line = vec![OsString::from("tally"), OsString::from(words[below(5)])];
            for _ in 0..below(7) {
                let mut word = words[below(words.len())].as_bytes().to_vec();
                if below(8) == 0 && !word.is_empty() {
                    let at = below(word.len());
                    word[at] = below(255) as u8 + 1;
                }
                line.push(OsString::from_vec(word));
            }
            match parse_command_line(line.iter().cloned()) {
                Ok(_) => understood += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty(), "{line:?}");
                    refused += 1;
                }
            }
        }
        assert!(understood > 100 && refused > 100, "{understood} {refused}");
    }

    /// The corpus of the fuzz target.
    #[test]
    fn corpus_of_the_fuzz_target_is_understood_or_refused() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/command_line");
        let mut inputs = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let words = bytes.split(|&byte| byte == b'\n').map(|word| OsString::from_vec(word.to_vec()));
            if let Err(error) = parse_command_line([OsString::from("tally")].into_iter().chain(words)) {
                assert!(!error.to_string().is_empty(), "{bytes:?}");
            }
            inputs += 1;
        }
        assert!(inputs >= 10, "{inputs} inputs");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Tally::command().debug_assert();
    }
}
