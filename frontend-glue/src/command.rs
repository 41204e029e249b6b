//! The `tally` command: what is typed, and what each word does.
//!
//! One file per subcommand under `command/`, each a small story over the library's rooms. Whatever
//! goes wrong becomes one message here, in one voice, with exit status 2: bad usage (reported by
//! clap) and bad input are the same to a script. A program that runs under `tally run` has its own
//! exit statuses; those of the runtime stand in `--help`.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use frontend_glue::crash_net::CrashNet;

mod build;
mod lower;
mod maps;
mod options;
mod remarks;
mod run;
mod verify;

/// The exit status of bad usage and bad input.
const BAD_INPUT: u8 = 2;

/// Tally manages the memory of programs that compile to LLVM: it lowers gc "refcount" functions
/// (llvm.gcroot, llvm.gcwrite, llvm.gcread) on stock LLVM 22 and runs or links them.
/// Objects are reference-counted with deferred counting; cycles are found and freed too.
///
/// Try it on a C program that only writes `#include <tally_gc.h>`:
///
///     tally run examples/lru_cache.c
#[derive(Debug, Parser)]
#[command(name = "tally", version, verbatim_doc_comment, after_help = EPILOGUE)]
pub struct Tally {
    #[command(subcommand)]
    command: Command,
}

const EPILOGUE: &str = "\
Examples:
  tally run program.ll                      compile in memory and run
  tally run --leak-check --stats program.c  the same for C; what is left? what did it cost?
  tally run --zeal program.c                find a forgotten root
  tally build -O3 a.ll b.bc -o program      link an executable
  tally lower program.ll -o lowered.ll      see what the calls and stores become

`tally COMMAND --help` says more about each.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Build(build::Build),
    Lower(lower::Lower),
    Verify(verify::Verify),
    Maps(maps::Maps),
}

/// A message for the user; the command ends with [`BAD_INPUT`].
#[derive(Debug)]
struct Failure(String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// Writes a result to standard output: a disk may be full there, too.
fn print(text: &[u8]) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text).and_then(|()| output.flush());
    written.map_err(|error| Failure(format!("standard output cannot be written: {error}")))
}

/// Does what the command line asks for.
pub fn main() -> ExitCode {
    restore_broken_pipe();
    let command = Tally::parse().command;
    let net = CrashNet::spread();
    let done = match command {
        Command::Run(run) => run.execute(net),
        Command::Build(build) => build.execute(),
        Command::Lower(lower) => lower.execute(),
        Command::Verify(verify) => verify.execute(),
        Command::Maps(maps) => maps.execute(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("tally: {message}");
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
    use super::Tally;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Tally::command().debug_assert();
    }
}
