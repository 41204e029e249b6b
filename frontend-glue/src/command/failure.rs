//! The failure of a subcommand, and the printing of its result.

use std::fmt::Display;
use std::io::Write;

/// A message for the user; the command ends with the status of bad input.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// Writes a result to standard output: a disk may be full there, too.
pub(super) fn print(text: &[u8]) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text).and_then(|()| output.flush());
    written.map_err(|error| Failure(format!("standard output cannot be written: {error}")))
}
