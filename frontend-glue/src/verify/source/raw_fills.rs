//! Words of global variables that are roots, and that `memset`, `memcpy` or `memmove` overwrites past the barrier.
//!
//! ```text
//!   TALLY_WRITE_GLOBAL(table.first, node);   …   memset(&table, 0, sizeof table);     table = other_table;
//! ```
//!
//! The object that the word held keeps its count under the prompt plan, and one that is copied there has none. An error if
//! the call's range is constant and has a word that gcwrite writes elsewhere. A range that is computed may lie beside
//! those words, and is not judged. Zeros may be stored where nothing has been written yet: at the very start of `main` or
//! of a constructor.

use super::dead_code;
use super::raw_stores::{is_before_all_calls, place_in_global, written_words};
use crate::analysis::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Value};
use std::ops::Range;

/// The fills and copies of a function that are refused; `written` are the globals that gcwrite writes.
pub(super) fn errors(
    module: Module,
    name: &str,
    callees: &Callees,
    written: &HandleSet<Value>,
    function: Value,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for call in function.calls() {
        let (what, help) = match callees.of_call(call) {
            Callee::Fill => {
                ("memset", "write null to each of its references with gcwrite (TALLY_WRITE_GLOBAL(variable, NULL))")
            }
            Callee::Copy => {
                ("memcpy or an assignment", "write each of its references with gcwrite (TALLY_WRITE_GLOBAL)")
            }
            _ => continue,
        };
        let Some((global, bytes)) = range_in_global(module, call).filter(|(global, _)| written.contains(global)) else {
            continue;
        };
        let words = written_words(module, callees, global);
        let Some(word) = words.filter(|word| bytes.start < word + 8 && *word < bytes.end).min() else { continue };
        let starts = callees.of_call(call) == Callee::Fill && is_zero(call.argument(1));
        if starts && is_before_all_calls(module, call.value()) || dead_code::holds(call.value()) {
            continue;
        }
        let place =
            format!("the word at offset {word} of the global @{}, which gcwrite writes elsewhere", global.name());
        found.push(Diagnostic::at(name, call.value(), format!("{what} overwrites {place}")).help(help));
    }
    found
}

/// The bytes of a global that a fill or a copy writes, if both ends are constant.
fn range_in_global(module: Module, call: Call) -> Option<(Value, Range<u64>)> {
    let (global, start) = place_in_global(module, call.argument(0))?;
    let length = call.argument(2).constant_integer()?;
    Some((global, start..start.checked_add(length)?))
}

fn is_zero(value: Value) -> bool {
    value.constant_integer() == Some(0)
}
