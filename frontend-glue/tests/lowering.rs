//! The lowering, told as data: each `lowering/*.ll` is a situation with the expected outcome in its comments.
//!
//! LLVM's FileCheck compares them (<https://llvm.org/docs/CommandGuide/FileCheck.html>). What is before `-NOT`, `-DAG`, `-COUNT-3` and the
//! like is a prefix, and says what is looked at; each prefix is checked on its own:
//!
//! ```text
//! ; CHECK: text, CHECK-NOT, …        the lowered module, in order
//! ; TOTAL-COUNT-3: text, TOTAL-NOT   the same: exactly three times. Every prefix that does not stand below is one of these
//! ; OPTIMISED-DAG: text              the same after default<O2>, anywhere
//! ; OPTIMISED_GONE-NOT: text         and nowhere
//! ; ERROR-DAG: text                  the module is refused, and one message for each of these holds it
//! ; WARNING-DAG: text                the verifier warns in these words (none: it is silent)
//! ; FOUND-LOWERED-DAG: text          the file is taken as a lowered module: the verifier says this
//! ; REMARK-DAG: text                 remarks hold this (none: they are not looked at)
//! ; IMBALANCE-DAG: text              operations written by hand: the checker of counts says this
//! ```
//!
//! Two words are the driver's own:
//!
//! ```text
//! ; OPTIONS: zeal fs=-64 all-roots tail-calls gc-name=mine   how it is lowered
//! ; OPTIONS: plan=refcount-prompt patterns=none|all|moves,lazy-roots,…   with which counts
//! ; OPTIONS: operations              the operations on counts are looked at, before they become code
//! ; UNTOUCHED                        the module comes out as it went in
//! ```
//!
//! Whatever the file says, every lowered module must pass LLVM's verifier and Tally's, again after `default<O2>`, and compile to
//! an object at -O0 and -O2.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tally_llvm::lower::{ContextAccess, Damage, LowerOptions, Patterns, Plan, count, lower};
use tally_llvm::verify::{verify_lowered, verify_source};

#[test]
fn every_situation_comes_out_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lowering");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ll"));
    files.sort();
    assert!(files.len() > 40, "the situations are missing");
    // One file is enough while working on it: TALLY_SITUATION=name cargo test --test lowering
    let wanted = std::env::var("TALLY_SITUATION").ok();
    let failures: Vec<String> = files
        .iter()
        .filter(|file| wanted.as_ref().is_none_or(|wanted| file.file_stem().unwrap().to_str() == Some(wanted)))
        .filter_map(|file| situation(file).err().map(|reason| format!("{}: {reason}", file.display())))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Modules to try expectations on.
const LOWERED: &str = "declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @poke()
define void @f(ptr %p) gc \"refcount\" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  call void @poke()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %o, ptr %o, ptr %o)
  ret void
}";
const BY_HAND: &str = "declare void @tally.count.increment(ptr)
define void @f(ptr %p) nounwind gc \"refcount-prompt\" {
  call void @tally.count.increment(ptr %p)
  ret void
}";
const NOT_LOWERED: &str = "declare void @poke()
define void @f() {
  call void @poke()
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !\"tally.lowered\", i32 1}";

/// A check that cannot fail is none: of each kind of expectation one that holds, and one that does not.
#[test]
fn every_kind_of_expectation_can_fail() {
    let poke = "call void @poke() [ \"deopt\"(i64 {{-?[0-9]+}}, ptr %r) ]";
    let null_object = LOWERED.replace("ptr %o, ptr %o, ptr %o", "ptr %o, ptr null, ptr %o");
    let unrooted = LOWERED.replace("store ptr %p, ptr %r", "").replace("%o, ptr %o, ptr %o", "%p, ptr %p, ptr %p");
    let untouched = "define void @g() {\n ret void\n}";
    let options = "; OPTIONS: plan=refcount-prompt";
    let remarks = |one: &str| format!("{options}\n; REMARK-DAG: {one} root `r`\n; REMARK-DAG: root `r` borrowed");
    let kinds: [(&str, &str, String, String); 13] = [
        ("CHECK", LOWERED, format!("; CHECK: {poke}\n; CHECK-NEXT: {poke}"), "; CHECK: @pike".into()),
        ("order", LOWERED, "; CHECK: @f(\n; CHECK: store ptr %p".into(), "; CHECK: store ptr %p\n; CHECK: @f(".into()),
        ("CHECK-NOT", LOWERED, "; CHECK-NOT: @pike".into(), "; CHECK-NOT: @poke".into()),
        ("CHECK-LABEL", LOWERED, "; CHECK-LABEL: @f(".into(), "; CHECK-LABEL: @g(".into()),
        ("fewer", LOWERED, total(poke, 2), total(poke, 3)),
        ("more", LOWERED, total(poke, 2), total(poke, 1)),
        ("OPTIMISED", LOWERED, format!("; OPTIMISED-DAG: {poke}"), "; OPTIMISED-DAG: @pike".into()),
        ("OPTIMISED_GONE", LOWERED, "; OPTIMISED_GONE-NOT: @pike".into(), "; OPTIMISED_GONE-NOT: @poke".into()),
        ("ERROR", &null_object, "; ERROR-DAG: with a null object".into(), "; ERROR-DAG: a null subject".into()),
        ("WARNING", &unrooted, "; WARNING-DAG: in @f: ".into(), "; WARNING-DAG: in @g: ".into()),
        ("REMARK", LOWERED, remarks("the last use of"), remarks("the first use of")),
        ("FOUND-LOWERED", NOT_LOWERED, "; FOUND-LOWERED-DAG: in @f".into(), "; FOUND-LOWERED-DAG: in @g".into()),
        ("IMBALANCE", BY_HAND, "; IMBALANCE-DAG: a count is left".into(), "; IMBALANCE-DAG: a debt is left".into()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let outcome = |module: &str, expectation: &str| {
        let file = folder.path().join("situation.ll");
        std::fs::write(&file, format!("{expectation}\n{module}\n")).unwrap();
        situation(&file)
    };
    for (kind, module, holds, fails) in &kinds {
        assert_eq!(outcome(module, holds), Ok(()), "{kind}");
        let why = outcome(module, fails).expect_err(kind);
        assert!(fails.lines().any(|line| why.contains(line)), "{kind}: {why}");
    }
    for (module, untouched) in [(untouched, true), (LOWERED, false)] {
        assert_eq!(outcome(module, "; UNTOUCHED").is_ok(), untouched);
        assert_eq!(outcome(module, "").is_ok(), !untouched);
    }
    assert!(outcome(&null_object, "").is_err(), "an error that nobody expects");
    assert!(outcome(&unrooted, "").is_err(), "a warning that nobody expects");
    assert!(outcome(LOWERED, "; CHEKC: @pike").is_err(), "a word that is misspelt");
}

/// A text stands so often, and not once more.
fn total(text: &str, times: usize) -> String {
    format!("; TOTAL-COUNT-{times}: {text}\n; TOTAL-NOT: {text}")
}

/// scenario 131: the checker of counts has seen every kind of damage: each operation of these modules is left out, and
/// done twice, and the module is refused each time. What may go unnoticed stands here, with the reason.
#[test]
fn no_operation_on_counts_can_be_left_out_or_done_twice() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files = Vec::new();
    for folder in ["lowering", "hazards"] {
        files.extend(std::fs::read_dir(here.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    let written_by_hand = |file: &Path| file.ends_with("counts_out_of_balance.ll");
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ll") && !written_by_hand(file));
    files.sort();
    let (mut tried, mut unnoticed) = (0, Vec::new());
    for file in files {
        for patterns in [Patterns::NONE, Patterns::ALL] {
            for twice in [false, true] {
                damage_each(&file, patterns, twice, &mut tried, &mut unnoticed);
            }
        }
    }
    assert!(tried > 7000, "only {tried} operations were damaged");
    assert!(unnoticed.is_empty(), "{} of {tried}: {}", unnoticed.len(), unnoticed.join("\n"));
}

fn damage_each(file: &Path, patterns: Patterns, twice: bool, tried: &mut usize, unnoticed: &mut Vec<String>) {
    let text = std::fs::read_to_string(file).unwrap();
    let machine = machine(OptimizationLevel::Default);
    // Beyond the last number nothing is damaged, and nothing is refused.
    for number in (0..100_000).chain([usize::MAX]) {
        let context = Context::create();
        let Ok(module) = parse(&context, &text, &machine) else { return };
        let options = LowerOptions {
            gc_names: vec![("refcount".to_owned(), Plan::Prompt)],
            patterns,
            damage: Some(Damage { number, twice }),
            stop_at_counts: true,
            ..LowerOptions::default()
        };
        match lower(&module, &options) {
            Err(findings) if number == usize::MAX => panic!("{}: {findings:?}", file.display()),
            Err(findings) if findings.iter().any(|it| it.to_string().contains("not in balance")) => *tried += 1,
            Err(_) => return,
            Ok(report) => match report.damaged {
                None => return,
                Some(operation) if goes_unnoticed(&operation, twice) => *tried += 1,
                Some(operation) => {
                    let file = file.file_name().unwrap().display();
                    unnoticed.push(format!("{file} {patterns:?}: {operation} number {number}, twice: {twice}"));
                    return;
                }
            },
        }
    }
}

/// Drains look whether there is anything to do, and settling a root that has not changed does nothing: both may be done
/// twice. A drain more than is needed costs a test and harms nobody: where paths meet the analysis expects more deaths
/// than there can be, and a function that is read literally has one in front of its returns, for the order in which
/// objects die.
fn goes_unnoticed(operation: &str, twice: bool) -> bool {
    match operation {
        "tally.count.drain" => true,
        "tally.count.finish" | "tally.count.settle" | "tally.count.unsettle" => twice,
        _ => false,
    }
}

/// What a file says.
struct Situation<'file> {
    file: &'file Path,
    text: String,
    /// FileCheck's prefixes, and how many directives each has.
    prefixes: BTreeMap<String, usize>,
    untouched: bool,
    options: LowerOptions,
}

impl Situation<'_> {
    fn read(file: &Path) -> Situation<'_> {
        let text = std::fs::read_to_string(file).unwrap();
        let options = LowerOptions { module_name: "situation.ll".into(), ..LowerOptions::default() };
        let mut all = Situation { file, prefixes: BTreeMap::new(), untouched: false, options, text: String::new() };
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("; ")) {
            let (keyword, rest) = line.split_once(':').unwrap_or((line, ""));
            match keyword {
                "UNTOUCHED" => all.untouched = true,
                "OPTIONS" => rest.split_whitespace().for_each(|word| option(&mut all.options, word)),
                _ => {
                    if let Some(prefix) = prefix(keyword) {
                        *all.prefixes.entry(prefix.to_owned()).or_default() += 1;
                    }
                }
            }
        }
        Situation { text, ..all }
    }

    fn directives(&self, prefix: &str) -> usize {
        self.prefixes.get(prefix).copied().unwrap_or(0)
    }

    /// Holds the module's text against the prefixes that `wanted` takes.
    fn looks(&self, text: &str, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        self.prefixes.keys().filter(|prefix| wanted(prefix)).try_for_each(|prefix| self.file_check(prefix, text))
    }

    /// As many messages were found as there are directives, and the directives find them.
    fn messages(&self, prefix: &str, found: &[String]) -> Result<(), String> {
        if found.len() != self.directives(prefix) {
            return Err(format!(
                "{} of {prefix}, {} expected:\n  {}",
                found.len(),
                self.directives(prefix),
                found.join("\n  ")
            ));
        }
        if found.is_empty() { Ok(()) } else { self.file_check(prefix, &found.join("\n")) }
    }

    fn file_check(&self, prefix: &str, text: &str) -> Result<(), String> {
        let folder = std::env::var_os("LLVM_SYS_221_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into());
        let tool = Some(Path::new(&folder).join("bin/FileCheck")).filter(|tool| tool.is_file());
        let mut command = Command::new(tool.unwrap_or_else(|| "FileCheck-22".into()));
        command.arg(self.file).args(["--check-prefix", prefix, "--allow-empty"]);
        let mut check = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("FileCheck: {error}; `cargo xtask setup` installs it"));
        // Where it has not read everything, its status says why.
        let _ = check.stdin.take().expect("a pipe").write_all(text.as_bytes());
        let output = check.wait_with_output().unwrap();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }
}

/// Prefixes of messages: one a line.
const MESSAGES: [&str; 5] = ["ERROR", "WARNING", "REMARK", "FOUND-LOWERED", "IMBALANCE"];

fn is_of_the_lowered(prefix: &str) -> bool {
    !MESSAGES.contains(&prefix) && !is_of_the_optimised(prefix)
}

fn is_of_the_optimised(prefix: &str) -> bool {
    prefix.starts_with("OPTIMISED")
}

/// The prefix of a directive: `TOTAL` of `TOTAL-COUNT-3`. Other comments have none.
fn prefix(directive: &str) -> Option<&str> {
    let plain = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if !directive.starts_with(|letter: char| letter.is_ascii_uppercase()) || !directive.chars().all(plain) {
        return None;
    }
    let counted = directive.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let kinds = ["-NOT", "-DAG", "-NEXT", "-SAME", "-LABEL", "-EMPTY"];
    let shorter = kinds.iter().find_map(|kind| directive.strip_suffix(kind)).or(counted.strip_suffix("-COUNT-"));
    Some(shorter.unwrap_or(directive))
}

fn option(options: &mut LowerOptions, word: &str) {
    match word.split_once('=').unwrap_or((word, "")) {
        ("zeal", _) => options.zeal = true,
        ("all-roots", _) => options.root_liveness = false,
        ("tail-calls", _) => options.eliminate_tail_calls = true,
        ("fs", offset) => options.context = ContextAccess::FsOffset(offset.parse().expect("an offset")),
        ("plan", plan) => options.gc_names.push(("refcount".to_owned(), plan.parse().expect("a plan"))),
        ("patterns", names) => options.patterns = names.parse().expect("names of patterns"),
        ("operations", _) => options.stop_at_counts = true,
        ("gc-name", name) => options.gc_names.push((name.to_owned(), Plan::Deferred)),
        _ => panic!("unknown option {word}"),
    }
}

fn parse<'ctx>(context: &'ctx Context, text: &str, machine: &TargetMachine) -> Result<Module<'ctx>, String> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "situation.ll");
    let module = context.create_module_from_ir(buffer).map_err(|error| error.to_string())?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    Ok(module)
}

fn situation(file: &Path) -> Result<(), String> {
    let mut expected = Situation::read(file);
    let context = Context::create();
    let machine = machine(OptimizationLevel::Default);
    if expected.directives("IMBALANCE") > 0 {
        let module = parse(&context, &expected.text, &machine)?;
        return expected.messages("IMBALANCE", &count::check_by_hand(&module));
    }
    if expected.options.stop_at_counts {
        let module = parse(&context, &expected.text, &machine)?;
        lower(&module, &expected.options).map_err(|errors| format!("{errors:?}"))?;
        let operations = module.print_to_string().to_string();
        expected.looks(&operations, is_of_the_lowered)?;
        module.verify().map_err(|error| format!("LLVM: {error}\n{operations}"))?;
        expected.options.stop_at_counts = false;
        expected.prefixes.retain(|prefix, _| !is_of_the_lowered(prefix));
    }
    let module = parse(&context, &expected.text, &machine)?;
    if expected.directives("FOUND-LOWERED") > 0 {
        let found = verify_lowered(&module, "situation.ll").err().unwrap_or_default();
        return expected.messages("FOUND-LOWERED", &texts(&found));
    }
    let before = module.print_to_string().to_string();
    let found = verify_source(&module, "situation.ll", &expected.options.gc_names);
    expected.messages("WARNING", &texts(&found.warnings))?;
    let lowered = lower(&module, &expected.options);
    expected.messages("ERROR", &lowered.as_ref().err().map(|errors| texts(errors)).unwrap_or_default())?;
    let after = module.print_to_string().to_string();
    if (expected.untouched || lowered.is_err()) && before != after {
        return Err(format!("the module was changed:\n{after}"));
    }
    let Ok(report) = lowered else { return Ok(()) };
    if report.touched == expected.untouched {
        return Err("touched and yet the same, or untouched and yet expected to change".into());
    }
    if expected.directives("REMARK") > 0 {
        expected.messages("REMARK", &texts(&report.remarks))?;
    }
    expected.looks(&after, is_of_the_lowered)?;
    sound(&module, "after lowering")?;
    compiles(&module)?;
    module.run_passes("default<O2>", &machine, PassBuilderOptions::create()).map_err(|error| error.to_string())?;
    let optimised = module.print_to_string().to_string();
    sound(&module, "after default<O2>").map_err(|reason| format!("{reason}\n{optimised}"))?;
    compiles(&module)?;
    expected.looks(&optimised, is_of_the_optimised)
}

fn texts(all: &[impl ToString]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn sound(module: &Module, when: &str) -> Result<(), String> {
    module.verify().map_err(|error| format!("{when}, LLVM: {error}\n{}", module.print_to_string()))?;
    verify_lowered(module, "situation.ll").map_err(|findings| {
        let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
        format!("{when}: {}", all.join("\n"))
    })
}

fn compiles(module: &Module) -> Result<(), String> {
    for level in [OptimizationLevel::None, OptimizationLevel::Default] {
        let copy = module.clone();
        machine(level).write_to_memory_buffer(&copy, FileType::Object).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn machine(level: OptimizationLevel) -> TargetMachine {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetTriple::create("x86_64-unknown-linux-gnu");
    let target = Target::from_triple(&triple).unwrap();
    target.create_target_machine(&triple, "x86-64", "", level, RelocMode::PIC, CodeModel::Default).unwrap()
}
