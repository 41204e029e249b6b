//! Functions that the runtime calls in the middle of a collection, and that have roots.
//!
//! A `trace` function reads words, and a function that was given to `tally_type_on_clear` stores to a weak slot, while the
//! collector is at work. The objects that they see may be dying: under the prompt plan their count words are links of the
//! release stack then, and a root would count in them. Safepoints are passed over there (`tally_heap::at_work`), so functions of
//! a gc strategy without roots are fine. `descriptors.rs` asks about `trace`.

use crate::diagnostic::Diagnostic;
use crate::llvm::{Module, Value};
use crate::lower::descriptor;

/// Whether the function roots a variable.
pub(super) fn has_roots(function: Value) -> bool {
    function.has_body() && function.calls().any(|call| call.callee().name() == "llvm.gcroot")
}

/// Functions that are called there: `trace` of the module's descriptors, and what is given to `tally_type_on_clear`.
pub(super) fn called(module: Module) -> Vec<Value> {
    let setter = module.function("tally_type_on_clear").into_iter();
    let calls = setter.flat_map(Value::users).filter_map(Value::as_call).filter(|call| call.argument_count() == 2);
    let clears: Vec<Value> = calls.map(|call| call.argument(1)).filter(|clear| clear.is_function()).collect();
    module.globals().filter_map(|global| descriptor::trace_of(module, global)).chain(clears).collect()
}

/// The calls that set such a function for weak slots.
pub(super) fn errors(module: Module, name: &str) -> Vec<Diagnostic> {
    let Some(setter) = module.function("tally_type_on_clear") else { return Vec::new() };
    let calls = setter.users().filter_map(Value::as_call).filter(|call| call.argument_count() == 2);
    let wrong = calls.filter(|call| call.argument(1).is_function() && has_roots(call.argument(1)));
    let finding = |call: crate::llvm::call::Call| {
        let clear = call.argument(1).name();
        let message = format!("@{clear} has roots, and is called in the middle of a collection");
        Diagnostic::at(name, call.value(), message).help("let it store to the slot that it is given, and root nothing")
    };
    wrong.map(finding).collect()
}
