//! The ten questions of CONTRIBUTING.md, which a newcomer answers by the tree alone: a test of the map.
//!
//! Each row has a question with its key word in bold, and the file that answers it. The file must be there, and its first paragraph
//! must have the key word, so that a search for the word finds the file.

use crate::sources::{Source, sources};

/// The heading of the section.
const SECTION: &str = "## Ten questions\n";

#[derive(Debug, PartialEq, Eq)]
struct Question<'text> {
    key: &'text str,
    file: &'text str,
}

fn questions(document: &str) -> Vec<Question<'_>> {
    let section = document.split_once(SECTION).map_or("", |(_, rest)| rest.split("\n## ").next().unwrap_or(rest));
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains("**"));
    let question = |row| Some(Question { key: between(row, "**")?, file: between(row, "`")? });
    rows.map(|row| question(row).unwrap_or_else(|| panic!("no word in bold, or no file in backquotes: {row}")))
        .collect()
}

/// Returns the text between the first two marks.
fn between<'text>(text: &'text str, mark: &str) -> Option<&'text str> {
    text.split(mark).nth(1)
}

/// The paragraph that a file opens with, on one line, in small letters.
fn first_paragraph(file: &Source) -> String {
    let lines = file.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[test]
fn the_ten_questions_are_answered_by_the_tree() {
    let all = sources();
    let document = all.iter().find(|file| file.path == "CONTRIBUTING.md").expect("CONTRIBUTING.md");
    let questions = questions(&document.text);
    assert_eq!(questions.len(), 10, "{questions:?}");
    let mut complaints = Vec::new();
    for Question { key, file } in questions {
        match all.iter().find(|source| source.path == file) {
            None => complaints.push(format!("{file}: is not there")),
            Some(source) if !first_paragraph(source).contains(&key.to_lowercase()) => {
                complaints.push(format!("{file}: its first paragraph does not say \"{key}\""));
            }
            Some(_) => {}
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn rows_and_paragraphs_are_read() {
    let document = "## Ten questions\n\nProse **not** `this`.\n\n| question | answer |\n|---|---|\n| Who **eats**? | `a.rs` |\n\n## More\n| **b** | `c` |\n";
    assert_eq!(questions(document), [Question { key: "eats", file: "a.rs" }]);
    let file = Source { path: "a.rs".to_owned(), text: "//! He\n//! Eats.\n//!\n//! More\n".to_owned() };
    assert_eq!(first_paragraph(&file), "he eats.");
}
