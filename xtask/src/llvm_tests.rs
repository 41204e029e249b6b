//! `cargo xtask llvm-tests FOLDER`: LLVM's own tests of garbage collection, given to Tally.
//!
//! LLVM's source tree has them in `llvm/test`; none is copied here. Those that mention statepoints, stack maps or a gc strategy are
//! lowered as they are, with a function that makes an object of Tally's heap (or the module is no business of Tally's), and after
//! `RewriteStatepointsForGC`. Lines that name another machine are left out: what is tested there is independent of it. What
//! stock `llc` compiles must be lowered and compiled, or refused with a reason; a crash, or code that only Tally's lowering has
//! spoiled, fails the check. Printed is each reason, with the number of tests and the first of them.

use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, run, setup, tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What such a test mentions.
const MENTIONS: [&str; 3] = ["llvm.experimental.gc.", "llvm.gcroot", " gc \""];
/// Folders of `llvm/test` in which they are.
const FOLDERS: [&str; 4] = ["CodeGen", "Verifier", "Transforms/RewriteStatepointsForGC", "Transforms/PlaceSafepoints"];
/// Strategies that only LLVM's tests know, of a frontend's own collector.
const NAMES_OF_TESTS: [&str; 2] = ["example", "sample"];

/// `cargo xtask llvm-tests`
#[derive(clap::Args)]
pub struct Arguments {
    /// `llvm/test` of LLVM's source tree
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print each test and what became of it
    #[arg(long)]
    details: bool,
}

/// What became of one form of a test.
#[derive(Clone, PartialEq, Eq)]
enum Verdict {
    /// Lowered, and stock tools compile the result.
    Taken,
    /// Stock tools do not compile it either.
    NotByStock,
    /// With the first line of the message, without names.
    Refused(String),
    /// What should not happen.
    Wrong(String),
}

/// Gives all tests of the folder to Tally.
pub fn llvm_tests(arguments: &Arguments) -> Outcome {
    setup::ensure(setup::BUILD)?;
    let tally = run::build_tally()?;
    let tests = tests_in(&arguments.folder)?;
    if tests.is_empty() {
        let folder = arguments.folder.display();
        return Err(Failure::unprepared(format!(
            "{folder} has no tests of garbage collection; name llvm/test of LLVM's source"
        )));
    }
    let work = tree::release()?.join("llvm-tests");
    std::fs::create_dir_all(&work)
        .map_err(|error| Failure::step(format!("cannot make {}: {error}", work.display())))?;
    let progress = Progress::new(tests.len());
    let verdicts = process::side_by_side(&tests, |test| {
        let forms = forms(test, &work)?;
        let judged: Vec<_> =
            forms.iter().map(|(form, file)| Ok((*form, judge(&tally, file)?))).collect::<Result<_, Failure>>()?;
        progress.end();
        Ok::<_, Failure>(judged)
    });
    drop(progress);
    let mut reasons: BTreeMap<(&str, String), Vec<&Path>> = BTreeMap::new();
    let mut wrong = 0;
    for (test, judged) in tests.iter().zip(verdicts) {
        for (form, verdict) in judged? {
            if arguments.details || matches!(verdict, Verdict::Wrong(_)) {
                println!("{} ({form}): {}", test.display(), in_words(&verdict));
            }
            wrong += usize::from(matches!(verdict, Verdict::Wrong(_)));
            reasons.entry((form, in_words(&verdict))).or_default().push(test);
        }
    }
    for ((form, reason), tests) in &reasons {
        println!("{:4}  {form}: {reason}  ({})", tests.len(), tests[0].file_name().unwrap_or_default().display());
    }
    if wrong > 0 {
        return Err(Failure::step(format!("{wrong} forms of tests are neither taken nor refused with a reason")));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Taken => "taken".to_owned(),
        Verdict::NotByStock => "refused by stock tools, too".to_owned(),
        Verdict::Refused(why) => format!("refused: {why}"),
        Verdict::Wrong(why) => format!("WRONG: {why}"),
    }
}

fn tests_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut open: Vec<PathBuf> = FOLDERS.iter().map(|name| folder.join(name)).filter(|it| it.is_dir()).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let unreadable = |error| Failure::step(format!("cannot read {}: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "ll") && is_one(&read(&path)?) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_one(text: &str) -> bool {
    MENTIONS.iter().any(|mention| text.contains(mention))
}

fn read(path: &Path) -> Result<String, Failure> {
    let bytes =
        std::fs::read(path).map_err(|error| Failure::step(format!("cannot read {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The forms of a test, each in a file.
fn forms(test: &Path, work: &Path) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let is_of_a_machine = |line: &&str| line.starts_with("target triple") || line.starts_with("target datalayout");
    let text = read(test)?.lines().filter(|line| !is_of_a_machine(line)).collect::<Vec<_>>().join("\n");
    let mut flat: Vec<_> =
        test.components().rev().take(3).map(|it| it.as_os_str().to_string_lossy().into_owned()).collect();
    flat.reverse();
    let stem = flat.join("_");
    let write = |form: &'static str, text: &str| {
        let file = work.join(format!("{}_{stem}", form.replace(' ', "_")));
        let done = std::fs::write(&file, text);
        done.map_err(|error| Failure::step(format!("cannot write {}: {error}", file.display())))?;
        Ok::<_, Failure>((form, file))
    };
    let mut forms = vec![write("as it is", &text)?];
    if let Some(gc) = strategy(&text).filter(|_| !text.contains("@llvm_gc_allocate")) {
        let space = if matches!(gc, "statepoint-example" | "coreclr") { " addrspace(1)" } else { "" };
        let made = format!(
            "{text}\ndeclare ptr{space} @llvm_gc_allocate(i32)\ndefine ptr{space} @made_for_tally() gc \"{gc}\" {{\n  \
             %o = call ptr{space} @llvm_gc_allocate(i32 8)\n  ret ptr{space} %o\n}}\n"
        );
        forms.push(write("with an object", &made)?);
        let (_, source) = &forms[1];
        let rewritten = work.join(format!("rewritten_{stem}"));
        let mut opt = process::command(setup::llvm_tool("opt"));
        opt.args(["-passes=rewrite-statepoints-for-gc", "-S"]).arg(source).arg("-o").arg(&rewritten);
        if !space.is_empty() && ended(&mut opt)?.0 == Some(0) {
            forms.push(("rewritten", rewritten));
        }
    }
    Ok(forms)
}

/// The first strategy that a function of the module has.
fn strategy(text: &str) -> Option<&str> {
    text.split(" gc \"").nth(1)?.split('"').next()
}

/// The status, none after a signal, and standard error.
fn ended(command: &mut std::process::Command) -> Result<(Option<i32>, String), Failure> {
    let output = command
        .output()
        .map_err(|error| Failure::step(format!("cannot start {}: {error}", process::shown(command))))?;
    Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn judge(tally: &Path, file: &Path) -> Result<Verdict, Failure> {
    let lowered = file.with_extension("lowered.bc");
    let mut lower = process::command(tally);
    lower.arg("lower").arg(file).arg("-o").arg(&lowered);
    NAMES_OF_TESTS.iter().for_each(|name| _ = lower.args(["--gc-name", &format!("{name}=trace")]));
    let (status, said) = ended(&mut lower)?;
    if status == Some(2) {
        let by_stock = compiles(file)?;
        return Ok(if by_stock { Verdict::Refused(reason(&said, file)) } else { Verdict::NotByStock });
    }
    if status != Some(0) {
        return Ok(Verdict::Wrong(format!("`tally lower` ended with {status:?}: {}", reason(&said, file))));
    }
    let mut verify = process::command(setup::llvm_tool("opt"));
    let (status, said) = ended(verify.args(["-passes=verify", "-disable-output"]).arg(&lowered))?;
    if status != Some(0) {
        return Ok(Verdict::Wrong(format!("what was lowered is not in order: {}", reason(&said, file))));
    }
    if compiles(&lowered)? {
        return Ok(Verdict::Taken);
    }
    let by_stock = compiles(file)?;
    let spoiled = || Verdict::Wrong("llc compiles it, but not what Tally made of it".to_owned());
    Ok(if by_stock { spoiled() } else { Verdict::NotByStock })
}

/// Whether `llc` compiles a module, with frame pointers, as Tally's functions have them (a test may need all registers); patch
/// points of other machines' sizes keep it busy for ever.
fn compiles(file: &Path) -> Result<bool, Failure> {
    let mut llc = process::command("timeout");
    llc.arg("20").arg(setup::llvm_tool("llc")).args(["-mtriple=x86_64-unknown-linux-gnu", "-relocation-model=pic"]);
    llc.arg("--frame-pointer=all");
    Ok(ended(llc.arg(file).args(["-o", "/dev/null"]))?.0 == Some(0))
}

/// The first line of a message, without the names of file and function.
fn reason(said: &str, file: &Path) -> String {
    let line = said.lines().next().unwrap_or_default().replace(&file.display().to_string(), "").replace("tally: ", "");
    let line = line.trim_start_matches([':', ' ']);
    match line.strip_prefix("in @").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest.to_owned(),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_what_they_mention() {
        assert!(is_one("define void @f() gc \"ocaml\" {") && is_one("call void @llvm.gcroot(ptr %r, ptr null)"));
        assert!(!is_one("define void @f() { ret void }"));
        assert_eq!(strategy("define void @f() gc \"ocaml\" {\n}\ndefine void @g() gc \"erlang\" {"), Some("ocaml"));
        assert_eq!(strategy("define void @f() {"), None);
    }

    #[test]
    fn reasons_are_without_names() {
        let said = "tally: a/b.ll: in @f: a vector of references\n  more";
        assert_eq!(reason(said, Path::new("a/b.ll")), "a vector of references");
        assert_eq!(reason("tally: a/b.ll:3:4: error: wrong", Path::new("a/b.ll")), "3:4: error: wrong");
    }
}
