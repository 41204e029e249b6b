//! What is no program for Tally, told as data: each `refused/*.ll` is a situation, and what must be said about it.
//!
//! ```text
//! ; REFUSED: text        a line of the message holds this; every line of it is expected
//! ; BY: run build        only by these commands; otherwise by run, lower and verify
//! ```
//!
//! The command itself is run, in a folder of its own: it must end with status 2 and leave nothing behind. A message is
//! short: lines that show the instruction or continue LLVM's words (indented, or `>>>` of the linker) are not counted.

use std::path::Path;
use std::process::{Command, Output};
use tally_kit::tally_command::checked_tally;

#[test]
fn every_situation_is_refused_in_one_sentence() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 40, "the situations are missing");
    let failures: Vec<String> = files.iter().flat_map(|file| situation(file)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn situation(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let told = |keyword: &str| -> Vec<String> {
        let prefix = format!("; {keyword}: ");
        text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
    };
    let expected = told("REFUSED");
    assert!(!expected.is_empty(), "{}: says nothing about what is expected", file.display());
    let commands = told("BY").pop().unwrap_or_else(|| "run lower verify".to_owned());
    let outcome = |command: &str| refused(file, command, &expected).err();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    commands.split(' ').filter_map(|command| Some(format!("{name}, {command}: {}", outcome(command)?))).collect()
}

fn refused(file: &Path, command: &str, expected: &[String]) -> Result<(), String> {
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
    if let Some(missing) = expected.iter().find(|line| !message.contains(line.as_str())) {
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
