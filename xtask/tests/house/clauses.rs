//! Every clause of docs/port/barriers.md has its test, and every such test its clause.
//!
//! A clause begins with its number in bold (`- **D1**`) and names a test as `path::function` after the word "Test:". The comment above that function says the number again.
//! Other tests and files may be named beside it; functions must exist all the same.

use crate::sources::{Source, sources};

const DOCUMENT: &str = "docs/port/barriers.md";
const TESTS: &str = "tests/tests/suite/barrier_clauses/";

struct Clause<'text> {
    number: &'text str,
    text: &'text str,
}

fn clauses(document: &str) -> Vec<Clause<'_>> {
    let parts = document.split("\n- **").skip(1).map(|part| part.split("\n\n").next().unwrap_or(part));
    parts.filter_map(|part| part.split_once("**")).map(|(number, text)| Clause { number, text }).collect()
}

/// `path::function` in backquotes.
fn functions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|word| word.split_once("::")).filter(|(path, _)| path.ends_with(".rs"))
}

/// The comments directly above the function's attributes; `None` when there is no such function.
fn comment_of<'file>(file: &'file Source, function: &str) -> Option<Vec<&'file str>> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| line.starts_with(&format!("fn {function}(")))?;
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("///"));
    Some(above.filter_map(|line| line.strip_prefix("///")).map(str::trim).collect())
}

#[test]
fn every_clause_of_the_barrier_names_its_test() {
    let all = sources();
    let document = all.iter().find(|file| file.path == DOCUMENT).expect("the document is there");
    let clauses = clauses(&document.text);
    assert!(clauses.len() > 20, "{} clauses were found", clauses.len());
    let mut complaints = Vec::new();
    for Clause { number, text } in &clauses {
        let test = text.split_once("Test:").and_then(|(_, rest)| functions(rest).next());
        match test {
            None => complaints.push(format!("{number} names no test")),
            Some((path, function)) => {
                let comment = all.iter().find(|file| file.path == path).and_then(|file| comment_of(file, function));
                if !comment.is_some_and(|comment| comment.contains(number)) {
                    complaints
                        .push(format!("{number}: {path} has no function {function} with `/// {number}` above it"));
                }
            }
        }
        for (path, function) in functions(text) {
            if !all.iter().any(|file| file.path == path && comment_of(file, function).is_some()) {
                complaints.push(format!("{number} names {path}::{function}, which is nowhere"));
            }
        }
    }
    for file in all.iter().filter(|file| file.path.starts_with(TESTS)) {
        for line in file.text.lines().filter_map(|line| line.trim().strip_prefix("/// ")) {
            let is_number = line.len() < 4 && line.starts_with(['D', 'P']) && line[1..].parse::<u8>().is_ok();
            if is_number && !clauses.iter().any(|clause| clause.number == line) {
                complaints.push(format!("{}: tests {line}, which {DOCUMENT} does not have", file.path));
            }
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn clauses_and_functions_are_told_apart() {
    let text = "# A\n\n- **D1** *One.* See `x.ll`. Test:\n  `a/b.rs::one`\n- **P2** two `c.rs::f` Test: `d.rs::g`\n\nprose `e.rs::h`\n";
    let found = clauses(text);
    assert_eq!(found.iter().map(|clause| clause.number).collect::<Vec<_>>(), ["D1", "P2"]);
    assert_eq!(functions(found[1].text).collect::<Vec<_>>(), [("c.rs", "f"), ("d.rs", "g")]);
    let file = Source { path: "b.rs".to_owned(), text: "/// D1\n#[test]\nfn one() {\n".to_owned() };
    assert_eq!(comment_of(&file, "one"), Some(vec!["D1"]));
    assert_eq!(comment_of(&file, "on"), None);
}
