//! Each decision is one page of the same form, and the index names every page once.

use crate::sources::{Source, sources};

const FOLDER: &str = "docs/work/decisions/";

/// The sections that each page has, in this order. "Consequences" may stand before the last one.
const SECTIONS: [&str; 4] = ["## Context", "## Choice", "## Rejected", "## Measured by"];

/// A longer page is two decisions.
const LINES_MAX: usize = 70;

fn pages_and_index() -> (Vec<Source>, Source) {
    let all = sources().into_iter().filter(|file| file.path.starts_with(FOLDER));
    let (index, pages): (Vec<_>, Vec<_>) = all.partition(|file| file.name() == "README.md");
    (pages, index.into_iter().next().expect("docs/work/decisions/README.md"))
}

/// `12` of `docs/work/decisions/12-counts-put-off-in-loops.md`.
fn number(page: &Source) -> Option<&str> {
    page.name().split_once('-').map(|(number, _)| number)
}

#[test]
fn every_decision_has_the_sections_in_order() {
    let (pages, _) = pages_and_index();
    assert!(!pages.is_empty(), "no decisions in {FOLDER}");
    let mut complaints = Vec::new();
    for page in &pages {
        let headings: Vec<&str> = page.text.lines().filter(|line| line.starts_with("## ")).collect();
        let required: Vec<&str> = headings.iter().copied().filter(|line| *line != "## Consequences").collect();
        if required != SECTIONS {
            complaints.push(format!("{}: its sections are {headings:?}, not {SECTIONS:?}", page.path));
        }
        let title = number(page).and_then(|number| number.parse::<u32>().ok()).map(|number| format!("# {number}. "));
        if title.is_none_or(|title| !page.text.starts_with(&title)) {
            complaints.push(format!("{}: its title does not begin with its number", page.path));
        }
        let lines = page.text.lines().count();
        if lines > LINES_MAX {
            complaints.push(format!("{}: {lines} lines, {LINES_MAX} allowed; is it two decisions?", page.path));
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn the_index_names_every_decision_once_by_its_title() {
    let (pages, index) = pages_and_index();
    let mut complaints = Vec::new();
    for page in &pages {
        let title = page.text.lines().next().unwrap_or("").trim_start_matches("# ");
        let entry = title.split_once(". ").map(|(number, rest)| format!("- {number}. [{rest}]({})", page.name()));
        let named = entry.as_ref().map_or(0, |entry| index.text.lines().filter(|line| line == entry).count());
        if named != 1 {
            complaints.push(format!("{}: {named} entries in the index read {entry:?}", page.path));
        }
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn numbers_of_decisions_are_unique() {
    let (pages, _) = pages_and_index();
    let mut numbers: Vec<&str> = pages.iter().filter_map(number).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "two decisions have one number: {numbers:?}");
}
