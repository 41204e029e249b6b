//! The `tally` command. What is typed, and what each word does, stands in `command.rs`.

use std::process::ExitCode;

mod command;

fn main() -> ExitCode {
    command::main()
}
