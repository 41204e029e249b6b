//! How a chore fails: what was tried, what came of it, and what to do about it.
//!
//! Every command returns [`Failure`] and `main` prints it, once, in one voice. There are two kinds because scripts
//! tell them apart by exit status: a step that failed (1), and a machine or command line that is not right (2).

use std::fmt;
use std::process::ExitCode;

/// Why a chore stopped.
#[derive(Debug)]
pub enum Failure {
    /// A step ran and failed; the message names it.
    Step(String),
    /// The machine lacks something, or the command line asks for what is not there; the message says what to do.
    Unprepared(String),
}

/// The result of a chore: the exit status to pass on, or why there is none.
pub type Outcome = Result<ExitCode, Failure>;

impl Failure {
    /// A step that failed.
    pub fn step(message: impl Into<String>) -> Failure {
        Failure::Step(message.into())
    }

    /// A machine or command line that is not right.
    pub fn unprepared(message: impl Into<String>) -> Failure {
        Failure::Unprepared(message.into())
    }

    /// The exit status that tells the two kinds apart.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Step(_) => ExitCode::from(1),
            Failure::Unprepared(_) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Step(message) | Failure::Unprepared(message) => formatter.write_str(message),
        }
    }
}
