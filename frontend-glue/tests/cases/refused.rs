//! What is no program for Tally, told as data: each `refused/*.ll` is a situation, and what must be said about it.
//!
//! ```text
//! ; REFUSED: text        a line of the message holds this; every line of it is expected
//! ; BY: run build        only by these commands; otherwise by run, lower and verify
//! ```
//!
//! The command itself is run, in a folder of its own: it must end with status 2 and leave nothing behind. A message is
//! short: lines that show the instruction or continue LLVM's words (indented, or `>>>` of the linker) are not counted.

use crate::trial;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::{Command, Output};
use tally_kit::situation::Situation;
use tally_kit::tally_command::checked_tally;

/// Each file.
pub fn trials() -> Vec<Trial> {
    let situations = Situation::all("frontend-glue/tests/refused", 100).into_iter();
    situations.map(|all| trial(format!("refused::{}", all.name()), move || check(&all))).collect()
}

fn check(situation: &Situation) -> Result<(), String> {
    let expected: Vec<&str> = situation.all_of("REFUSED").collect();
    assert!(!expected.is_empty(), "{}: says nothing about what is expected", situation.file.display());
    let commands = situation.one_of("BY").unwrap_or("run lower verify");
    let outcome = |command: &str| refused(&situation.file, command, &expected).err();
    let failures: Vec<String> =
        commands.split(' ').filter_map(|command| Some(format!("{command}: {}", outcome(command)?))).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n")) }
}

fn refused(file: &Path, command: &str, expected: &[&str]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    std::fs::copy(file, folder.path().join(name)).unwrap();
    let arguments: &[&str] = match command {
        "build" => &["build", name, "-o", "program"],
        "lower" => &["lower", name, "-o", "lowered.ll"],
        other => &[other, name],
    };
    let Output { status, stdout, stderr } =
        Command::new(checked_tally()).args(arguments).current_dir(folder.path()).output().unwrap();
    let message = String::from_utf8_lossy(&stderr).into_owned();
    if status.code() != Some(2) {
        return Err(format!("{status}, not status 2\n{message}"));
    }
    if !stdout.is_empty() {
        return Err(format!("something on standard output: {}", String::from_utf8_lossy(&stdout)));
    }
    if let Some(missing) = expected.iter().find(|line| !message.contains(**line)) {
        return Err(format!("does not say `{missing}` but\n{message}"));
    }
    let is_sentence =
        |line: &&str| line.starts_with("tally: ") || line.starts_with("error: ") || line.starts_with(name);
    // `tally verify` adds how many errors there were.
    let spoken = message.lines().filter(is_sentence).count() - usize::from(message.contains("error: "));
    if spoken > expected.len().max(1) {
        return Err(format!("{spoken} lines, {} expected\n{message}", expected.len()));
    }
    if std::fs::read_dir(folder.path()).unwrap().count() != 1 {
        return Err("something was left behind".into());
    }
    Ok(())
}
