//! LLVM's own passes, over a module, some of its functions, or a copy.

use super::call::Position;
use super::{HandleSet, Module, Value, value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses, LLVMRunPassesOnFunction,
};

impl Module {
    /// Runs LLVM's module passes.
    pub(crate) fn run_passes(self, passes: &str) {
        let text = value::c_text(passes);
        let options = raw!(LLVMCreatePassBuilderOptions());
        let error = raw!(LLVMRunPasses(self.0, text.as_ptr(), std::ptr::null_mut(), options));
        raw!(LLVMDisposePassBuilderOptions(options));
        refuse(passes, error);
    }

    /// Makes values of the local variables of these functions.
    pub(crate) fn promote_variables(self, of: &[Value]) {
        self.run_on_all(of, "mem2reg");
    }

    /// Takes vectors apart in these functions: their loads and stores, and what is computed of their elements.
    pub(crate) fn take_vectors_apart(self, of: &[Value]) {
        self.run_on_all(of, "scalarizer<load-store>");
    }

    /// Runs a pass over these functions. In one go, because LLVM takes as long to get ready for a pass over one small function as for the
    /// pass itself; meanwhile the other functions are marked as not to be touched, and these are not, as clang marks them without
    /// optimisation.
    fn run_on_all(self, of: &[Value], pass: &str) {
        let chosen: HandleSet<Value> = of.iter().copied().collect();
        let with_body = self.functions().filter(|function| function.has_body());
        let is_wrongly_marked = |it: &Value| it.has_attribute("optnone") == chosen.contains(it);
        let (unmarked, others): (Vec<Value>, Vec<Value>) =
            with_body.filter(is_wrongly_marked).partition(|it| chosen.contains(it));
        let mark = |of: &[Value]| of.iter().for_each(|it| it.set_attribute("optnone", 0));
        let unmark = |of: &[Value]| of.iter().for_each(|it| it.remove_attribute(Position::Function, "optnone"));
        mark(&others);
        unmark(&unmarked);
        self.run_passes(&format!("function({pass})"));
        mark(&unmarked);
        unmark(&others);
    }

    /// Calls `look` with a copy of the module.
    pub(crate) fn with_copy<R>(self, look: impl FnOnce(Module) -> R) -> R {
        let copy = Module(raw!(LLVMCloneModule(self.0)));
        let seen = look(copy);
        raw!(LLVMDisposeModule(copy.0));
        seen
    }
}

impl Value {
    /// Runs function passes, named as `opt -passes=` names them, over this function.
    pub(crate) fn run_function_passes(self, passes: &str) {
        let text = value::c_text(passes);
        let options = raw!(LLVMCreatePassBuilderOptions());
        let error = raw!(LLVMRunPassesOnFunction(self.0, text.as_ptr(), std::ptr::null_mut(), options));
        raw!(LLVMDisposePassBuilderOptions(options));
        refuse(passes, error);
    }
}

/// Stops if passes could not be run.
fn refuse(passes: &str, error: LLVMErrorRef) {
    if !error.is_null() {
        let message = raw!(LLVMGetErrorMessage(error));
        let reason = value::owned_text(message, raw!(libc::strlen(message)));
        raw!(LLVMDisposeErrorMessage(message));
        panic!("LLVM refuses its own passes {passes:?}: {reason}");
    }
}
