//! `cargo xtask starts`: what docs/use/starts.md shows is run as it is written there.
//!
//! Each heading of that page is a start: a block of shell commands, and the text that it prints. The commands run in an empty folder,
//! with Tally installed at `$PREFIX` and its sources at `$TALLY`; what they print must be the text. So a reader who
//! copies them gets what the page promises. The last line says how long each took.
//!
//! With `--clean` the same happens in a Debian that debootstrap makes, with the Debian package of Tally and what it and
//! the starts ask apt for, and nothing else (`clean`).

mod clean;

use crate::failure::{Failure, Outcome};
use crate::install::{cannot, install_at};
use crate::{process, setup, tree};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// `cargo xtask starts`
#[derive(clap::Args)]
pub struct Arguments {
    /// Only the starts whose headings contain this
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Run them in a Debian in this folder, which is made if it is not there (as root; needs debootstrap)
    #[arg(long, value_name = "FOLDER")]
    clean: Option<PathBuf>,
}

/// The page, below the tree's root.
const PAGE: &str = "docs/use/starts.md";

/// A heading of the page, its commands, and what they print.
#[derive(Debug, PartialEq, Eq)]
struct Start {
    heading: String,
    commands: String,
    printed: String,
}

/// Runs the page.
pub fn starts(arguments: &Arguments) -> Outcome {
    let page = std::fs::read_to_string(tree::root().join(PAGE))
        .map_err(|error| Failure::step(format!("{PAGE} cannot be read: {error}")))?;
    let mut starts = starts_of(&page);
    if let Some(word) = &arguments.only {
        starts.retain(|start| start.heading.to_lowercase().contains(&word.to_lowercase()));
    }
    if starts.is_empty() {
        return Err(Failure::unprepared(format!("{PAGE} has no such start")));
    }
    if let Some(folder) = &arguments.clean {
        return clean::run(folder, &starts);
    }
    setup::ensure(setup::BUILD)?;
    // Outside the tree: cargo would take a package inside for a member of the workspace.
    let folder = std::env::temp_dir().join(format!("tally-starts-{}", std::process::id()));
    let prefix = folder.join("installed");
    install_at(&prefix)?;
    let mut took = Took::default();
    for (number, start) in starts.iter().enumerate() {
        let place = folder.join(number.to_string());
        std::fs::create_dir_all(&place).map_err(|error| cannot("make", &place, &error))?;
        let mut shell = Command::new("bash");
        shell.current_dir(&place).env("PREFIX", &prefix).env("TALLY", tree::root());
        shell.env("CARGO_TARGET_DIR", tree::release()?.join("starts"));
        took.run(start, &mut shell)?;
    }
    took.print();
    // After a failure it stays, to be looked at.
    std::fs::remove_dir_all(&folder).map_err(|error| cannot("remove", &folder, &error))?;
    Ok(ExitCode::SUCCESS)
}

/// How long starts took.
#[derive(Debug, Default)]
struct Took(Vec<String>);

impl Took {
    /// Runs a start.
    fn run(&mut self, start: &Start, shell: &mut Command) -> Result<(), Failure> {
        let begun = Instant::now();
        start.run(shell)?;
        self.0.push(format!("{} {} s", start.heading, begun.elapsed().as_secs()));
        Ok(())
    }

    fn print(self) {
        println!("{} starts: {}", self.0.len(), self.0.join(", "));
    }
}

impl Start {
    /// Runs the commands by a shell; what they print is compared.
    fn run(&self, shell: &mut Command) -> Result<(), Failure> {
        eprintln!("starts: {}", self.heading);
        let printed = process::output_of(shell.args(["-e", "-u", "-o", "pipefail", "-c", &self.commands]))?;
        if printed.trim_end() == self.printed.trim_end() {
            return Ok(());
        }
        let what = format!("\"{}\" of {PAGE} prints\n{printed}and the page says\n{}", self.heading, self.printed);
        Err(Failure::step(what))
    }
}

/// The starts of a page: behind each heading of the second level a block of `sh` and one of `text`.
fn starts_of(page: &str) -> Vec<Start> {
    let sections = page.split("\n## ").skip(1);
    let start = |section: &str| {
        let heading = section.lines().next()?.to_owned();
        Some(Start { heading, commands: block(section, "sh")?, printed: block(section, "text")? })
    };
    sections.filter_map(start).collect()
}

/// The first fenced block of a language.
fn block(section: &str, language: &str) -> Option<String> {
    let (_, rest) = section.split_once(&format!("\n```{language}\n"))?;
    Some(rest.split_once("\n```")?.0.to_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_read_from_the_page() {
        let page = "# Starts\n\ntext\n\n## One\n\nwords\n\n```sh\ncat <<'END'\n1\nEND\n```\n\n```text\n1\n```\n\n## No start\n";
        let one = Start { heading: "One".into(), commands: "cat <<'END'\n1\nEND\n".into(), printed: "1\n".into() };
        assert_eq!(starts_of(page), [one]);
    }

    #[test]
    fn the_page_has_its_five() {
        let page = std::fs::read_to_string(tree::root().join(PAGE)).unwrap();
        assert_eq!(starts_of(&page).len(), 5);
    }

    #[test]
    fn what_is_printed_is_compared() {
        let start = Start { heading: "One".into(), commands: "echo 2".into(), printed: "1\n".into() };
        let failure = start.run(&mut Command::new("bash")).unwrap_err().to_string();
        assert!(failure.contains("prints\n2\n"), "{failure}");
    }
}
