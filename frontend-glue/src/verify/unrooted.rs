//! References that outlive a safepoint in no root.
use crate::diagnostic::Diagnostic;
use crate::llvm::Module;
use crate::lower::Plan;
pub(crate) fn warnings(_module: Module, _name: &str, _gc_names: &[(String, Plan)]) -> Vec<Diagnostic> {
    Vec::new()
}
