//! Names of invariants: each that a comment cites stands in `docs/work/invariants.md`, and each that stands there is cited.

use crate::sources::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/work/invariants.md";

/// The names that the page gives: its headings, and the first column of its last table.
fn named(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter_map(|line| {
            line.strip_prefix("## ").or_else(|| line.strip_prefix("| ")?.split_once(" |").map(|row| row.0))
        })
        .filter(|word| is_name(word))
        .collect()
}

fn is_name(word: &str) -> bool {
    word.len() >= 3 && word.chars().all(|letter| letter.is_ascii_uppercase())
}

/// The names in brackets in the comment of a line, if it has one.
fn cited(line: &str) -> Vec<&str> {
    let Some((_, comment)) = line.split_once("//") else { return vec![] };
    let openings = comment.split('[').skip(1);
    openings.filter_map(|rest| rest.split_once(']')).map(|(word, _)| word).filter(|word| is_name(word)).collect()
}

/// Where each name is cited.
fn citations(files: &[Source]) -> BTreeMap<&str, String> {
    let mut found = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.path.starts_with("xtask/tests/")) {
        for (number, line) in file.text.lines().enumerate() {
            for name in cited(line) {
                found.entry(name).or_insert_with(|| format!("{}:{}", file.path, number + 1));
            }
        }
    }
    found
}

#[test]
fn names_that_comments_cite_are_those_of_the_page() {
    let files = sources();
    let page = files.iter().find(|file| file.path == PAGE).expect("the page of invariants");
    let (named, cited) = (named(&page.text), citations(&files));
    let unknown = cited.iter().filter(|(name, _)| !named.contains(*name));
    let unknown = unknown.map(|(name, place)| format!("{place}: [{name}] does not stand in {PAGE}"));
    let unused =
        named.iter().filter(|name| !cited.contains_key(*name)).map(|name| format!("{PAGE}: no comment cites {name}"));
    let complaints: Vec<String> = unknown.chain(unused).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_names_of_the_map_stand_on_the_page() {
    let files = sources();
    let text = |path: &str| &files.iter().find(|file| file.path == path).expect("it is there").text;
    let page = named(text(PAGE));
    let map: BTreeSet<&str> = named(text("ARCHITECTURE.md"));
    assert!(map.len() > 10 && map.is_subset(&page), "ARCHITECTURE.md has {:?} besides", map.difference(&page));
}

#[test]
fn names_in_comments_and_on_the_page_are_seen() {
    assert_eq!(cited("let x = [LENGTH]; // by [HEADER] and `[LOG]`, not [Self::x] nor [a](b)"), ["HEADER", "LOG"]);
    assert!(cited("let x = objects[LENGTH];").is_empty());
    let page = "## LOG\n\ntext\n## Of one room\n| name | room |\n| MAP | a file |\n| any step | both |\n";
    assert_eq!(named(page), BTreeSet::from(["LOG", "MAP"]));
}
