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
//! ; OPTIONS: stack-objects           objects that cannot escape are on the stack
//! ; OPTIONS: roots=auto              every pointer gets a root
//! ; OPTIONS: operations              the operations on counts are looked at, before they become code
//! ; UNTOUCHED                        the module comes out as it went in
//! ```
//!
//! Whatever the file says, every lowered module must pass LLVM's verifier and Tally's, again after `default<O2>`, and compile to
//! an object at -O0 and -O2.

use crate::trial;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tally_kit::situation::programs_in;
use tally_kit::tally_command::source_tree;
use tally_llvm::lower::{ContextAccess, LowerOptions, Plan, Roots, count, lower};
use tally_llvm::verify::{verify_lowered, verify_source};

/// Each file, and the check of the check.
pub fn trials() -> Vec<Trial> {
    let files = programs_in(&source_tree().join("frontend-glue/tests/lowering"));
    assert!(files.len() >= 94, "the situations are missing");
    let name = |file: &Path| format!("lowering::{}", file.file_stem().expect("a file").display());
    let situations = files.into_iter().map(|file| trial(name(&file), move || situation(&file)));
    let can_fail = trial("expectations::every_kind_of_expectation_can_fail".to_owned(), || {
        every_kind_of_expectation_can_fail();
        Ok(())
    });
    situations.chain([can_fail]).collect()
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
    assert!(outcome(&null_object, "").is_err(), "an error that is not expected");
    assert!(outcome(&unrooted, "").is_err(), "a warning that is not expected");
    assert!(outcome(LOWERED, "; CHEKC: @pike").is_err(), "a word that is misspelt");
}

/// A text stands so often, and not once more.
fn total(text: &str, times: usize) -> String {
    format!("; TOTAL-COUNT-{times}: {text}\n; TOTAL-NOT: {text}")
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
        ("roots", _) => options.roots = Roots::Auto,
        ("stack-objects", _) => options.stack_objects = true,
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
