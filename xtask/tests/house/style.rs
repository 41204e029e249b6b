//! File names, openings and lengths, and that nothing names the machine it was written on.

use crate::sources::{Source, sources};

/// Names that say nothing about what is inside.
const NAMELESS: [&str; 9] =
    ["mod.rs", "util.rs", "utils.rs", "common.rs", "types.rs", "helpers.rs", "misc.rs", "global.rs", "prelude.rs"];

/// A longer file hides a noun that wants a file of its own.
const LINES_MAX: usize = 500;

/// Files that are longer for now, and how long. A ratchet: the number may only go down.
const LONGER: [(&str, usize); 0] = [];

pub fn complain(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

pub fn rust_files() -> Vec<Source> {
    sources().into_iter().filter(Source::is_rust).collect()
}

#[test]
fn every_rust_file_opens_by_saying_what_it_is() {
    let silent = rust_files().into_iter().filter(|file| !file.text.starts_with("//! "));
    complain(&silent.map(|file| format!("{}: does not open with `//! …`", file.path)).collect::<Vec<_>>());
}

#[test]
fn no_file_is_a_drawer() {
    let drawers = rust_files().into_iter().filter(|file| NAMELESS.contains(&file.name()));
    complain(&drawers.map(|file| format!("{}: name it after what is in it", file.path)).collect::<Vec<_>>());
}

#[test]
fn no_file_is_too_long() {
    let mut complaints = Vec::new();
    for file in rust_files() {
        let lines = file.text.lines().count();
        match LONGER.iter().find(|(path, _)| *path == file.path) {
            None if lines > LINES_MAX => {
                complaints.push(format!("{}: {lines} lines, {LINES_MAX} allowed; which noun hides in it?", file.path));
            }
            Some((_, allowed)) if lines > *allowed => {
                complaints.push(format!("{}: {lines} lines, it had {allowed}", file.path));
            }
            Some(_) if lines <= LINES_MAX => {
                complaints.push(format!("{}: short enough now, take it off the list LONGER", file.path));
            }
            _ => {}
        }
    }
    complain(&complaints);
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    // Written in pieces so that this file does not complain about itself.
    let private = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/tmp", "/w/"),
        concat!("../sha", "red"),
        concat!("CONTR", "ACT.md"),
        concat!("DESI", "GN.md"),
        concat!("STY", "LE.md"),
        concat!("llvm-22", ".md"),
    ];
    let mut complaints = Vec::new();
    for file in sources() {
        for (number, line) in file.text.lines().enumerate() {
            for word in private.iter().filter(|word| names(line, word)) {
                complaints.push(format!("{}:{}: names {word}, which is not in the project", file.path, number + 1));
            }
        }
    }
    complain(&complaints);
}

/// Whether the line has the word; an absolute path only where it begins: `docs/w…/` is a folder of ours.
fn names(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    line.match_indices(word).any(|(at, _)| !word.starts_with('/') || !line[..at].ends_with(is_part))
}

#[test]
fn absolute_path_is_told_from_a_folder_of_ours() {
    assert!(names("see `/srv/x`", "/srv/") && names("/srv/x", "/srv/") && names("a=/srv/x", "/srv/"));
    assert!(!names("docs/srv/x", "/srv/") && !names("../srv/x", "/srv/"));
    assert!(names("see docs/srv/x and /srv/x", "/srv/") && names("x/A.md", "A.md"));
}
