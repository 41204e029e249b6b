//! Typical mistakes of C programs and frontends: what `tally verify` says of each, and that zeal stops at those that do harm.
//!
//! Each file in `tests/programs/mistakes/` is one mistake, named after its situation. Its first comment says what is
//! expected: `verify: WORDS` of a warning, or `verify: silent, REASON`; `zeal: WORDS` of the message, or `zeal: harmless because
//! REASON`; `prompt: …` where zeal says another thing under the prompt plan. A comment `// warned` stands at the lines of all
//! warnings and no others, `// stops` at the line that zeal names. What is right and looks much like a mistake is in
//! `tests/programs/mistakes/right/`: there verify is silent, and zeal lets it run.

use crate::{bench_programs, trial};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;
use tally_kit::situation::{Situation, programs_in};
use tally_kit::tally_command::{describe, run_tally, source_tree};

/// Fewer than these would mean that `tally verify` has become blind to something.
const SEEN_AT_LEAST: usize = 54;
const MISTAKES_AT_LEAST: usize = 62;

/// The exit status of a program that zeal stopped.
const STOPPED: i32 = 5;

const PLANS: [&str; 2] = ["refcount", "refcount-prompt"];

struct Mistake(Situation);

impl Mistake {
    /// What stands behind a word of the first comment.
    fn expected(&self, word: &str) -> Option<&str> {
        let lines = self.0.text.lines().take_while(|line| line.starts_with([' ', '/', ';']));
        let mut found = lines.filter_map(|line| line.trim_start_matches([' ', '/', '*', ';']).strip_prefix(word));
        found.next().map(str::trim)
    }

    fn must_say(&self, word: &str) -> &str {
        self.expected(word).unwrap_or_else(|| panic!("{}: no `{word}` in the first comment", self.name()))
    }

    fn name(&self) -> String {
        self.0.file.file_name().expect("a file").to_string_lossy().into_owned()
    }

    /// The lines that carry `// WORD`.
    fn marked(&self, word: &str) -> BTreeSet<usize> {
        let comment =
            |line: &str| line.split_once("// ").is_some_and(|(_, rest)| rest.split(", ").any(|it| it == word));
        self.0.text.lines().zip(1..).filter(|(line, _)| comment(line)).map(|(_, number)| number).collect()
    }

    fn is_seen(&self) -> bool {
        !self.must_say("verify:").starts_with("silent, ")
    }

    /// What zeal says under a plan; none if the mistake is harmless there.
    fn stop(&self, plan: &str) -> Option<&str> {
        let of_plan = if plan == "refcount-prompt" { self.expected("prompt:") } else { None };
        Some(of_plan.unwrap_or_else(|| self.must_say("zeal:"))).filter(|words| !words.starts_with("harmless because "))
    }
}

/// Each mistake by verify and by zeal, what only looks like one, and all other programs of the tree.
pub fn trials() -> Vec<Trial> {
    let mistakes = Situation::all("tests/programs/mistakes", MISTAKES_AT_LEAST).into_iter().map(Mistake);
    let mistakes: Vec<Mistake> = mistakes.collect();
    let seen = mistakes.iter().filter(|mistake| mistake.is_seen()).count();
    assert!(seen >= SEEN_AT_LEAST, "{seen} of {} mistakes are seen", mistakes.len());
    let mistakes = mistakes.into_iter().map(|mistake| {
        trial(format!("mistakes::{}", mistake.0.name()), move || {
            warns_of(&mistake)?;
            zeal_stops_at(&mistake)
        })
    });
    let right = Situation::all("tests/programs/mistakes/right", 1).into_iter();
    let right = right.map(|right| {
        trial(format!("mistakes::right::{}", right.name()), move || is_not_warned_of_and_runs(&right.file))
    });
    let correct = correct_programs().into_iter().map(|file| {
        let name = file.strip_prefix(source_tree()).unwrap_or(&file).with_extension("");
        let name = name.display().to_string().replace('/', "::");
        trial(format!("mistakes::not_accused::{name}"), move || is_not_accused(&file))
    });
    mistakes.chain(right).chain(correct).collect()
}

/// Programs of this tree that keep the rules, of every kind.
fn correct_programs() -> Vec<PathBuf> {
    let folders =
        ["examples", "examples/several_modules", "benches/workloads", bench_programs::FOLDER, "tests/programs"];
    let more = ["tests/programs/limited", "tests/programs/prompt", "tests/programs/services"];
    let all = folders.into_iter().chain(more).flat_map(|folder| programs_in(&source_tree().join(folder)));
    let all: Vec<PathBuf> = all.collect();
    assert!(all.len() >= 50, "only {} programs were found", all.len());
    all
}

fn verify(file: &Path) -> Output {
    run_tally(&["verify".as_ref(), file.as_os_str()], &[])
}

fn zeal(file: &Path, plan: &str, level: &str) -> Output {
    let options = ["run", "--no-warnings", "--zeal", "--plan", plan, "--opt", level].map(AsRef::as_ref);
    run_tally(&[&options[..], &[file.as_os_str()]].concat(), &[])
}

/// The lines that warnings are about.
fn warned(mistake: &Mistake, stderr: &str) -> BTreeSet<usize> {
    let place = format!("{}:", mistake.name());
    let warnings = stderr.lines().filter(|line| line.starts_with("warning: "));
    let lines = warnings.filter_map(|line| line.split_once(&place)?.1.split(':').next()?.parse().ok());
    lines.collect()
}

fn warns_of(mistake: &Mistake) -> Result<(), String> {
    let output = verify(&mistake.0.file);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let is_right = if mistake.is_seen() {
        stderr.contains(mistake.must_say("verify:")) && warned(mistake, &stderr) == mistake.marked("warned")
    } else {
        stderr.is_empty() && mistake.marked("warned").is_empty()
    };
    let says_what_it_is = stdout.contains("no errors found") && stdout.contains("; not seen: ");
    is_so(is_right && says_what_it_is && output.status.success(), "verify", &output)
}

fn zeal_stops_at(mistake: &Mistake) -> Result<(), String> {
    for plan in PLANS {
        let output = zeal(&mistake.0.file, plan, "2");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_right = match mistake.stop(plan) {
            None => output.status.success() && stderr.is_empty(),
            Some(words) => {
                let places = mistake.marked("stops").into_iter().map(|line| format!("{}:{line}:", mistake.name()));
                let names_place = places.into_iter().all(|place| stderr.contains(&place));
                output.status.code() == Some(STOPPED) && stderr.contains(words) && names_place
            }
        };
        is_so(is_right, plan, &output)?;
    }
    Ok(())
}

fn is_not_warned_of_and_runs(file: &Path) -> Result<(), String> {
    is_not_accused(file)?;
    for plan in PLANS {
        for level in ["0", "2"] {
            let output = zeal(file, plan, level);
            let is_quiet = output.status.success() && output.stderr.is_empty();
            is_so(is_quiet, &format!("{plan} -O{level}"), &output)?;
        }
    }
    Ok(())
}

fn is_not_accused(file: &Path) -> Result<(), String> {
    let output = verify(file);
    is_so(output.stderr.is_empty() && output.status.success(), "verify", &output)
}

fn is_so(is_right: bool, how: &str, output: &Output) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{how}: {}", describe(output))) }
}
