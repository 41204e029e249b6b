//! The journal: a file with the program that a process is running, in case the process dies.
//!
//! A broken heap often ends the process without a panic or report: the runtime stops at once at a violated invariant,
//! or some code reads unmapped memory. So every run writes its setup and program to
//! `<temp>/tally-oracle/<pid>-<n>.txt` and removes the file when it ends; a file that is left has the program that
//! killed its process. The soak command reads it and shrinks it; by hand:
//! `cargo run -p tally-tests --bin soak -- --shrink FILE`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::op::{Op, parse_program, program_text};

/// A program under way; dropping it takes it out of the journal.
#[derive(Debug)]
pub struct JournalEntry {
    place: Option<PathBuf>,
}

impl JournalEntry {
    /// Notes the program. If the journal cannot be written, the run goes on without it.
    pub fn new(setup: &str, ops: &[Op]) -> JournalEntry {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = folder().join(format!("{}-{number}.txt", std::process::id()));
        let written = std::fs::create_dir_all(folder()).and_then(|()| std::fs::write(&place, entry_text(setup, ops)));
        JournalEntry { place: written.is_ok().then_some(place) }
    }
}

impl Drop for JournalEntry {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            let _ = std::fs::remove_file(place);
        }
    }
}

/// Returns the file with the program that process `pid` was running when it died.
pub fn left_by(pid: u32) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder()).ok()?;
    let prefix = format!("{pid}-");
    let mut places = entries.filter_map(|entry| Some(entry.ok()?.path()));
    places.find(|place| place.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
}

/// The text of a program with its setup: the form of the journal and of files for `soak`.
pub fn entry_text(setup: &str, ops: &[Op]) -> String {
    format!("# setup {setup}\n{}", program_text(ops))
}

/// Reads such a text; without a first line that says so, the setup is `default`.
pub fn parse_entry(text: &str) -> Result<(String, Vec<Op>), String> {
    let setup = text.lines().next().and_then(|line| line.strip_prefix("# setup ")).unwrap_or("default");
    Ok((setup.trim().to_owned(), parse_program(text)?))
}

/// The folder of the journal and of failure reports.
pub fn folder() -> PathBuf {
    std::env::temp_dir().join("tally-oracle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_there_while_its_program_runs() {
        let ops = [Op::Epoch, Op::Collect];
        let entry = JournalEntry::new("sliced", &ops);
        let text = std::fs::read_to_string(entry.place.as_ref().unwrap()).unwrap();
        assert_eq!(parse_entry(&text).unwrap(), ("sliced".to_owned(), ops.to_vec()));
        let place = entry.place.clone().unwrap();
        drop(entry);
        assert!(!place.exists());
    }
}
