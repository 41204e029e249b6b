//! The `tally` command; the library's `command` has its command line and subcommands.

use std::process::ExitCode;

fn main() -> ExitCode {
    tally_llvm::run_command()
}
