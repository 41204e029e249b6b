//! The collector is tuned by few numbers: a limit that may only be lowered.
//!
//! A number that follows from others is written as that, and changes with them. One that was chosen must earn its place
//! (docs/work/decisions/58-each-heuristic-earns-its-place.md): a new one takes the place of one that
//! can go.

use crate::code;
use crate::sources::sources;

/// As many were chosen.
const CHOSEN_MAX: usize = 39;
/// Values of a byte that mean something else than a number, and the largest that does not.
const LAYOUT: [&str; 3] = ["IN_TABLE", "LIVE", "COUNT_MAX"];

/// The constants of numbers that follow from no other.
fn chosen(code: &str) -> Vec<&str> {
    code.lines().filter_map(name_if_chosen).filter(|name| !LAYOUT.contains(name)).collect()
}

fn name_if_chosen(line: &str) -> Option<&str> {
    let (_, declared) = line.split_once("const ").filter(|(before, _)| {
        let before = before.trim();
        before.is_empty() || before.starts_with("pub")
    })?;
    let (name, rest) = declared.split_once(": ")?;
    let (kind, value) = rest.rsplit_once(" = ")?;
    let is_of_numbers = ["u8", "u16", "u32", "i64", "u64", "usize", "f64"].iter().any(|number| kind.contains(number));
    let follows = value.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(is_name);
    (is_of_numbers && value.contains(|letter: char| letter.is_ascii_digit()) && !follows).then_some(name)
}

/// Whether a word is the name of a constant or a type, and no number or number's type.
fn is_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_uppercase())
}

#[test]
fn few_numbers_of_the_collector_were_chosen() {
    let ours = |path: &str| path.starts_with("cycle-detector/src/") && path.ends_with(".rs");
    let files: Vec<_> = sources().into_iter().filter(|file| ours(&file.path)).collect();
    let codes: Vec<(String, String)> = files.into_iter().map(|file| (code::of(&file.text), file.path)).collect();
    let all: Vec<String> = codes
        .iter()
        .flat_map(|(code, path)| chosen(code).into_iter().map(move |name| format!("{path}: {name}")))
        .collect();
    let listed = all.join("\n");
    assert!(all.len() >= CHOSEN_MAX, "there are {} now: lower `CHOSEN_MAX`\n{listed}", all.len());
    assert!(all.len() <= CHOSEN_MAX, "{} numbers were chosen, of {CHOSEN_MAX}:\n{listed}", all.len());
}

#[test]
fn numbers_that_follow_from_others_are_none_that_were_chosen() {
    let code = "const A: u64 = 8;\npub(super) const B: i64 = 16 * A as i64;\npub const C: [i64; 2] = [1, 4];\nconst D: bool = 1 < 2;\nlet x: u64 = 3;";
    assert_eq!(chosen(code), ["A", "C"]);
}
