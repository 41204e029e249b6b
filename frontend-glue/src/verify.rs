//! The verifier: the rules for a module that Tally manages, which LLVM's own verifier cannot know.
//!
//! - [`verify_source`] reads a module as the frontend wrote it: a breach of the IR contract
//!   (docs/port/ir-contract.md) is an error, a reference that outlives a safepoint in no root is a warning.
//! - [`verify_lowered`] reads a lowered module, right after the lowering and again just before emission: the optimiser,
//!   a plugin or a linker of bitcode can have brought unlowered code in, or lost a bundle.

pub(crate) mod library;
pub(crate) mod lowered;
pub(crate) mod source;
pub(crate) mod unrooted;

use crate::diagnostic::Diagnostic;
use crate::llvm::Module;
use crate::lower::Plan;

/// The findings of `verify_source`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Faults that the lowering refuses.
    pub errors: Vec<Diagnostic>,
    /// Places that are most likely bugs of the program.
    pub warnings: Vec<Diagnostic>,
}

/// Checks a module before lowering. `name` stands for the module where no debug location names a file; `gc_names` are
/// the strategy names that mean one of Tally's plans here.
pub fn verify_source(module: &inkwell::module::Module, name: &str, gc_names: &[(String, Plan)]) -> Findings {
    let module = Module::of(module);
    let errors = source::errors(module, name, gc_names);
    let warnings = if errors.is_empty() { unrooted::warnings(module, name, gc_names) } else { Vec::new() };
    Findings { errors, warnings }
}

/// Checks a module after lowering; one that was never lowered because it has nothing of Tally passes, too.
///
/// # Errors
/// Every place where a root could be lost.
pub fn verify_lowered(module: &inkwell::module::Module, name: &str) -> Result<(), Vec<Diagnostic>> {
    let findings = lowered::errors(Module::of(module), name);
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}
