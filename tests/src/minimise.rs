//! Makes the program in a file short, one child process a try, so that a crash or an endless loop is a failure like
//! any other.
//!
//! The soak command and the replay command do it; the child is either of them, started with `--run FILE`, and reports
//! by its exit status.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::journal::{entry_text, parse_entry};
use crate::op::Op;
use crate::setup::Setup;
use crate::shrink::shrink;

/// Seconds after which a program counts as stuck.
const PATIENCE: &str = "60";

/// A program that fails.
#[derive(Debug)]
pub struct Failing {
    /// Its setup.
    pub setup: Setup,
    /// Its remaining ops.
    pub ops: Vec<Op>,
    /// Its file.
    pub place: PathBuf,
    /// The exit status of the last process that ran it.
    pub status: ExitStatus,
    /// The number of ops before, and of runs.
    pub before: (usize, u32),
}

/// Reads a program with its setup.
pub fn read(place: &Path) -> Result<(Setup, Vec<Op>), String> {
    let text = std::fs::read_to_string(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let (setup, ops) = parse_entry(&text).map_err(|error| format!("{}: {error}", place.display()))?;
    Ok((Setup::named(&setup)?, ops))
}

/// Runs the program of a file in a process of its own.
pub fn run_apart(place: &Path) -> Result<ExitStatus, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("timeout");
    command.args([PATIENCE.as_ref(), own.as_os_str(), "--run".as_ref(), place.as_os_str()]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(|error| format!("timeout: {error}"))
}

/// The shortest failing program found, written to `smaller`; `None` when this one does not fail. `tell` gets the
/// present length.
pub fn minimise(place: &Path, smaller: &Path, mut tell: impl FnMut(usize)) -> Result<Option<Failing>, String> {
    let (setup, ops) = read(place)?;
    let write = |ops: &[Op]| {
        std::fs::write(smaller, entry_text(setup.name, ops)).map_err(|error| format!("{}: {error}", smaller.display()))
    };
    let (mut tries, mut shortest) = (0, ops.len());
    let mut fails = |ops: &[Op]| {
        tries += 1;
        let fails = write(ops).is_ok() && run_apart(smaller).is_ok_and(|status| !status.success());
        if fails && ops.len() < shortest {
            shortest = ops.len();
            tell(shortest);
        }
        fails
    };
    if !fails(&ops) {
        return Ok(None);
    }
    let best = shrink(&ops, &mut fails);
    write(&best)?;
    let status = run_apart(smaller)?;
    Ok(Some(Failing { setup, ops: best, place: smaller.to_owned(), status, before: (ops.len(), tries) }))
}
