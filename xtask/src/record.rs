//! `cargo xtask record COMMAND…`: runs a long check and notes what came of it in docs/work/record.md.
//!
//! Soaks, fuzzing, mutants and coverage take too long for every change. What they found last, on which state of the
//! tree, is of interest all the same. The record is one table, newest row first: date, command, revision, duration,
//! exit status, and the last line that the command wrote to standard output. Its output passes through while it runs.

use crate::failure::{Failure, Outcome};
use crate::{process, tree};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Where the table stands, from the project's folder.
const PLACE: &str = "docs/work/record.md";

/// The line after which rows stand.
const RULE: &str = "|---|---|---|---|---|---|";

/// `cargo xtask record`
#[derive(clap::Args)]
pub struct Arguments {
    /// The command to run, in the project's folder, and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// One run, as the table shows it.
struct Row {
    date: String,
    command: String,
    revision: String,
    duration: Duration,
    status: String,
    last_line: String,
}

/// Runs the command and adds its row. The exit status is the command's.
pub fn record(arguments: &Arguments) -> Outcome {
    let before = read()?;
    with_row(&before, "")?;
    let (date, revision) = (output_line(&["date", "-u", "+%F"])?, revision()?);
    let mut command = process::command(&arguments.command[0]);
    command.args(&arguments.command[1..]);
    let start = Instant::now();
    let (status, last_line) = run(&mut command)?;
    let row = Row {
        date,
        command: process::shown(&command),
        revision,
        duration: start.elapsed(),
        status: status.code().map_or_else(|| status.to_string(), |code| code.to_string()),
        last_line,
    };
    // Read again: the command may have taken hours.
    let text = with_row(&read()?, &row.shown())?;
    std::fs::write(tree::root().join(PLACE), text).map_err(|error| Failure::step(format!("{PLACE}: {error}")))?;
    eprintln!("{PLACE}: one row more");
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn read() -> Result<String, Failure> {
    std::fs::read_to_string(tree::root().join(PLACE)).map_err(|error| Failure::unprepared(format!("{PLACE}: {error}")))
}

/// The document with a row more, first in its table.
fn with_row(text: &str, row: &str) -> Result<String, Failure> {
    let rule = format!("{RULE}\n");
    match text.split_once(&rule) {
        Some((head, rows)) => Ok(format!("{head}{rule}{row}{rows}")),
        None => Err(Failure::unprepared(format!("{PLACE} has no table: no line reads `{RULE}`"))),
    }
}

/// The commit that the tree is at; a `+` follows where files differ from it.
fn revision() -> Result<String, Failure> {
    let commit = output_line(&["git", "rev-parse", "--short", "HEAD"])?;
    let changes = process::output_of(process::command("git").args(["status", "--porcelain"]))?;
    Ok(if changes.is_empty() { commit } else { format!("{commit}+") })
}

fn output_line(words: &[&str]) -> Result<String, Failure> {
    process::output_of(process::command(words[0]).args(&words[1..])).map(|text| text.trim().to_owned())
}

/// Runs the command, shows its output as it comes, and keeps the last line of it that is not empty.
fn run(command: &mut Command) -> Result<(std::process::ExitStatus, String), Failure> {
    let problem = |error: std::io::Error| Failure::step(format!("cannot run the command to record: {error}"));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(problem)?;
    let output = child.stdout.take().expect("standard output is a pipe");
    let mut last = String::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line.map_err(problem)?).into_owned();
        // Whoever reads our output may have gone; the record goes on.
        let _ = writeln!(std::io::stdout(), "{line}");
        if !line.trim().is_empty() {
            last = line.trim().to_owned();
        }
    }
    Ok((child.wait().map_err(problem)?, last))
}

impl Row {
    fn shown(&self) -> String {
        let Row { date, command, revision, duration, status, last_line } = self;
        let cell = |text: &str| text.replace('|', "\\|");
        let (command, last_line, seconds) = (cell(command), cell(last_line), duration.as_secs());
        format!("| {date} | `{command}` | {revision} | {seconds} s | {status} | {last_line} |\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{PLACE, RULE, Row, run, with_row};
    use crate::process::command;
    use std::time::Duration;

    fn row() -> Row {
        Row {
            date: "2026-01-02".into(),
            command: "cargo xtask soak --seed 1".into(),
            revision: "abc1234+".into(),
            duration: Duration::from_millis(61_900),
            status: "0".into(),
            last_line: "a|b".into(),
        }
    }

    #[test]
    fn newest_row_stands_first_and_the_others_stay() {
        let before = format!("# Record\n\n| head |\n{RULE}\n| old |\n");
        let after = with_row(&before, &row().shown()).expect("there is a table");
        let wanted = format!(
            "# Record\n\n| head |\n{RULE}\n| 2026-01-02 | `cargo xtask soak --seed 1` | abc1234+ | 61 s | 0 | a\\|b |\n| old |\n"
        );
        assert_eq!(after, wanted);
    }

    #[test]
    fn document_without_a_table_is_refused_before_anything_runs() {
        let failure = with_row("# Record\n", "").expect_err("there is no table");
        assert!(failure.to_string().contains(PLACE), "{failure}");
    }

    #[test]
    fn last_line_that_says_something_is_kept_with_the_status() {
        let (status, last) =
            run(command("sh").args(["-c", "echo one; echo ' two '; echo; exit 3"])).expect("a shell is there");
        assert_eq!((status.code(), last.as_str()), (Some(3), "two"));
    }

    #[test]
    fn record_of_this_tree_has_a_table() {
        let text = super::read().expect("the record is there");
        assert_eq!(with_row(&text, "").expect("it has a table"), text);
    }
}
