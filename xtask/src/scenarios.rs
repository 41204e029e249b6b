//! `cargo xtask scenarios`: which of the situations that other collectors' test suites check are covered here, and by what.
//!
//! `tests/scenarios.toml` holds an entry per situation; its first lines say how one is written ([`ledger`]). A row is
//! printed for each, the chosen ones only if options say so, and a summary of all. The ledger and the sources must
//! agree: what a ledger says of tests is compared with the tests that there are ([`test_index`]), whatever was asked to
//! be printed, and each disagreement fails the command. The test at the end of this file asks the same, so that `cargo
//! xtask check` does.

mod ledger;
mod test_index;

use crate::failure::{Failure, Outcome};
use crate::tree;
use ledger::{Ledger, Scenario, State};
use std::process::ExitCode;
use test_index::TestIndex;

/// `cargo xtask scenarios`
#[derive(clap::Args)]
pub struct Arguments {
    /// Only this group, a letter (`A` to `L`)
    #[arg(long, value_name = "LETTER")]
    group: Option<String>,
    /// Only entries of this state
    #[arg(long)]
    state: Option<State>,
    /// What each situation is, and where it is known from
    #[arg(long)]
    situations: bool,
}

/// Prints the ledger, and complains where it and the sources disagree.
pub fn scenarios(arguments: &Arguments) -> Outcome {
    let ledger = Ledger::read(tree::root())?;
    let group = arguments.group.as_deref().map(str::to_uppercase);
    if let Some(group) = group.as_deref().filter(|group| !ledger.groups.contains_key(*group)) {
        let letters: Vec<&str> = ledger.groups.keys().map(String::as_str).collect();
        return Err(Failure::unprepared(format!("there is no group {group}; the groups are {}", letters.join(", "))));
    }
    let chosen = |scenario: &&Scenario| {
        group.as_ref().is_none_or(|group| *group == scenario.group)
            && arguments.state.is_none_or(|state| state == scenario.state)
    };
    let mut last_group = None;
    for scenario in ledger.scenarios.iter().filter(chosen) {
        if last_group != Some(&scenario.group) {
            last_group = Some(&scenario.group);
            let title = ledger.groups.get(&scenario.group).map_or("(no such group)", String::as_str);
            println!("{}: {title}", scenario.group);
        }
        print!("{}", row(scenario, arguments.situations));
    }
    println!("{}", summary(&ledger));
    let complaints = ledger.complaints(&TestIndex::of(tree::root())?);
    if complaints.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    for complaint in &complaints {
        eprintln!("{}: {complaint}", ledger::PLACE);
    }
    Err(Failure::step(format!("the ledger and the sources disagree in {} places", complaints.len())))
}

/// The rows of an entry: number, state, and the tests or the reason, one below the other.
fn row(scenario: &Scenario, with_situation: bool) -> String {
    let mut right: Vec<String> = vec![];
    if with_situation {
        right.push(format!("{} ({})", scenario.situation, scenario.source));
    }
    right.extend(scenario.reason.clone());
    right.extend(scenario.tests.iter().cloned());
    let mut rows = String::new();
    for (place, text) in right.iter().enumerate() {
        let left =
            if place == 0 { format!("{:>5}  {:<14}", scenario.number, scenario.state.word()) } else { " ".repeat(21) };
        rows.push_str(&format!("{left}  {text}\n"));
    }
    rows
}

fn summary(ledger: &Ledger) -> String {
    let count = |state: State| ledger.scenarios.iter().filter(|scenario| scenario.state == state).count();
    let counts = State::ALL.map(|state| format!("{} {}", count(state), state.word()));
    format!("{} scenarios: {}", ledger.scenarios.len(), counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_and_sources_agree() {
        let ledger = Ledger::read(tree::root()).expect("the ledger can be read");
        let complaints = ledger.complaints(&TestIndex::of(tree::root()).expect("the tree can be read"));
        assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    }

    #[test]
    fn row_names_every_test_of_an_entry() {
        let text = "[groups]\nA = \"Rings\"\n[[scenario]]\nnumber = 2\ngroup = \"A\"\nsituation = \"a pair\"\nsource = \"Nim\"\n\
                    state = \"covered\"\ntests = [\"a.rs::one\", \"b.ll\"]\n";
        let ledger = Ledger::parse(text).expect("a ledger");
        let rows = row(&ledger.scenarios[0], true);
        assert_eq!(
            rows.lines().map(str::trim).collect::<Vec<_>>(),
            ["2  covered         a pair (Nim)", "a.rs::one", "b.ll"]
        );
        assert_eq!(summary(&ledger), "1 scenarios: 1 covered, 0 not-applicable, 0 deferred");
    }
}
