//! One hazard's program: what its comments ask for, and the ways in which it is run.

use std::path::{Path, PathBuf};
use tally_kit::folder::{Folder, Outcome};
use tally_kit::savings::ALL_BUT_ONE;
use tally_kit::situation::Situation;
use tally_kit::ways::{by_turns, every_way, turn_of};

const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];
/// Executables, and zeal, where code differs most.
const TWO_LEVELS: [&str; 2] = ["0", "2"];
const TINY_EPOCHS: &str = "4KiB";
/// Under zeal, `churn` of support.ll need not allocate until memory is used again.
const FEW_BOXES: [(&str, &str); 1] = [("FEW_BOXES", "1")];
/// The same program, counted at once: at level 0 read literally, else with all patterns.
const PROMPT: [&str; 2] = ["--plan", "refcount-prompt"];
/// The same program without barriers, once: its code differs in nothing else.
const TRACE: [&str; 2] = ["--plan", "trace"];

/// Without the roots of plain references that the program writes: every pointer gets those that it needs.
const INFERRED: [&str; 2] = ["--roots", "auto"];

/// Which counts may be saved: all but one, one alone, none, all. At every second level a program runs with one of these
/// in place of those that the level saves, by turns of its name; with `TALLY_EVERY_WAY` with all of them at each level.
const SAVINGS: [&str; 13] = {
    let [a, b, c, d, e, f, g, h, i, j] = ALL_BUT_ONE;
    ["none", a, b, c, d, e, f, g, h, i, j, "postponed", "all"]
};

/// A program and what it expects.
#[derive(Debug)]
pub struct Program {
    pub name: String,
    pub file: PathBuf,
    /// The other modules.
    pub others: Vec<PathBuf>,
    pub withouts: Vec<Without>,
    levels: Vec<String>,
    zeal: bool,
    refused: Option<String>,
    /// What `tally run` says, if only an executable can do it.
    linked_only: Option<String>,
    /// What is said under the prompt plan, if it is refused there alone.
    prompt_refused: Option<String>,
    /// Why roots cannot be inferred in place of the written ones, if they cannot.
    written: Option<String>,
    text: String,
}

/// `; WITHOUT mitigation at level: text`
#[derive(Debug)]
pub struct Without {
    pub mitigation: String,
    pub level: String,
    pub shows: String,
}

fn folder_of_programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hazards")
}

impl Program {
    /// What a file says.
    pub fn read(situation: &Situation) -> Program {
        let name = situation.name().to_owned();
        assert!(situation.text.starts_with("; Hazard: "), "{name} does not say what its hazard is");
        let one = |keyword| situation.one_of(keyword).map(str::to_owned);
        let others = situation.all_of("WITH").flat_map(|names| names.split(' '));
        let levels = situation.one_of("LEVELS").map(|levels| levels.split(' ').map(str::to_owned).collect());
        Program {
            name,
            file: situation.file.clone(),
            others: std::iter::once("support.ll").chain(others).map(|name| folder_of_programs().join(name)).collect(),
            withouts: situation.told().filter_map(|(keyword, rest)| Without::read(keyword, rest)).collect(),
            levels: levels.unwrap_or_else(|| LEVELS.map(str::to_owned).to_vec()),
            zeal: situation.one_of("ZEAL") != Some("no"),
            refused: one("REFUSED"),
            linked_only: one("LINKED-ONLY"),
            prompt_refused: one("PROMPT-REFUSED"),
            written: one("WRITTEN ROOTS"),
            text: situation.text.clone(),
        }
    }

    /// With all mitigations, in all ways.
    pub fn check_runs(&self) -> Result<(), String> {
        let refusal = self.refused.as_ref().or(self.linked_only.as_ref()).map(String::as_str);
        for (place, level) in self.levels.iter().enumerate() {
            let run = ["run", "--leak-check", "--epoch-bytes", TINY_EPOCHS, "--opt", level];
            check(&format!("run at {level}"), &self.tally(&run), refusal)?;
            if refusal.is_none() && place == 1 % self.levels.len() {
                check(&format!("trace at {level}"), &self.tally(&[&run[..], &TRACE].concat()), None)?;
            }
            let prompt: Vec<Vec<&str>> = match (refusal, &self.prompt_refused) {
                (Some(_), _) => Vec::new(),
                (None, Some(_)) => vec![Vec::new()],
                (None, None) => {
                    let some = self.savings(place).into_iter().map(|saved| vec!["--save-counts", saved]).collect();
                    by_turns([vec![Vec::new()], some], turn_of(&self.name) + place).concat()
                }
            };
            for saving in prompt {
                let run = [&run[..], &PROMPT, &saving].concat();
                check(&format!("prompt {saving:?} at {level}"), &self.tally(&run), self.prompt_refused.as_deref())?;
            }
        }
        if self.refused.is_some() {
            return Ok(());
        }
        for level in TWO_LEVELS.into_iter().filter(|level| self.levels.iter().any(|other| other == level)) {
            if self.zeal && self.linked_only.is_none() {
                let zeal = ["run", "--zeal", "--opt", level];
                check(&format!("zeal at {level}"), &self.tally_with(&FEW_BOXES, &zeal), None)?;
                if self.prompt_refused.is_none() {
                    let prompt = [&zeal[..], &PROMPT].concat();
                    check(&format!("prompt zeal at {level}"), &self.tally_with(&FEW_BOXES, &prompt), None)?;
                }
            }
            let plans = [&[][..], &PROMPT];
            for plan in plans.into_iter().take(if self.prompt_refused.is_some() { 1 } else { 2 }) {
                let folder = Folder::compiling_once(&[]);
                let build = [&["build", "-o", "program", "--opt", level], plan].concat();
                check(&format!("{build:?}"), &folder.tally(&self.with_files(&build)), None)?;
                let variables = [("TALLY_EPOCH_BYTES", TINY_EPOCHS), ("TALLY_LEAK_CHECK", "1")];
                check(&format!("executable of {build:?}"), &folder.program(&variables, &[]), None)?;
            }
        }
        Ok(())
    }

    /// With inferred roots in place of the written ones of plain references: under one plan, at one level, with tiny epochs or
    /// under zeal, all chosen by the program's name; every way with `TALLY_EVERY_WAY`.
    pub fn check_inferred(&self) -> Result<(), String> {
        let is_run = self.written.is_none() && self.refused.is_none() && self.linked_only.is_none();
        if !is_run {
            return Ok(());
        }
        let is_root = |line: &&str| line.contains("call void @llvm.gcroot(") && line.contains("ptr null)");
        let without: String = self.text.lines().filter(|line| !is_root(line)).map(|line| format!("{line}\n")).collect();
        let folder = Folder::compiling_once(&[("without_roots.ll", &without)]);
        let others: Vec<&str> = self.others.iter().map(|file| file.to_str().unwrap()).collect();
        let levels = TWO_LEVELS.into_iter().filter(|level| self.levels.iter().any(|other| other == level));
        let mut ways: Vec<[&[&str]; 3]> = Vec::new();
        let plans: [&[&str]; 3] = [&[], &TRACE, &PROMPT];
        let levels: Vec<[&str; 2]> = levels.map(|level| ["--opt", level]).collect();
        for plan in plans.into_iter().take(if self.prompt_refused.is_some() { 2 } else { 3 }) {
            for level in &levels {
                ways.push([plan, level, &["--leak-check", "--epoch-bytes", TINY_EPOCHS]]);
                ways.extend(self.zeal.then_some([plan, level, &["--zeal"][..]]));
            }
        }
        let turn = turn_of(&self.name) % ways.len();
        for (_, way) in ways.iter().enumerate().filter(|(place, _)| every_way() || *place == turn) {
            let words = [&["run", "without_roots.ll"], &INFERRED[..], &way.concat(), &others].concat();
            check(&format!("{way:?} without roots"), &folder.tally_with(&FEW_BOXES, &words), None)?;
        }
        Ok(())
    }

    fn savings(&self, place: usize) -> Vec<&'static str> {
        match every_way() {
            true => SAVINGS.to_vec(),
            false => vec![SAVINGS[(turn_of(&self.name) + place) % SAVINGS.len()]],
        }
    }

    fn tally(&self, arguments: &[&str]) -> Outcome {
        self.tally_with(&[], arguments)
    }

    fn tally_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
        Folder::compiling_once(&[]).tally_with(variables, &self.with_files(arguments))
    }

    fn with_files<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let files = std::iter::once(&self.file).chain(&self.others);
        arguments.iter().copied().chain(files.map(|file| file.to_str().unwrap())).collect()
    }
}

/// Whether a run went well, or was refused with these words.
fn check(what: &str, outcome: &Outcome, refusal: Option<&str>) -> Result<(), String> {
    let right = match refusal {
        None => outcome.status == Some(0) && !outcome.stderr.contains("tally"),
        Some(text) => outcome.status == Some(2) && outcome.stderr.contains(text),
    };
    if right { Ok(()) } else { Err(format!("{what}: {outcome:?}")) }
}

impl Without {
    fn read(keyword: &str, shows: &str) -> Option<Without> {
        let (mitigation, level) = keyword.strip_prefix("WITHOUT ")?.split_once(" at ")?;
        Some(Without { mitigation: mitigation.to_owned(), level: level.to_owned(), shows: shows.to_owned() })
    }
}
