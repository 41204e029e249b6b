//! What the documents name must exist.
//!
//! Read are the words in backquotes, outside of code blocks. A word that looks like a path (`rc-runtime/src/epoch.rs`,
//! `stack-roots/`) must be a file or folder: under a heading that names a crate, from the project's folder, that crate's
//! folder or its `src`; elsewhere it is enough that some file's path ends so. In ARCHITECTURE.md and GLOSSARY.md a word in CamelCase must also be a type
//! or trait defined in some Rust file, and a word like `walk()` a function.

use crate::sources::{Source, root, sources};
use std::collections::{BTreeMap, BTreeSet};

const DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md"];
const DOCUMENTS_WITH_TYPES: [&str; 2] = ["ARCHITECTURE.md", "GLOSSARY.md"];

/// Words of the outside world that look like ours.
const NOT_OURS: [&str; 4] = ["SelectionDAG", "InstCombine", "GlobalISel", "RewriteStatepointsForGC"];

/// Files that only exist after a build, or must not exist.
const NOT_IN_THE_TREE: [&str; 2] = ["mod.rs", "target/release/tally"];

/// A word in backquotes, and the crate whose section it stands in.
struct Mention<'text> {
    word: &'text str,
    section: &'text str,
    line: usize,
}

fn mentions(text: &str) -> Vec<Mention<'_>> {
    let (mut found, mut section, mut in_code) = (Vec::new(), "", false);
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        if line.starts_with('#') {
            section = line.trim_start_matches('#').split_whitespace().next().unwrap_or("").trim_matches('`');
            section = section.trim_end_matches('/');
        }
        let quoted = line.split('`').skip(1).step_by(2);
        found.extend(quoted.map(|word| Mention { word, section, line: number + 1 }));
    }
    found
}

fn is_path(word: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    let known_ending = [".rs", ".md", ".toml", ".c", ".h", ".ll"].iter().any(|ending| word.ends_with(ending));
    let is_ours = !word.starts_with('/') && (!word.starts_with('.') || word.contains('/'));
    is_ours && word.chars().all(plain) && (known_ending || word.contains('/'))
}

fn exists(mention: &Mention<'_>, all: &[Source]) -> bool {
    let section = root().join(mention.section);
    let is_crate = !mention.section.is_empty() && section.join("Cargo.toml").is_file();
    if is_crate {
        let folders = [root().to_path_buf(), section.clone(), section.join("src")];
        return folders.iter().any(|folder| folder.join(mention.word).exists());
    }
    let end = format!("/{}", mention.word);
    root().join(mention.word).exists() || all.iter().any(|file| file.path.ends_with(&end))
}

/// `Mutator`, `EpochReport`; not `HEADER`, not `Vec<u8>`.
fn is_type_name(word: &str) -> bool {
    let starts = word.chars().next().is_some_and(|letter| letter.is_ascii_uppercase());
    starts && word.chars().all(|letter| letter.is_ascii_alphanumeric()) && word.chars().any(|l| l.is_ascii_lowercase())
}

fn defines(rust: &[Source], keywords: &[&str], name: &str) -> bool {
    let ends_there = |rest: &str| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    rust.iter().any(|file| {
        keywords.iter().any(|keyword| {
            let definition = format!("{keyword} {name}");
            file.text.match_indices(&definition).any(|(at, _)| ends_there(&file.text[at + definition.len()..]))
        })
    })
}

#[test]
fn every_path_type_and_function_that_a_document_names_exists() {
    let all = sources();
    let documents: Vec<&Source> =
        all.iter().filter(|file| DOCUMENTS.contains(&file.path.as_str()) || file.path.starts_with("docs/")).collect();
    let rust: Vec<Source> = sources().into_iter().filter(Source::is_rust).collect();
    let mut complaints = Vec::new();
    for document in documents {
        for mention in mentions(&document.text) {
            let word = mention.word;
            let known = if NOT_OURS.contains(&word) || NOT_IN_THE_TREE.contains(&word) {
                true
            } else if is_path(word) {
                exists(&mention, &all)
            } else if !DOCUMENTS_WITH_TYPES.contains(&document.path.as_str()) {
                true
            } else if is_type_name(word) {
                defines(&rust, &["struct", "enum", "trait", "type", "union"], word)
            } else if let Some(name) = word.strip_suffix("()") {
                defines(&rust, &["fn"], name.rsplit("::").next().unwrap_or(name))
            } else {
                true
            };
            if !known {
                complaints.push(format!("{}:{}: names `{word}`, which is nowhere", document.path, mention.line));
            }
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn every_link_from_a_document_leads_somewhere() {
    let mut complaints = Vec::new();
    for document in sources().iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root().join(&document.path).parent().expect("a file lies in a folder").to_path_buf();
        for link in document.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or(link);
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                complaints.push(format!("{}: links to {target}, which is not there", document.path));
            }
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn every_crate_of_the_workspace_is_in_the_code_map() {
    let read =
        |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (manifest, map) = (read("Cargo.toml"), read("ARCHITECTURE.md"));
    let members = manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("a workspace");
    let missing: Vec<&str> = members
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|member| !mentions(&map).iter().any(|mention| mention.word.trim_end_matches('/') == *member))
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not say what these are for: {missing:?}");
}

/// Folders with fewer files of Rust belong to the room above them.
const FILES_OF_A_ROOM: usize = 4;

#[test]
fn every_room_of_a_crate_has_its_row_in_the_map() {
    let (all, map) = (sources(), std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map"));
    let mentions = mentions(&map);
    let crates: BTreeSet<&str> = mentions.iter().map(|mention| mention.section).collect();
    let mut rooms = BTreeMap::<(&str, &str), usize>::new();
    for file in all.iter().filter(|file| file.is_rust()) {
        let parts = file.path.split_once("/src/").and_then(|(of, below)| Some((of, below.rsplit_once('/')?.0)));
        if let Some(room) = parts.filter(|(of, _)| crates.contains(of)) {
            *rooms.entry(room).or_default() += 1;
        }
    }
    assert!(rooms.len() > 20, "the rooms were not found: {rooms:?}");
    let named = |of: &str, room: &str| {
        mentions.iter().any(|mention| mention.section == of && mention.word.trim_end_matches('/') == room)
    };
    let large = rooms.iter().filter(|(_, files)| **files >= FILES_OF_A_ROOM).map(|(room, _)| room);
    let missing: Vec<_> = large.filter(|(of, room)| !named(of, room)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md has no row for these: {missing:?}");
}

/// Four pages: lines as a page of 120 columns shows them.
const LINES_OF_THE_MAP_MAX: usize = 200;

#[test]
fn the_map_has_four_pages() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map");
    let lines: usize = map.lines().map(|line| line.chars().count().div_ceil(120).max(1)).sum();
    assert!(
        lines <= LINES_OF_THE_MAP_MAX,
        "ARCHITECTURE.md has {lines} lines, {LINES_OF_THE_MAP_MAX} allowed: tell less, or tell it elsewhere"
    );
}

#[test]
fn words_are_told_apart() {
    assert!(is_path("rc-runtime/src/memory/range.rs") && is_path("stack-roots/") && is_path("walk.rs"));
    assert!(!is_path("/usr/lib/llvm-22/lib") && !is_path("a/b = c") && !is_path("epoch") && !is_path(".ll"));
    assert!(is_type_name("Mutator") && !is_type_name("HEADER") && !is_type_name("gcwrite"));
    let mentioned = mentions("# `rc-runtime/` the heap\n`a` and `b`\n```\n`c`\n```\n");
    let words: Vec<_> = mentioned.iter().map(|mention| (mention.word, mention.section)).collect();
    assert_eq!(words, [("rc-runtime/", "rc-runtime"), ("a", "rc-runtime"), ("b", "rc-runtime")]);
}

#[test]
fn name_is_not_taken_for_a_longer_one() {
    let file = |text: &str| vec![Source { path: "a.rs".into(), text: text.into() }];
    assert!(defines(&file("pub struct Frame {"), &["struct"], "Frame"));
    assert!(!defines(&file("pub struct FrameTable {"), &["struct"], "Frame"));
}
