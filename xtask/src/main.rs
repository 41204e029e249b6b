//! `cargo xtask …`: the project's chores, so that nothing else has to be typed on a fresh machine.
//!
//! One file per command; this one only reads the command line and sends it on. `run` and `test` are the two
//! commands of README.md: they install what is missing ([`setup`]) before they build anything. This crate must
//! build on a machine that has Rust and nothing else, so it depends on no crate that needs LLVM; what needs LLVM
//! is built by the `cargo` it starts.
//!
//! Exit status: that of the program for `run`, otherwise 0, 1 for a step that failed, and 2 for a wrong command
//! line or a machine that lacks something `xtask` may not install.

mod ablate;
mod bench;
mod check;
mod coverage;
mod emulated;
mod failure;
mod install;
mod llvm_tests;
mod map;
mod mutants;
mod patch;
mod process;
mod progress;
mod record;
mod replay;
mod run;
mod scenarios;
mod setup;
mod starts;
mod test;
mod tree;
mod valgrind;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The project's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what building and running Tally needs (LLVM 22, clang, lld, a C compiler, valgrind)
    Setup(setup::Arguments),
    /// Build Tally and run a .ll, .bc or .c program with it
    Run(run::Arguments),
    /// Install the command, libraries, headers, documents, manuals and completions below a folder, or package them
    Install(install::Arguments),
    /// Run what docs/use/starts.md shows, each start in an empty folder
    Starts(starts::Arguments),
    /// Build the runtime and run every test of the workspace
    Test(test::Arguments),
    /// Formatting, clippy with warnings denied, documentation, and the house's own rules
    Check,
    /// Build, time and count the workloads
    #[command(subcommand)]
    Bench(bench::Command),
    /// Run small programs under valgrind memcheck; any error fails
    Valgrind(valgrind::Arguments),
    /// Run a failing random program once more, make it short, and draw the heap
    Replay(replay::Arguments),
    /// Run random programs on heap and model for as long as one likes
    Soak(replay::Arguments),
    /// Which lines of the crates without LLVM do tests run?
    Coverage(coverage::Arguments),
    /// Break rules on purpose, one at a time, and see that a test notices
    Mutants(mutants::Arguments),
    /// Switch heuristics off, one at a time, and print what each has earned
    Ablate(ablate::Arguments),
    /// Compile programs for AArch64 and run them by an emulator
    Aarch64(emulated::Arguments),
    /// Compile programs for RISC-V 64 and run them by an emulator
    Riscv64(emulated::Arguments),
    /// Give LLVM's own tests of garbage collection to Tally (needs LLVM's source tree)
    LlvmTests(llvm_tests::Arguments),
    /// List the files below a folder, each with the sentence that it opens with
    Map(map::Arguments),
    /// Run a long check and note what came of it in docs/work/record.md
    Record(record::Arguments),
    /// Print which known situations the tests cover, and check that they do
    Scenarios(scenarios::Arguments),
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Setup(arguments) => setup::setup(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Install(arguments) => install::install(&arguments),
        Command::Starts(arguments) => starts::starts(&arguments),
        Command::Test(arguments) => test::test(&arguments),
        Command::Check => check::check(),
        Command::Bench(command) => bench::bench(&command),
        Command::Valgrind(arguments) => valgrind::valgrind(&arguments),
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Soak(arguments) => replay::soak(&arguments),
        Command::Coverage(arguments) => coverage::coverage(&arguments),
        Command::Mutants(arguments) => mutants::mutants(&arguments),
        Command::Ablate(arguments) => ablate::ablate(&arguments),
        Command::Aarch64(arguments) => emulated::emulated(&emulated::AARCH64, &arguments),
        Command::Riscv64(arguments) => emulated::emulated(&emulated::RISCV64, &arguments),
        Command::LlvmTests(arguments) => llvm_tests::llvm_tests(&arguments),
        Command::Map(arguments) => map::map(&arguments),
        Command::Record(arguments) => record::record(&arguments),
        Command::Scenarios(arguments) => scenarios::scenarios(&arguments),
    };
    match outcome {
        Ok(status) => status,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;
    use clap::{CommandFactory, Parser};

    #[test]
    fn command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn run_hands_tally_options_and_arguments_through() {
        let line = ["xtask", "run", "a.c", "--zeal", "--stats=s.json", "--", "-n", "5"];
        let parsed = CommandLine::try_parse_from(line).expect("this is how README.md runs a program");
        let super::Command::Run(arguments) = parsed.command else {
            panic!("`run` is the run command");
        };
        assert_eq!(arguments.rest, ["a.c", "--zeal", "--stats=s.json", "--", "-n", "5"]);
    }

    #[test]
    fn run_without_a_file_is_refused() {
        assert!(CommandLine::try_parse_from(["xtask", "run"]).is_err());
    }
}
