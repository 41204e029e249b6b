//! The examples of docs/port/ir-contract.md are what they say: right ones pass silently and lower, wrong ones are reported.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{InitializationConfig, Target, TargetTriple};
use tally_llvm::lower::{LowerOptions, lower};
use tally_llvm::verify::{verify_lowered, verify_source};

#[test]
fn examples_of_the_contract_are_right_and_wrong_as_titled() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/port/ir-contract.md");
    let text = std::fs::read_to_string(page).unwrap();
    let prelude = examples(&text, "prelude").concat();
    let (right, wrong) = (examples(&text, "right"), examples(&text, "wrong"));
    assert!(right.len() >= 8 && wrong.len() >= 5, "{} right, {} wrong", right.len(), wrong.len());
    for example in right {
        let reports = reports(&prelude, &example);
        assert!(reports.is_empty(), "reported although right:\n{example}\n{}", reports.join("\n"));
    }
    for example in wrong {
        assert!(!reports(&prelude, &example).is_empty(), "not reported although wrong:\n{example}");
    }
}

/// The fenced blocks with this title.
fn examples(page: &str, title: &str) -> Vec<String> {
    let opening = format!("```llvm {title}\n");
    page.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Errors and warnings; an example without errors is lowered, too.
fn reports(prelude: &str, example: &str) -> Vec<String> {
    let context = Context::create();
    let source = format!("{prelude}\n{example}");
    let buffer = MemoryBuffer::create_from_memory_range_copy(source.as_bytes(), "example.ll");
    let module = match context.create_module_from_ir(buffer) {
        Ok(module) => module,
        // LLVM's own verifier knows some of the rules.
        Err(message) => panic!("{message}\n{example}"),
    };
    Target::initialize_x86(&InitializationConfig::default());
    module.set_triple(&TargetTriple::create("x86_64-unknown-linux-gnu"));
    let valid = module.verify();
    let found = verify_source(&module, "example.ll", &[]);
    let mut reports: Vec<String> = found.errors.iter().chain(&found.warnings).map(ToString::to_string).collect();
    if let Err(message) = valid {
        reports.push(message.to_string());
    } else if found.errors.is_empty() {
        lower(&module, &LowerOptions::default()).unwrap();
        module.verify().unwrap();
        verify_lowered(&module, "example.ll").unwrap();
    }
    reports
}
