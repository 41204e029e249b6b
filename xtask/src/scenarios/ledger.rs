//! The ledger of situations as it stands in `tests/scenarios.toml`, and what is wrong with it.
//!
//! Complaints are collected, not returned at the first: whoever renames a test sees everything that speaks of it. The
//! ledger and the tests name each other, and both directions are held: a test that says `scenario 17` is one of entry 17,
//! and a test that the entry names says so. Otherwise a test that was rewritten for another purpose would go on covering.

use super::test_index::TestIndex;
use crate::failure::Failure;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where the ledger stands, from the project's folder.
pub const PLACE: &str = "tests/scenarios.toml";

/// Situations are numbered from 1 to this.
pub const LAST: u32 = 202;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// What each letter stands for.
    pub groups: BTreeMap<String, String>,
    /// The entries in the order of the file.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
}

/// One situation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// From 1 to [`LAST`].
    pub number: u32,
    /// A letter of [`Ledger::groups`].
    pub group: String,
    /// What happens.
    pub situation: String,
    /// The public project, and its test, that it is known from.
    pub source: String,
    /// Whether it is checked.
    pub state: State,
    /// `path::name` of a test function, or the path of a file that is a situation of a suite which reads a folder.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Why it cannot apply, or which capability it waits for.
    pub reason: Option<String>,
}

/// Whether a situation is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The tests named check it.
    Covered,
    /// It cannot arise here; the reason says why.
    NotApplicable,
    /// It waits for a capability, which the reason names. Tests there may be: of a part, or of one plan.
    Deferred,
}

impl State {
    /// All of them, in the order of the summary.
    pub const ALL: [State; 3] = [State::Covered, State::NotApplicable, State::Deferred];

    /// How it is written.
    pub fn word(self) -> &'static str {
        match self {
            State::Covered => "covered",
            State::NotApplicable => "not-applicable",
            State::Deferred => "deferred",
        }
    }
}

impl Ledger {
    /// The project's ledger.
    pub fn read(root: &Path) -> Result<Ledger, Failure> {
        let text = std::fs::read_to_string(root.join(PLACE))
            .map_err(|error| Failure::step(format!("cannot read {PLACE}: {error}")))?;
        Ledger::parse(&text)
    }

    /// A ledger from its text.
    pub fn parse(text: &str) -> Result<Ledger, Failure> {
        toml::from_str(text).map_err(|error| Failure::step(format!("{PLACE}: {error}")))
    }

    /// Everything that is wrong, by itself and against the tests that there are.
    pub fn complaints(&self, index: &TestIndex) -> Vec<String> {
        let mut complaints = vec![];
        let mut seen = BTreeSet::new();
        for scenario in &self.scenarios {
            if !seen.insert(scenario.number) {
                complaints.push(format!("{} stands there twice", scenario.number));
            }
            complaints.extend(
                scenario.complaints(self, index).into_iter().map(|what| format!("{}: {what}", scenario.number)),
            );
        }
        let missing = (1..=LAST).filter(|number| !seen.contains(number));
        complaints.extend(missing.map(|number| format!("{number} is missing")));
        let beyond = seen.iter().filter(|number| !(1..=LAST).contains(*number));
        complaints.extend(beyond.map(|number| format!("{number} is no number from 1 to {LAST}")));
        for (test, numbers) in index.tests() {
            for number in numbers {
                let entry = self.scenarios.iter().find(|scenario| scenario.number == *number);
                if entry.is_none_or(|entry| !entry.tests.contains(test)) {
                    complaints.push(format!("{number}: {test} says `scenario {number}`; name it in `tests`"));
                }
            }
        }
        complaints
    }
}

impl Scenario {
    fn complaints(&self, ledger: &Ledger, index: &TestIndex) -> Vec<String> {
        let mut complaints = vec![];
        if !ledger.groups.contains_key(&self.group) {
            complaints.push(format!("there is no group {}", self.group));
        }
        if self.situation.trim().is_empty() || self.source.trim().is_empty() {
            complaints.push("say what the situation is, and the source it is known from".to_owned());
        }
        match (self.state, &self.reason) {
            (State::Covered, Some(_)) => complaints.push("what is covered needs no reason".to_owned()),
            (State::NotApplicable | State::Deferred, None) => {
                complaints.push(format!("it is {}; give the reason", self.state.word()));
            }
            _ => {}
        }
        match self.state {
            State::Covered if self.tests.is_empty() => complaints.push("it is covered by no test".to_owned()),
            State::NotApplicable if !self.tests.is_empty() => {
                complaints.push("what cannot apply has no tests".to_owned());
            }
            _ => {}
        }
        for test in &self.tests {
            match index.numbers_of(test) {
                None => complaints.push(format!("there is no test {test}")),
                Some(numbers) if !numbers.contains(&self.number) => {
                    complaints.push(format!("{test} does not say `scenario {}` in its comment", self.number));
                }
                Some(_) => {}
            }
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ledger of all numbers, of which `changed` is written instead of entry 1.
    fn complaints(changed: &str) -> Vec<String> {
        let entry = |number: u32| {
            format!(
                "[[scenario]]\nnumber = {number}\ngroup = \"A\"\nsituation = \"x\"\nsource = \"y\"\n\
                 state = \"deferred\"\nreason = \"later\"\n"
            )
        };
        let others: String = (2..=LAST).map(entry).collect();
        let text = format!("[groups]\nA = \"Rings\"\n{changed}{others}");
        let index = TestIndex::from_texts(&[
            ("tests/a.rs", "/// scenario 1: a thing.\n#[test]\nfn one() {}\n#[test]\nfn other() {}\n"),
            ("frontend-glue/tests/refused/a.ll", "; scenario 1\n"),
        ]);
        Ledger::parse(&text).expect("a ledger").complaints(&index)
    }

    fn entry(rest: &str) -> String {
        format!("[[scenario]]\nnumber = 1\ngroup = \"A\"\nsituation = \"x\"\nsource = \"y\"\n{rest}\n")
    }

    #[test]
    fn right_ledger_has_no_complaints() {
        let both = "tests = [\"tests/a.rs::one\", \"frontend-glue/tests/refused/a.ll\"]";
        assert_eq!(complaints(&entry(&format!("state = \"covered\"\n{both}"))), Vec::<String>::new());
    }

    #[test]
    fn every_mistake_is_named() {
        let covered = |tests: &str| entry(&format!("state = \"covered\"\ntests = [{tests}]"));
        let both = "\"tests/a.rs::one\", \"frontend-glue/tests/refused/a.ll\"";
        let right = covered(both);
        for (changed, expected) in [
            (String::new(), "1 is missing"),
            (format!("{right}{right}"), "1 stands there twice"),
            (covered(&format!("{both}, \"tests/a.rs::gone\"")), "1: there is no test tests/a.rs::gone"),
            (covered(&format!("{both}, \"tests/b.rs::one\"")), "1: there is no test tests/b.rs::one"),
            (covered(&format!("{both}, \"tests/a.rs::other\"")), "1: tests/a.rs::other does not say `scenario 1`"),
            (covered("\"tests/a.rs::one\""), "1: frontend-glue/tests/refused/a.ll says `scenario 1`"),
            (covered(""), "1: it is covered by no test"),
            (entry("state = \"not-applicable\""), "1: it is not-applicable; give the reason"),
            (entry("state = \"deferred\""), "1: it is deferred; give the reason"),
            (right.replace("number = 1\n", "number = 203\n"), "203 is no number from 1 to 202"),
            (right.replace("\"A\"", "\"Z\""), "1: there is no group Z"),
            (right.replace("\"x\"", "\" \""), "1: say what the situation is"),
            (format!("{right}reason = \"none\"\n"), "1: what is covered needs no reason"),
            (
                entry(&format!("state = \"not-applicable\"\nreason = \"no\"\ntests = [{both}]")),
                "1: what cannot apply has no tests",
            ),
        ] {
            let complaints = complaints(&changed);
            assert!(complaints.iter().any(|line| line.starts_with(expected)), "{expected}: {complaints:?}");
        }
    }

    #[test]
    fn unknown_state_and_unknown_key_are_refused_with_the_line() {
        for (line, word) in [("state = \"maybe\"", "maybe"), ("state = \"deferred\"\nwhy = \"x\"", "why")] {
            let error = Ledger::parse(&format!("[groups]\n{}", entry(line))).expect_err("no ledger").to_string();
            assert!(error.contains(PLACE) && error.contains(word) && error.contains("line"), "{error}");
        }
    }
}
