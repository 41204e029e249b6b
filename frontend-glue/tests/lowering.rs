//! The lowering, told as data: each `lowering/*.ll` is a situation with the expected outcome in its comments.
//!
//! ```text
//! ; OPTIONS: zeal fs=-64 all-roots tail-calls gc-name=mine   how it is lowered
//! ; OPTIONS: plan=refcount-prompt patterns=none|all|moves,lazy-roots,…   with which counts
//! ; OPTIONS: operations              CHECK, CHECK-NOT and COUNT look at the operations on counts, before they become code
//! ; CHECK: text                      stands in the lowered module, after the previous CHECK's place
//! ; CHECK-NOT: text                  stands nowhere between the CHECKs around it
//! ; COUNT 3: text                    stands on exactly three lines
//! ; OPTIMISED: text, OPTIMISED-NOT   the same after default<O2>, anywhere
//! ; ERROR: text                      the module is refused, and a message holds this
//! ; WARNING: text                    the verifier warns, and a message holds this (no WARNING: it is silent)
//! ; FOUND-LOWERED: text             the file is taken as a lowered module: the verifier's message holds this
//! ; REMARK: text                    a remark holds this (none, or all of them)
//! ; IMBALANCE: text                 operations written by hand: the checker of counts says this
//! ; UNTOUCHED                        the module comes out as it went in
//! ```
//!
//! `{{id}}` in a pattern stands for any run of digits and minus signs, `{{any}}` for any text within a line. Whatever
//! the file says, every lowered module must pass LLVM's verifier and Tally's, again after `default<O2>`, and compile to
//! an object at -O0 and -O2.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use std::path::Path;
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

#[derive(Default)]
struct Expectation {
    checks: Vec<(bool, String)>,
    counts: Vec<(usize, String)>,
    optimised: Vec<(bool, String)>,
    errors: Vec<String>,
    warnings: Vec<String>,
    found_lowered: Vec<String>,
    remarks: Vec<String>,
    imbalances: Vec<String>,
    untouched: bool,
    options: LowerOptions,
}

fn expectation(text: &str) -> Expectation {
    let mut all = Expectation::default();
    all.options.module_name = "situation.ll".into();
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("; ")) {
        let (keyword, rest) = line.split_once(": ").unwrap_or((line, ""));
        let rest = rest.trim().to_owned();
        match keyword {
            "CHECK" => all.checks.push((true, rest)),
            "CHECK-NOT" => all.checks.push((false, rest)),
            "OPTIMISED" => all.optimised.push((true, rest)),
            "OPTIMISED-NOT" => all.optimised.push((false, rest)),
            "ERROR" => all.errors.push(rest),
            "WARNING" => all.warnings.push(rest),
            "FOUND-LOWERED" => all.found_lowered.push(rest),
            "REMARK" => all.remarks.push(rest),
            "IMBALANCE" => all.imbalances.push(rest),
            "UNTOUCHED" => all.untouched = true,
            "OPTIONS" => rest.split_whitespace().for_each(|word| option(&mut all.options, word)),
            _ => {
                if let Some(count) = keyword.strip_prefix("COUNT ") {
                    all.counts.push((count.parse().expect("COUNT takes a number"), rest));
                }
            }
        }
    }
    all
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
    let text = std::fs::read_to_string(file).unwrap();
    let mut expected = expectation(&text);
    let context = Context::create();
    let machine = machine(OptimizationLevel::Default);
    if !expected.imbalances.is_empty() {
        let module = parse(&context, &text, &machine)?;
        return messages("imbalance", &expected.imbalances, &count::check_by_hand(&module));
    }
    if expected.options.stop_at_counts {
        let module = parse(&context, &text, &machine)?;
        lower(&module, &expected.options).map_err(|errors| format!("{errors:?}"))?;
        let operations = module.print_to_string().to_string();
        looks(&operations, &expected)?;
        module.verify().map_err(|error| format!("LLVM: {error}\n{operations}"))?;
        expected.options.stop_at_counts = false;
        expected.checks.clear();
        expected.counts.clear();
    }
    let module = parse(&context, &text, &machine)?;
    if !expected.found_lowered.is_empty() {
        let found = verify_lowered(&module, "situation.ll").err().unwrap_or_default();
        let found = found.iter().map(ToString::to_string).collect::<Vec<_>>();
        return messages("finding", &expected.found_lowered, &found);
    }
    let before = module.print_to_string().to_string();
    let found = verify_source(&module, "situation.ll", &expected.options.gc_names);
    messages("warning", &expected.warnings, &found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let lowered = lower(&module, &expected.options);
    let errors = lowered.as_ref().err().into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
    messages("error", &expected.errors, &errors)?;
    let after = module.print_to_string().to_string();
    if (expected.untouched || !expected.errors.is_empty()) && before != after {
        return Err(format!("the module was changed:\n{after}"));
    }
    if !expected.errors.is_empty() {
        return Ok(());
    }
    let report = lowered.unwrap();
    if report.touched == expected.untouched {
        return Err("touched and yet the same, or untouched and yet expected to change".into());
    }
    if !expected.remarks.is_empty() {
        messages("remark", &expected.remarks, &report.remarks.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    }
    looks(&after, &expected)?;
    sound(&module, "after lowering")?;
    compiles(&module)?;
    module.run_passes("default<O2>", &machine, PassBuilderOptions::create()).map_err(|error| error.to_string())?;
    let optimised = module.print_to_string().to_string();
    sound(&module, "after default<O2>").map_err(|reason| format!("{reason}\n{optimised}"))?;
    compiles(&module)?;
    for (wanted, pattern) in &expected.optimised {
        if find(&optimised, pattern).is_some() != *wanted {
            return Err(format!("optimised: `{pattern}` expected: {wanted}\n{optimised}"));
        }
    }
    Ok(())
}

/// What the lowered module's text holds.
fn looks(text: &str, expected: &Expectation) -> Result<(), String> {
    checks(text, &expected.checks).map_err(|reason| format!("{reason}\n{text}"))?;
    for (count, pattern) in &expected.counts {
        let found = text.lines().filter(|line| find(line, pattern).is_some()).count();
        if found != *count {
            return Err(format!("`{pattern}` stands on {found} lines, not {count}\n{text}"));
        }
    }
    Ok(())
}

/// Each expected message is part of a found one, and nothing was found that was not expected.
fn messages(kind: &str, expected: &[String], found: &[String]) -> Result<(), String> {
    let all = || found.join("\n  ");
    for pattern in expected {
        if !found.iter().any(|message| message.contains(pattern.as_str())) {
            return Err(format!("no {kind} with `{pattern}`; found:\n  {}", all()));
        }
    }
    if found.len() != expected.len() {
        return Err(format!("{} {kind}s, {} expected:\n  {}", found.len(), expected.len(), all()));
    }
    Ok(())
}

fn checks(text: &str, checks: &[(bool, String)]) -> Result<(), String> {
    let (mut rest, mut forbidden) = (text, Vec::new());
    for (wanted, pattern) in checks {
        if !wanted {
            forbidden.push(pattern);
            continue;
        }
        let Some((start, end)) = find(rest, pattern) else { return Err(format!("CHECK: {pattern}: not found")) };
        absent(&rest[..start], &forbidden)?;
        forbidden.clear();
        rest = &rest[end..];
    }
    absent(rest, &forbidden)
}

fn absent(text: &str, forbidden: &[&String]) -> Result<(), String> {
    match forbidden.iter().find(|pattern| find(text, pattern).is_some()) {
        Some(pattern) => Err(format!("CHECK-NOT: {pattern}: found")),
        None => Ok(()),
    }
}

/// Where a pattern begins and ends; `{{id}}` matches digits, `{{any}}` the shortest run of letters within a line.
fn find(text: &str, pattern: &str) -> Option<(usize, usize)> {
    if let Some((before, after)) = pattern.split_once("{{any}}") {
        let mut from = 0;
        while let Some((start, end)) = find(&text[from..], before).map(|(start, end)| (from + start, from + end)) {
            let line = text[end..].lines().next().unwrap_or_default();
            if let Some((_, rest)) = find(line, after) {
                return Some((start, end + rest));
            }
            from = end;
        }
        return None;
    }
    let mut parts = pattern.split("{{id}}");
    let first = parts.next().unwrap();
    let parts: Vec<&str> = parts.collect();
    let candidates = text.match_indices(first).map(|(start, _)| start);
    candidates.into_iter().find_map(|start| {
        let mut end = start + first.len();
        for part in &parts {
            let digits = text[end..].find(|letter: char| !letter.is_ascii_digit() && letter != '-')?;
            end += digits;
            (digits > 0 && text[end..].starts_with(part)).then_some(())?;
            end += part.len();
        }
        Some((start, end))
    })
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
