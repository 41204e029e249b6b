//! `tally verify`: check a file against the contract of gc functions.

use std::path::PathBuf;

use crate::diagnostic::report::Severity;
use crate::emit::level::Level;
use crate::emit::target;
use crate::pipeline;
use clap::Args;
use inkwell::context::Context;

use super::failure::Failure;
use super::messages::{Messages, counted};
use super::options::GcNames;

/// Check a module and warn about forgotten roots
///
/// Errors are breaches of the IR contract that Tally refuses to compile. Warnings are references that
/// are used after a safepoint while no root holds them, in values and in local memory (the commonest
/// mistake of new frontends, h(f(), g())), and references that are stored past the barrier. The last
/// line lists mistakes that it cannot see; `tally run --zeal` finds those. The exit status is 2 if
/// there are errors, 0 if there are only warnings.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, after_help = EPILOGUE)]
pub(super) struct Verify {
    #[command(flatten)]
    gc_names: GcNames,
    #[command(flatten)]
    messages: Messages,
    /// Exit with status 2 if there are warnings, too
    #[arg(long)]
    deny_warnings: bool,
    /// A module: .ll, .bc, .c or .cpp, or - for standard input (with -x)
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The mistakes that the absence of warnings does not exclude.
const NOT_SEEN: &str = "not seen: what callees keep, memory behind pointers from elsewhere, fields that lose a reference \
                        still in use, roots set on some paths only (`tally run --zeal` finds these)";

const EPILOGUE: &str = "\
Examples:
  tally verify program.ll
  tally verify --deny-warnings program.c";

impl Verify {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let options = self.gc_names.compile_options();
        let context = Context::create();
        let machine = target::machine_of(options.target, Level::O0)?;
        let module = pipeline::load(&context, &self.file, &machine, &options.reading);
        let module = module.map_err(|error| self.messages.failure(error))?;
        let findings = pipeline::inspect(&module, &self.file, &options);
        self.messages.show_all(Severity::Error, &findings.errors);
        self.messages.show_all(Severity::Warning, &findings.warnings);
        let file = self.file.display();
        let warnings = counted(findings.warnings.len(), "warning");
        match (findings.errors.len(), findings.warnings.len()) {
            (0, 0) => super::failure::print(format!("{file}: no errors found; {NOT_SEEN}\n").as_bytes()),
            (0, _) if self.deny_warnings => Err(Failure(format!("{file}: {warnings}, and --deny-warnings"))),
            (0, _) => super::failure::print(format!("{file}: no errors found, {warnings}; {NOT_SEEN}\n").as_bytes()),
            (errors, _) => Err(Failure(format!("{file}: {}", counted(errors, "error")))),
        }
    }
}
