//! Functions that the runtime calls in the middle of a collection, and that have roots.
//!
//! A `trace` function and a callback of `tally_trace_with` read words, and a function that was given to `tally_type_on_clear` stores
//! to a weak slot, while the collector is at work. The objects that they see may be dying: under the prompt plan their count words are links of the
//! release stack then, and a root would count in them. Safepoints are passed over there (`tally_heap::at_work`), so functions of
//! a gc strategy without roots are fine. `descriptors.rs` asks about `trace`.

use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{Module, Value};
use crate::lower::descriptor;

/// Whether the function roots a variable.
pub(super) fn has_roots(function: Value) -> bool {
    function.has_body() && function.calls().any(|call| call.callee().name() == "llvm.gcroot")
}

/// The functions that set such a function, the number of arguments, which of them it is, and what it has to do.
const SETTERS: [(&str, u32, u32, &str); 2] = [
    ("tally_type_on_clear", 2, 1, "store to the slot that it is given"),
    ("tally_trace_with", 1, 0, "pass the references to `visit`"),
];

/// The calls of the setters, and the functions that they set.
fn set(module: Module) -> impl Iterator<Item = (Call, Value, &'static str)> {
    SETTERS.into_iter().flat_map(move |(setter, arguments, index, advice)| {
        let users = module.function(setter).into_iter().flat_map(Value::users);
        let calls = users.filter_map(Value::as_call).filter(move |call| call.argument_count() == arguments);
        calls.map(move |call| (call, call.argument(index), advice)).filter(|(_, set, _)| set.is_function())
    })
}

/// Functions that are called there: `trace` of the module's descriptors, and what the setters are given.
pub(super) fn called(module: Module) -> Vec<Value> {
    let traces = module.globals().filter_map(|global| descriptor::trace_of(module, global));
    traces.chain(set(module).map(|(_, function, _)| function)).collect()
}

/// The calls that set such a function.
pub(super) fn errors(module: Module, name: &str) -> Vec<Diagnostic> {
    let wrong = set(module).filter(|&(_, function, _)| has_roots(function));
    let finding = |(call, function, advice): (Call, Value, &str)| {
        let message = format!("@{} has roots, and is called in the middle of a collection", function.name());
        Diagnostic::at(name, call.value(), message).help(format!("let it {advice}, and root nothing"))
    };
    wrong.map(finding).collect()
}
