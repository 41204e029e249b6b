//! Typical mistakes of C programs and frontends: what `tally verify` says of each, and that zeal stops at those that do harm.
//!
//! Each file in `tests/programs/mistakes/` is one mistake, named after its situation. Its first comment says what is
//! expected: `verify: WORDS` of a warning, or `verify: silent, REASON`; `zeal: WORDS` of the message, or `zeal: harmless because
//! REASON`; `prompt: …` where zeal says another thing under the prompt plan. A comment `// warned` stands at the lines of all
//! warnings and no others, `// stops` at the line that zeal names. What is right and looks much like a mistake is in
//! `tests/programs/mistakes/right/`: there verify is silent, and zeal lets it run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use tally_kit::tally_command::{describe, run_tally, source_tree};

/// Fewer than these would mean that `tally verify` has become blind to something.
const SEEN_AT_LEAST: usize = 50;
const MISTAKES_AT_LEAST: usize = 57;

/// The exit status of a program that zeal stopped.
const STOPPED: i32 = 5;

const PLANS: [&str; 2] = ["refcount", "refcount-prompt"];

struct Mistake {
    file: PathBuf,
    text: String,
}

impl Mistake {
    /// What stands behind a word of the first comment.
    fn expected(&self, word: &str) -> Option<&str> {
        let lines = self.text.lines().take_while(|line| line.starts_with([' ', '/', ';']));
        let mut found = lines.filter_map(|line| line.trim_start_matches([' ', '/', '*', ';']).strip_prefix(word));
        found.next().map(str::trim)
    }

    fn must_say(&self, word: &str) -> &str {
        self.expected(word).unwrap_or_else(|| panic!("{}: no `{word}` in the first comment", self.name()))
    }

    fn name(&self) -> String {
        self.file.file_name().expect("a file").to_string_lossy().into_owned()
    }

    /// The lines that carry `// WORD`.
    fn marked(&self, word: &str) -> BTreeSet<usize> {
        let comment =
            |line: &str| line.split_once("// ").is_some_and(|(_, rest)| rest.split(", ").any(|it| it == word));
        self.text.lines().zip(1..).filter(|(line, _)| comment(line)).map(|(_, number)| number).collect()
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

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = source_tree().join("tests/programs/mistakes").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "ll"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn mistakes() -> Vec<Mistake> {
    let read = |file: PathBuf| Mistake { text: std::fs::read_to_string(&file).expect("readable"), file };
    programs("").into_iter().map(read).collect()
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

#[test]
fn verify_warns_of_most_mistakes_and_where_they_are() {
    let mistakes = mistakes();
    let mut faults = Vec::new();
    for mistake in &mistakes {
        let output = verify(&mistake.file);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        let is_right = if mistake.is_seen() {
            stderr.contains(mistake.must_say("verify:")) && warned(mistake, &stderr) == mistake.marked("warned")
        } else {
            stderr.is_empty() && mistake.marked("warned").is_empty()
        };
        let says_what_it_is = stdout.contains("no errors found") && stdout.contains("; not seen: ");
        if !is_right || !says_what_it_is || !output.status.success() {
            faults.push(format!("{}: {}", mistake.name(), describe(&output)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let seen = mistakes.iter().filter(|mistake| mistake.is_seen()).count();
    assert!(mistakes.len() >= MISTAKES_AT_LEAST, "{} mistakes are left", mistakes.len());
    assert!(seen >= SEEN_AT_LEAST, "{seen} of {} mistakes are seen", mistakes.len());
}

#[test]
fn zeal_stops_at_every_mistake_that_does_harm() {
    let mut faults = Vec::new();
    for mistake in mistakes() {
        for plan in PLANS {
            let output = zeal(&mistake.file, plan, "2");
            let stderr = String::from_utf8_lossy(&output.stderr);
            let is_right = match mistake.stop(plan) {
                None => output.status.success() && stderr.is_empty(),
                Some(words) => {
                    let places = mistake.marked("stops").into_iter().map(|line| format!("{}:{line}:", mistake.name()));
                    let names_place = places.into_iter().all(|place| stderr.contains(&place));
                    output.status.code() == Some(STOPPED) && stderr.contains(words) && names_place
                }
            };
            if !is_right {
                faults.push(format!("{} {plan}: {}", mistake.name(), describe(&output)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_only_looks_like_a_mistake_is_not_warned_of_and_runs() {
    for file in programs("right") {
        let output = verify(&file);
        assert!(output.stderr.is_empty() && output.status.success(), "{}: {}", file.display(), describe(&output));
        for plan in PLANS {
            for level in ["0", "2"] {
                let output = zeal(&file, plan, level);
                let is_quiet = output.status.success() && output.stderr.is_empty();
                assert!(is_quiet, "{} {plan} -O{level}: {}", file.display(), describe(&output));
            }
        }
    }
}

/// Programs of this tree that keep the rules, of every kind.
#[test]
fn correct_programs_are_not_accused() {
    let folders =
        ["examples", "examples/several_modules", "benches/workloads", "tests/programs", "tests/programs/limited"];
    let more = ["tests/programs/prompt", "tests/programs/services"];
    let mut count = 0;
    for folder in folders.into_iter().chain(more) {
        let entries = std::fs::read_dir(source_tree().join(folder)).expect("the folder is there");
        let files = entries.map(|entry| entry.expect("readable").path());
        for file in files.filter(|path| path.extension().is_some_and(|it| it == "c" || it == "ll")) {
            let output = verify(&file);
            assert!(output.stderr.is_empty() && output.status.success(), "{}: {}", file.display(), describe(&output));
            count += 1;
        }
    }
    assert!(count >= 50, "only {count} programs were found");
}
