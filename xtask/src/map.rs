//! `cargo xtask map [FOLDER…]`: every Rust file below a folder, with the sentence that it opens with.
//!
//! ARCHITECTURE.md names rooms, one row each; this names files. Nothing is written down twice, so nothing can disagree: the list is
//! made of the files themselves.

use crate::failure::{Failure, Outcome};
use crate::tree;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folders that are listed where none is named: the crates that ARCHITECTURE.md tells of, from the top down.
const CRATES: [&str; 7] = [
    "tally/src",
    "frontend-glue/src",
    "compiled-code/src",
    "cycle-detector/src",
    "rc-runtime/src",
    "stack-roots/src",
    "heap-picture/src",
];

/// `cargo xtask map`
#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of the project, such as rc-runtime/src/services; without any, the crates of the map
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

/// Prints a line for each file: its path from the folder, and its first sentence.
pub fn map(arguments: &Arguments) -> Outcome {
    let all = CRATES.map(PathBuf::from);
    let folders = if arguments.folders.is_empty() { &all[..] } else { &arguments.folders[..] };
    for folder in folders {
        let mut files = Vec::new();
        collect(&tree::root().join(folder), &mut files)?;
        if files.is_empty() {
            return Err(Failure::unprepared(format!("{}: no Rust file lies there", folder.display())));
        }
        files.sort();
        let mut lines = format!("{}\n", folder.display());
        for file in &files {
            let text = read(file)?;
            let below = file.strip_prefix(tree::root().join(folder)).unwrap_or(file);
            lines += &format!("    {:<32} {}\n", below.display(), first_sentence(&text));
        }
        // A reader such as `head` may have gone.
        let _ = std::io::stdout().write_all(lines.as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::unprepared(format!("{}: {error}", file.display())))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::unprepared(format!("{}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The first sentence of the comment that a file opens with, on one line.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    match paragraph.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => paragraph,
    }
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn sentence_ends_at_its_full_stop_whatever_the_line() {
        assert_eq!(
            first_sentence("//! One thing,\n//! and another. More.\n//!\n//! Third.\n"),
            "One thing, and another."
        );
        assert_eq!(first_sentence("//! A name like `a.rs`\n\nuse b;\n"), "A name like `a.rs`");
        assert_eq!(first_sentence("use b;\n"), "");
    }
}
