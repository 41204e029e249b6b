//! The ways a random program is run, and the comparison with the reference run.
//!
//! A run is right if it has exit status 0, the reference's output, and nothing on standard error (`tally run` repeats
//! the warnings of `tally verify` there). Runs under zeal take fewer and shorter rounds, and the reference takes the
//! same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::modules::{self, Destructors};
use super::passes;
use tally_kit::dice::Dice;
use tally_kit::savings::ALL_BUT_ONE;
use tally_kit::tally_command::{describe, run};

/// A run that takes longer than this many seconds counts as hung.
const SECONDS_MAX: &str = "120";
/// Rounds and fuel of an ordinary run, and of one with an epoch at every safepoint.
const FULL: [&str; 2] = ["8", "400"];
const SHORT: [&str; 2] = ["2", "25"];

/// One way to run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// `tally run`, with these options.
    Run(Vec<String>),
    /// `tally run --zeal`.
    Zeal(Vec<String>),
    /// `tally build`, then the executable with these variables.
    Build(Vec<String>, Vec<(&'static str, &'static str)>),
    /// IR after LLVM's passes, then `tally run`, sometimes under zeal.
    Optimised(String, Vec<String>),
}

/// A program that did not do what it should.
#[derive(Debug)]
pub struct Difference {
    /// The way in which it was run.
    pub way: Way,
    /// The result.
    pub what: String,
    /// The first words that tell this failure from others.
    pub sort: String,
}

impl Way {
    /// The same under the prompt plan.
    pub fn prompt(self) -> Way {
        self.with(&PROMPT)
    }

    /// The same under the trace plan.
    pub fn trace(self) -> Way {
        self.with(&TRACE)
    }

    /// The same way under the prompt plan, now and then with other savings than those of its level.
    fn prompt_saving(self, dice: &mut Dice) -> Way {
        let way = self.prompt();
        if dice.one_in(2) { way } else { way.with(&["--save-counts", *dice.pick(&SAVINGS)]) }
    }

    /// The same with more options.
    pub fn with(self, more: &[&str]) -> Way {
        let with = |options: Vec<String>| [more.iter().map(|&one| one.to_owned()).collect(), options].concat();
        match self {
            Way::Run(options) => Way::Run(with(options)),
            Way::Zeal(options) => Way::Zeal(with(options)),
            Way::Build(options, variables) => Way::Build(with(options), variables),
            Way::Optimised(pipeline, options) => Way::Optimised(pipeline, with(options)),
        }
    }

    /// Whether objects die at once this way.
    pub fn is_prompt(&self) -> bool {
        self.has_option(PROMPT[1])
    }

    /// Whether nothing is counted this way.
    pub fn is_trace(&self) -> bool {
        self.has_option(TRACE[1])
    }

    fn has_option(&self, named: &str) -> bool {
        let (Way::Run(options) | Way::Zeal(options) | Way::Build(options, _) | Way::Optimised(_, options)) = self;
        options.iter().any(|option| option == named)
    }
}

const PROMPT: [&str; 2] = ["--plan", "refcount-prompt"];
const TRACE: [&str; 2] = ["--plan", "trace"];
/// The counts that may be saved: none, all, all but one, only one.
pub const SAVINGS: [&str; 13] = {
    let [a, b, c, d, e, f, g, h, i, j] = ALL_BUT_ONE;
    ["none", "all", a, b, c, d, e, f, g, h, i, j, "postponed"]
};

/// Ways to run a program under all plans. The prompt plan's counts are literal at -O0, and saved above: one of each
/// is always among them.
pub fn ways_of_all_plans(dice: &mut Dice) -> Vec<Way> {
    let mut all = ways(dice);
    for levels in [&["0"][..], &["1", "2", "3", "s"]] {
        let options = ["--opt", *dice.pick(levels), "--leak-check"].map(str::to_owned).to_vec();
        all.push(Way::Run(options).prompt());
    }
    let more = ways(dice);
    all.extend(more.into_iter().map(|way| way.prompt_saving(dice)));
    all.extend(ways(dice).into_iter().map(Way::trace));
    all
}

/// Draws ways: always `tally run`, sometimes the others.
pub fn ways(dice: &mut Dice) -> Vec<Way> {
    let level = |dice: &mut Dice| ["--opt".to_owned(), (*dice.pick(&["0", "1", "2", "3", "s"])).to_owned()];
    let heap = |dice: &mut Dice| {
        let mut options = vec!["--leak-check".to_owned()];
        if !dice.one_in(6) {
            options
                .extend(["--epoch-bytes".to_owned(), (*dice.pick(&["4KiB", "16KiB", "64KiB", "256KiB"])).to_owned()]);
        }
        if dice.one_in(2) {
            options.push("--stack-objects=off".to_owned());
        }
        if dice.one_in(3) {
            options.extend(["--pause-goal".to_owned(), (*dice.pick(&["1us", "20us", "200us"])).to_owned()]);
        }
        options
    };
    let run = |dice: &mut Dice| [level(dice).to_vec(), heap(dice)].concat();
    let mut ways = vec![Way::Run(run(dice))];
    if dice.one_in(2) {
        ways.push(Way::Run(run(dice)));
    }
    if dice.one_in(2) {
        ways.push(Way::Zeal(level(dice).to_vec()));
    }
    if dice.one_in(2) {
        let zeal = !dice.one_in(4);
        let heap = if zeal { ("TALLY_ZEAL", "1") } else { ("TALLY_EPOCH_BYTES", "8KiB") };
        // Under the deferred plan epochs and collections take turns.
        let rules = ("TALLY_TRACING", *dice.pick(&["turns", "1"]));
        ways.push(Way::Build(level(dice).to_vec(), vec![heap, rules, ("TALLY_LEAK_CHECK", "1")]));
    }
    if dice.one_in(2) {
        let pipeline = passes::pipeline(dice);
        let options =
            if dice.one_in(2) { [level(dice).to_vec(), vec!["--zeal".to_owned()]].concat() } else { run(dice) };
        ways.push(Way::Optimised(pipeline, options));
    }
    ways
}

/// Runs the program in `place` (a `.c` file in a folder that may be written to) in each of the ways.
///
/// # Errors
/// The first difference; or a message if the reference could not be made.
pub fn compare(tally: &Path, place: &Path, ways: &[Way]) -> Result<Option<Difference>, String> {
    let mut plain = modules::write(place, Destructors::Without)?;
    let mut destroyed = modules::write(place, Destructors::With)?;
    let raises = modules::raises(&std::fs::read_to_string(place).map_err(|error| error.to_string())?);
    let reference = build_reference(place, &plain, raises)?;
    if raises {
        [&mut plain, &mut destroyed].into_iter().try_for_each(|files| with_landing_pads(place, files))?;
    }
    let [full, short] = [FULL, SHORT].map(|amount| timed(&reference, &amount.map(OsString::from), &[]));
    for output in [&full, &short] {
        if !output.status.success() {
            return Err(format!("the reference run fails: {}", describe(output)));
        }
    }
    for way in ways {
        let right = if is_short(way) { &short } else { &full };
        let output = run_way(tally, place, if way.is_prompt() { &destroyed } else { &plain }, way)?;
        let what = if !output.status.success() {
            "ends badly"
        } else if output.stdout != right.stdout {
            "prints something else"
        } else if !output.stderr.is_empty() {
            "complains"
        } else {
            continue;
        };
        let sort = format!("{what} {} {}", output.status, first_words(&output.stderr));
        let what = format!("{what}: {}", describe(&output));
        return Ok(Some(Difference { way: way.clone(), what, sort }));
    }
    Ok(None)
}

fn is_short(way: &Way) -> bool {
    match way {
        Way::Zeal(_) => true,
        Way::Build(_, variables) => variables.iter().any(|(name, _)| *name == "TALLY_ZEAL"),
        Way::Optimised(_, options) => options.iter().any(|option| option == "--zeal"),
        Way::Run(_) => false,
    }
}

fn run_way(tally: &Path, place: &Path, files: &[PathBuf], way: &Way) -> Result<Output, String> {
    let amount = if is_short(way) { SHORT } else { FULL }.map(OsString::from);
    let run_files = |options: &[String], files: &[PathBuf]| {
        let mut arguments = vec![OsString::from("run")];
        arguments.extend(options.iter().map(OsString::from));
        arguments.extend(files.iter().map(OsString::from));
        arguments.push("--".into());
        arguments.extend(amount.clone());
        timed(tally, &arguments, &[])
    };
    Ok(match way {
        Way::Run(options) => run_files(options, files),
        Way::Zeal(options) => run_files(&[vec!["--zeal".to_owned()], options.clone()].concat(), files),
        Way::Build(options, variables) => {
            let executable = place.with_extension("exe");
            let mut arguments = vec![OsString::from("build")];
            arguments.extend(options.iter().map(OsString::from));
            arguments.extend(files.iter().map(OsString::from));
            arguments.extend([OsString::from("-o"), executable.clone().into()]);
            let built = timed(tally, &arguments, &[]);
            if !built.status.success() || !built.stderr.is_empty() {
                return Ok(built);
            }
            timed(&executable, &amount, variables)
        }
        Way::Optimised(pipeline, options) => {
            let optimised = files.iter().map(|file| passes::optimise(file, pipeline));
            run_files(options, &optimised.collect::<Result<Vec<_>, _>>()?)
        }
    })
}

/// The program in `place` as IR, without destructors.
///
/// # Errors
/// The message of a tool.
pub fn as_ir(place: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = modules::write(place, Destructors::Without)?;
    if modules::raises(&std::fs::read_to_string(place).map_err(|error| error.to_string())?) {
        with_landing_pads(place, &mut files)?;
        return Ok(files);
    }
    files.iter().map(|file| passes::compile(file, &[])).collect()
}

/// Makes IR of the files, in which calls may throw, and adds the code that stops exceptions.
fn with_landing_pads(place: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for file in files.iter_mut() {
        *file = passes::compile(file, &["-fexceptions"])?;
    }
    let attempt = place.with_extension("attempt.ll");
    std::fs::write(&attempt, super::ATTEMPT).map_err(|error| error.to_string())?;
    files.push(attempt);
    Ok(())
}

/// The program over `without_tally.h`.
fn build_reference(place: &Path, files: &[PathBuf], raises: bool) -> Result<PathBuf, String> {
    let folder = place.with_extension("reference");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    std::fs::write(folder.join("tally_gc.h"), super::WITHOUT_TALLY).map_err(|error| error.to_string())?;
    let executable = folder.join("program");
    let mut arguments: Vec<OsString> = ["-O1", "-w", "-I"].map(OsString::from).to_vec();
    arguments.push(folder.clone().into());
    arguments.extend(files.iter().map(OsString::from));
    if raises {
        let attempt = folder.join("attempt.ll");
        let lines = super::ATTEMPT.lines().filter(|line| !line.contains("gcroot"));
        let text: String = lines.map(|line| line.replace(" gc \"refcount\"", "") + "\n").collect();
        std::fs::write(&attempt, text).map_err(|error| error.to_string())?;
        arguments.extend(["-fexceptions".into(), attempt.into()]);
    }
    arguments.extend([OsString::from("-o"), executable.clone().into()]);
    let output = timed(Path::new(passes::CLANG), &arguments, &[]);
    if output.status.success() {
        Ok(executable)
    } else {
        Err(format!("clang refuses the reference: {}", describe(&output)))
    }
}

fn timed(program: &Path, arguments: &[OsString], variables: &[(&str, &str)]) -> Output {
    let mut all = vec![OsString::from(SECONDS_MAX), program.into()];
    all.extend_from_slice(arguments);
    run(Path::new("timeout"), &all, variables)
}

/// The beginning of a message, without names, numbers and places.
fn first_words(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let line = text.lines().next().unwrap_or("");
    line.split_whitespace()
        .filter(|word| word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == ':'))
        .take(6)
        .collect::<Vec<_>>()
        .join(" ")
}
