//! A plan is asked for in one place only, by matches that name every plan.
//!
//! A comparison with one plan, or a match with a catch-all arm, takes a new plan for an old one, and no compiler tells. So no source of the
//! runtime and of the lowering has either. In the heap and the collector the plans themselves are named only where the heap's verbs
//! are, and where a heap gets its driver: everything else calls a verb.

use crate::code;
use crate::sources::{Source, sources};

/// Sources that ask for plans.
const ASKING: [&str; 5] =
    ["rc-runtime/src/", "cycle-detector/src/", "compiled-code/src/", "frontend-glue/src/", "aot-runtime/src/"];
/// Of those: here a heap has its plan, and its verbs ask.
const OF_HEAPS: [&str; 3] = ["rc-runtime/src/", "cycle-detector/src/", "compiled-code/src/"];
/// Where a plan may be named there, and why.
const NAMED_IN: [(&str, &str); 7] = [
    ("rc-runtime/src/plan.rs", "the plans, and their names outside"),
    ("rc-runtime/src/plan/verbs/", "the verbs"),
    ("rc-runtime/src/heap/options.rs", "the plan of a heap without options"),
    ("cycle-detector/src/plan.rs", "a heap gets its driver"),
    ("compiled-code/src/module/driver.rs", "a program has the drivers of its plan"),
    ("compiled-code/src/program.rs", "a module is registered by the function of its plan"),
    ("compiled-code/src/module/registry.rs", "code that nothing counts is of the trace plan"),
];
const PLANS: [&str; 3] = ["Plan::Deferred", "Plan::Prompt", "Plan::Trace"];

fn asking() -> Vec<(Source, String)> {
    let ours = |file: &Source| file.is_rust() && ASKING.iter().any(|folder| file.path.starts_with(folder));
    sources()
        .into_iter()
        .filter(ours)
        .map(|file| (code::of(&file.text), file))
        .map(|(code, file)| (file, code))
        .collect()
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// Where a plan is compared, or taken apart by a pattern that is no arm of a match.
fn questions(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for operator in ["==", "!="] {
        for (at, _) in code.match_indices(operator) {
            let (before, after) = (code[..at].trim_end(), code[at + 2..].trim_start());
            let is_plan = |text: &str| text.ends_with("plan") || text.ends_with("plan()");
            let is_named = PLANS.iter().any(|plan| before.ends_with(plan) || after.starts_with(plan));
            let first = after.split(|letter: char| !(letter.is_alphanumeric() || "_.()".contains(letter))).next();
            if is_plan(before) || is_named || is_plan(first.unwrap_or_default()) {
                found.push(at);
            }
        }
    }
    for start in ["matches!(", "let "] {
        for (at, _) in code.match_indices(start) {
            let end = code[at..].find(if start == "let " { "=" } else { ";" }).map_or(code.len(), |end| at + end);
            if PLANS.iter().any(|plan| code[at..end].contains(plan)) {
                found.push(at);
            }
        }
    }
    found
}

/// Matches with an arm for a plan and a catch-all arm.
fn open_matches(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("match ") {
        let Some(open) = code[at..].find('{').map(|open| at + open) else { continue };
        let patterns = patterns(&code[open + 1..code::end_of_block(code, open)]);
        let names_a_plan = patterns.iter().any(|pattern| PLANS.iter().any(|plan| pattern.contains(plan)));
        let is_open =
            |pattern: &&str| pattern.split(['|', ',', '(']).any(|part| part.trim().trim_end_matches(')') == "_");
        if names_a_plan && patterns.iter().any(|pattern| is_open(&pattern.split(" if ").next().unwrap_or_default())) {
            found.push(at);
        }
    }
    found
}

/// The patterns of a match's arms.
fn patterns(arms: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), arms);
    while let Some(arrow) = rest.find("=>") {
        found.push(rest[..arrow].trim());
        let body = rest[arrow + 2..].trim_start();
        rest = if body.starts_with('{') {
            body[code::end_of_block(body, 0) + 1..].trim_start_matches([',', ' ', '\n'])
        } else {
            let end = end_of_expression(body);
            &body[end..]
        };
    }
    found
}

fn end_of_expression(body: &str) -> usize {
    let mut at = 0;
    while let Some(letter) = body[at..].chars().next() {
        match letter {
            ',' => return at + 1,
            '{' | '(' | '[' => at = code::end_of_block(body, at) + 1,
            _ => at += letter.len_utf8(),
        }
        if at >= body.len() {
            break;
        }
    }
    body.len()
}

#[test]
fn no_plan_is_compared_and_no_match_on_one_is_open() {
    let mut complaints = Vec::new();
    for (file, code) in asking() {
        for at in questions(&code) {
            complaints.push(format!("{}:{}: asks for one plan; ask for a verb of it", file.path, line_of(&code, at)));
        }
        for at in open_matches(&code) {
            complaints.push(format!("{}:{}: a match on plans that does not name all", file.path, line_of(&code, at)));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn plans_are_named_where_the_verbs_are() {
    let mut complaints = Vec::new();
    let mut used = [false; NAMED_IN.len()];
    for (file, code) in asking().into_iter().filter(|(file, _)| OF_HEAPS.iter().any(|at| file.path.starts_with(at))) {
        let Some(at) = PLANS.iter().filter_map(|plan| code.find(plan)).min() else { continue };
        match NAMED_IN.iter().position(|(place, _)| file.path.starts_with(place)) {
            Some(place) => used[place] = true,
            None => complaints.push(format!("{}:{}: names a plan; make it a verb", file.path, line_of(&code, at))),
        }
    }
    let idle = NAMED_IN.iter().zip(used).filter(|(_, used)| !used);
    complaints.extend(idle.map(|((place, why), _)| format!("{place} names no plan ({why}): take it off the list")));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_way_to_ask_for_one_plan_is_seen() {
    let asked = [
        "if heap.plan == Plan::Prompt {",
        "if Plan::Prompt != heap.plan() {",
        "if self.plan != other {",
        "if other == module.plan {",
        "if matches!(heap.plan(), Plan::Deferred);",
        "if let Some((Plan::Prompt, name)) = first {",
        "let Plan::Prompt = plan else { return };",
    ];
    asked.iter().for_each(|code| assert_eq!(questions(code).len(), 1, "{code}"));
    let closed =
        "match plan { Plan::Deferred => {} Plan::Prompt if a => b(_, |_| c), Plan::Prompt => match d { _ => e }, }";
    assert_eq!((questions(closed), open_matches(closed)), (vec![], vec![]));
    let open = ["match plan { Plan::Prompt => a, _ => b }", "match c { Some((Plan::Prompt, d)) => {} _ => {} }"];
    open.iter().for_each(|code| assert_eq!(open_matches(code), [0], "{code}"));
    let guarded = "match plan { Plan::Prompt => a, _ if b => c, Plan::Deferred => d }";
    assert_eq!(open_matches(guarded), [0]);
}
