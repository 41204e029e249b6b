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
use super::made::{self, Nulls, Source};
use super::raw_stores::is_before_all_calls;
use crate::analysis::callee::{Callee, Callees};
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Value};
use crate::lower::global_slots::{self, global_behind};
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
        let Some(word) = first_root(module, callees, global, &bytes) else { continue };
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
    let sources = made::sources(module, call.argument(0), Nulls::Ignored);
    let [Source { value, offset: Some(more) }] = sources[..] else { return None };
    let global = global_behind(value)?;
    let start = value.constant_offset(module).and_then(|start| start.checked_add(more))?;
    let start = u64::try_from(start).ok()?;
    let length = call.argument(2).constant_integer()?;
    Some((global, start..start.checked_add(length)?))
}

/// The first word among the bytes that a gcwrite of the module writes.
fn first_root(module: Module, callees: &Callees, global: Value, bytes: &Range<u64>) -> Option<u64> {
    let writes = callees.calls_of(|callee| callee == Callee::GcWrite);
    let slots = writes.map(|write| [write.argument(1), write.argument(2)]);
    let in_global = slots.filter(|place| place.map(global_behind) == [Some(global); 2]);
    let words = in_global.flat_map(|[_, slot]| global_slots::words(module, global, slot));
    words.filter(|word| bytes.start < word + 8 && *word < bytes.end).min()
}

fn is_zero(value: Value) -> bool {
    value.constant_integer() == Some(0)
}
