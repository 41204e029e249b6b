//! The checker of counts sees every kind of damage to the operations on counts: each is left out, and done twice.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tally_kit::situation::programs_in;
use tally_kit::tally_command::source_tree;
use tally_kit::workers;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::target;
use tally_llvm::lower::{Damage, LowerOptions, Patterns, Plan, lower};

/// Fewer would mean that the modules are missing.
const DAMAGED_AT_LEAST: usize = 7001;

/// scenario 131: the checker of counts has seen every kind of damage: each operation of these modules is left out, and
/// done twice, and the module is refused each time. What may go unnoticed stands here, with the reason.
#[test]
fn no_operation_on_counts_can_be_left_out_or_done_twice() {
    let folders = ["frontend-glue/tests/lowering", "frontend-glue/tests/hazards"];
    let files = folders.into_iter().flat_map(|folder| programs_in(&source_tree().join(folder)));
    let by_lowering = |file: &PathBuf| !file.ends_with("counts_out_of_balance.ll") && !file.ends_with("native.c");
    let kinds = [Patterns::NONE, Patterns::ALL].map(|patterns| [(patterns, false), (patterns, true)]).concat();
    let jobs: Vec<_> = files
        .filter(by_lowering)
        .flat_map(|file| {
            kinds.iter().map(move |&(patterns, twice)| (file.clone(), patterns, twice)).collect::<Vec<_>>()
        })
        .collect();
    let tried = AtomicUsize::new(0);
    let unnoticed = workers::each(&jobs, |(file, patterns, twice)| damage_each(file, *patterns, *twice, &tried));
    let tried = tried.into_inner();
    assert!(tried >= DAMAGED_AT_LEAST, "only {tried} operations were damaged");
    assert!(unnoticed.is_empty(), "{} of {tried}: {}", unnoticed.len(), unnoticed.join("\n"));
}

/// Damages one operation of the file after the other; the first whose damage is not noticed is the error.
fn damage_each(file: &Path, patterns: Patterns, twice: bool, tried: &AtomicUsize) -> Result<(), String> {
    let text = std::fs::read(file).expect("readable");
    let machine = target::machine(Level::O2).expect("the target of this machine");
    // Beyond the last number nothing is damaged, and nothing is refused.
    for number in (0..100_000).chain([usize::MAX]) {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(&text, "situation.ll");
        let Ok(module) = context.create_module_from_ir(buffer) else { return Ok(()) };
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        let options = LowerOptions {
            gc_names: vec![("refcount".to_owned(), Plan::Prompt)],
            patterns,
            damage: Some(Damage { number, twice }),
            stop_at_counts: true,
            ..LowerOptions::default()
        };
        match lower(&module, &options) {
            Err(findings) if number == usize::MAX => panic!("{}: {findings:?}", file.display()),
            Err(findings) if findings.iter().any(|it| it.to_string().contains("not in balance")) => {}
            Err(_) => return Ok(()),
            Ok(report) => match report.damaged {
                None => return Ok(()),
                Some(operation) if goes_unnoticed(&operation, twice) => {}
                Some(operation) => {
                    let file = file.display();
                    return Err(format!("{file} {patterns:?}: {operation} number {number}, twice: {twice}"));
                }
            },
        }
        tried.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Drains look whether there is anything to do, and settling a root that has not changed does nothing: both may be done
/// twice. A drain more than is needed costs a test and does no harm: where paths meet the analysis expects more deaths
/// than there can be, and a function that is read literally has one in front of its returns, for the order in which
/// objects die.
fn goes_unnoticed(operation: &str, twice: bool) -> bool {
    match operation {
        "tally.count.drain" => true,
        "tally.count.finish" | "tally.count.stop" | "tally.count.settle" | "tally.count.unsettle" => twice,
        _ => false,
    }
}
