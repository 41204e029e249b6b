//! Any bytes as a module, text or bitcode: loaded, inspected, lowered under both plans, or refused in words.
//!
//! LLVM's reader of bitcode is not made for untrusted bytes, and may crash; the command catches that. No code of ours
//! may panic, and the output of the lowering is valid.

use inkwell::context::Context;
use std::path::Path;
use tally_llvm::lower::{Plan, STRATEGY};
use tally_llvm::pipeline::{self, CompileOptions};

/// Returns the number of modules that were lowered.
pub fn check(bytes: &[u8]) -> usize {
    let name = Path::new("fuzzed");
    let mut lowered = 0;
    for plan in [Plan::Deferred, Plan::Prompt] {
        let options = CompileOptions { gc_names: vec![(STRATEGY.to_owned(), plan)], ..CompileOptions::default() };
        let context = Context::create();
        let Ok(module) = pipeline::load_from_memory(&context, name, bytes, &options) else { return lowered };
        if pipeline::is_lowered(&module) || !pipeline::inspect(&module, name, &options).errors.is_empty() {
            continue;
        }
        if let Ok(_remarks) = pipeline::lower(&module, name, &options) {
            module.verify().unwrap_or_else(|error| panic!("{error}"));
            lowered += 1;
        }
    }
    lowered
}
