//! `cargo xtask llvm-tests FOLDER`: LLVM's own tests of garbage collection, given to Tally.
//!
//! LLVM's source tree has them in `llvm/test`; none is copied here. Those that mention statepoints, stack maps or a gc strategy are
//! lowered as they are, with a function that makes an object of Tally's heap (or the module is no business of Tally's), and after
//! `RewriteStatepointsForGC`. A test of stack maps has no strategy: all its functions get one, too. Lines that name a machine are
//! left out. Tests for AArch64 and RISC-V are compiled for these, all others for x86-64: what they test is independent of the
//! machine. What stock `llc` compiles must be lowered and compiled, or refused with a reason; a crash, code that only Tally's
//! lowering has spoiled, or a lowering without end fails the check. Printed is each reason, with the number of tests and the first.

use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{process, run, setup, tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What such a test mentions.
const MENTIONS: [&str; 5] =
    ["llvm.experimental.gc.", "llvm.experimental.stackmap", "llvm.experimental.patchpoint", "llvm.gcroot", " gc \""];
/// Folders of `llvm/test` in which they are.
const FOLDERS: [&str; 4] = ["CodeGen", "Verifier", "Transforms/RewriteStatepointsForGC", "Transforms/PlaceSafepoints"];
/// Strategies that only LLVM's tests know, of a frontend's own collector.
const NAMES_OF_TESTS: [&str; 2] = ["example", "sample"];
/// A machine that code is made for: the folder of its tests, its name for `tally`, and options of `llc`.
struct Machine {
    folder: &'static str,
    target: &'static str,
    llc: &'static [&'static str],
}
/// The first is that of all other tests.
const MACHINES: [Machine; 3] = [
    Machine { folder: "X86", target: "x86_64-unknown-linux-gnu", llc: &["-mtriple=x86_64-unknown-linux-gnu"] },
    Machine { folder: "AArch64", target: "aarch64-unknown-linux-gnu", llc: &["-mtriple=aarch64-unknown-linux-gnu"] },
    Machine {
        folder: "RISCV",
        target: "riscv64gc-unknown-linux-gnu",
        llc: &["-mtriple=riscv64-unknown-linux-gnu", "-mattr=+m,+a,+f,+d,+c"],
    },
];
/// Seconds that a tool has for a test: patch points of other machines' sizes keep `llc` busy for ever.
const SECONDS: &str = "20";

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
        let judged: Vec<_> = forms
            .iter()
            .map(|(form, file)| Ok((*form, judge(&tally, machine(test), file, for_stock(&forms, form, file))?)))
            .collect::<Result<_, Failure>>()?;
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
    let Some(gc) = strategy(&text) else {
        let made = format!("{}\n{}", with_strategy(&text, "trace"), maker("", "trace"));
        forms.push(write("with a strategy", &made)?);
        forms.push(write("with an object", &format!("{text}\n{}", maker("", "trace")))?);
        return Ok(forms);
    };
    if !text.contains("@llvm_gc_allocate") {
        let space = if matches!(gc, "statepoint-example" | "coreclr") { " addrspace(1)" } else { "" };
        forms.push(write("with an object", &format!("{text}\n{}", maker(space, gc)))?);
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

/// What stock tools are asked to compile in place of a form: they do not know the strategy that a test of stack maps is given.
fn for_stock<'a>(forms: &'a [(&str, PathBuf)], form: &str, file: &'a Path) -> &'a Path {
    let is_given_one = forms.iter().any(|(name, _)| *name == "with a strategy");
    if is_given_one && form != "as it is" { &forms[0].1 } else { file }
}

/// A function that makes an object.
fn maker(space: &str, gc: &str) -> String {
    format!(
        "declare ptr{space} @llvm_gc_allocate(i32)\ndefine ptr{space} @made_for_tally() gc \"{gc}\" {{\n  \
         %o = call ptr{space} @llvm_gc_allocate(i32 8)\n  ret ptr{space} %o\n}}\n"
    )
}

/// The module with this strategy for each function that is written in one line.
fn with_strategy(text: &str, gc: &str) -> String {
    let changed = text.lines().map(|line| {
        let end = [" prefix ", " prologue ", " personality ", " !", " {"].iter().filter_map(|it| line.rfind(it)).min();
        match end.filter(|_| line.starts_with("define ")) {
            Some(end) => format!("{} gc \"{gc}\"{}\n", &line[..end], &line[end..]),
            None => format!("{line}\n"),
        }
    });
    changed.collect()
}

/// The first strategy that a function of the module has.
fn strategy(text: &str) -> Option<&str> {
    let words = text.split_whitespace();
    let mut pairs = words.clone().zip(words.skip(1)).filter(|(first, _)| *first == "gc");
    pairs.find_map(|(_, name)| name.strip_prefix('"')?.split('"').next())
}

/// The status, none after a signal, and standard error.
fn ended(command: &mut std::process::Command) -> Result<(Option<i32>, String), Failure> {
    let output = command
        .output()
        .map_err(|error| Failure::step(format!("cannot start {}: {error}", process::shown(command))))?;
    Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn judge(tally: &Path, machine: &Machine, file: &Path, for_stock: &Path) -> Result<Verdict, Failure> {
    let lowered = file.with_extension("lowered.bc");
    let mut lower = in_time(tally);
    lower.args(["lower", "--target", machine.target]).arg(file).arg("-o").arg(&lowered);
    NAMES_OF_TESTS.iter().for_each(|name| _ = lower.args(["--gc-name", &format!("{name}=trace")]));
    let (status, said) = ended(&mut lower)?;
    if status == Some(2) {
        let by_stock = compiles(machine, for_stock)?;
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
    if compiles(machine, &lowered)? {
        return Ok(Verdict::Taken);
    }
    let by_stock = compiles(machine, for_stock)?;
    let spoiled = || Verdict::Wrong("llc compiles it, but not what Tally made of it".to_owned());
    Ok(if by_stock { spoiled() } else { Verdict::NotByStock })
}

/// The machine of a test's folder.
fn machine(test: &Path) -> &'static Machine {
    let is_below = |machine: &&Machine| test.components().any(|it| it.as_os_str() == machine.folder);
    MACHINES.iter().find(is_below).unwrap_or(&MACHINES[0])
}

/// Whether `llc` compiles a module, with frame pointers, as Tally's functions have them: a test may need all registers.
fn compiles(machine: &Machine, file: &Path) -> Result<bool, Failure> {
    let mut llc = in_time(setup::llvm_tool("llc"));
    llc.args(machine.llc).args(["-relocation-model=pic", "--frame-pointer=all", "-o", "/dev/null"]);
    Ok(ended(llc.arg(file))?.0 == Some(0))
}

/// A command that a test cannot keep busy for ever.
fn in_time(program: impl AsRef<std::ffi::OsStr>) -> std::process::Command {
    let mut command = process::command("timeout");
    command.arg(SECONDS).arg(program);
    command
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
        assert_eq!(strategy("; of gc roots\ndefine void @f()\ngc \"coreclr\" {"), Some("coreclr"));
        assert_eq!(strategy("define void @f() {"), None);
        let machines =
            ["CodeGen/AArch64/stackmap.ll", "CodeGen/PowerPC/stackmap.ll"].map(|it| machine(Path::new(it)).folder);
        assert_eq!(machines, ["AArch64", "X86"]);
    }

    #[test]
    fn strategies_stand_where_llvm_reads_them() {
        let text = "define void @f() #0 personality ptr @p {\n  ret void\n}\ndefine i64 @g() {";
        let expected =
            "define void @f() #0 gc \"trace\" personality ptr @p {\n  ret void\n}\ndefine i64 @g() gc \"trace\" {\n";
        assert_eq!(with_strategy(text, "trace"), expected);
    }

    #[test]
    fn reasons_are_without_names() {
        let said = "tally: a/b.ll: in @f: a vector of references\n  more";
        assert_eq!(reason(said, Path::new("a/b.ll")), "a vector of references");
        assert_eq!(reason("tally: a/b.ll:3:4: error: wrong", Path::new("a/b.ll")), "3:4: error: wrong");
    }
}
