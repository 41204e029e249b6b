//! The `tally` command; `command.rs` has its command line and subcommands.

use std::process::ExitCode;

mod command;

fn main() -> ExitCode {
    command::main()
}
