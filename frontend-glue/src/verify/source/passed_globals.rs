//! Global variables whose address is passed to a function that writes references through it.
//!
//! ```text
//!   void put(Node **place, Node *node) { TALLY_WRITE_GLOBAL(*place, node); }     put(&head, node);
//! ```
//!
//! A write through a parameter is one into an object of the heap: no word of the global becomes a root, and the
//! barrier would treat the global as an object. A plain store of a typed reference through a parameter is one to a variable of
//! the caller, and no word of the global becomes a root either. The search goes from each write to the callers in this module, and
//! through callers that pass on a parameter. It is an error if the function cannot end without the write, and a
//! warning if a branch may keep the global away from it (`tally_is_in_heap` tells a global from an object).

use super::made::{self, Nulls};
use super::{certain, dead_code};
use crate::analysis::callee::Callees;
use crate::diagnostic::Diagnostic;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Module, Opcode, Value};
use crate::lower::global_slots::global_behind;
use crate::lower::inferred::holds_typed;

/// The most parameters that are followed to their callers.
const MOST_PARAMETERS: usize = 10_000;

/// A finding about a call that passes the address of a global.
#[derive(Debug)]
pub(crate) struct Passed {
    /// The finding, at the call.
    pub(crate) finding: Diagnostic,
    /// Whether the write is certain to be reached.
    pub(crate) is_certain: bool,
}

/// A parameter that is the object of a write.
struct Written {
    function: Value,
    index: u32,
    is_certain: bool,
}

/// The calls that pass the address of a global to a parameter that is the object of a write.
pub(crate) fn found(module: Module, name: &str, callees: &Callees) -> Vec<Passed> {
    let writes = callees.calls_of(|callee| callee.is_write());
    let mut pending: Vec<Written> =
        writes.flat_map(|write| passed_on(module, write.value(), write.argument(1), true)).collect();
    let is_managed = |function: &Value| function.has_body() && function.gc().is_some();
    let stores = module.functions().filter(is_managed).flat_map(|function| function.instructions());
    let is_typed = |it: &Value| holds_typed(it.operand(0).type_of()) && it.operand(1).type_of().is_plain_pointer();
    let stores = stores.filter(|it| it.is(Opcode::LLVMStore) && is_typed(it));
    pending.extend(stores.flat_map(|store| passed_on(module, store, store.operand(1), true)));
    let (mut seen, mut found) = (HandleSet::default(), HandleMap::default());
    while let Some(Written { function, index, is_certain }) = pending.pop() {
        // A parameter with a certain write and an uncertain one is followed as both.
        if !seen.insert((function, index, is_certain)) || seen.len() > MOST_PARAMETERS {
            continue;
        }
        let calls = function.users().filter_map(Value::as_call);
        for call in calls.filter(|call| call.callee() == function && index < call.argument_count()) {
            let given = made::sources(module, call.argument(index), Nulls::Ignored);
            match given.iter().find_map(|source| global_behind(source.value)) {
                Some(global) if !dead_code::holds(call.value()) => {
                    let is_certain = is_certain && given.len() == 1;
                    let known = found
                        .entry(call.value())
                        .or_insert_with(|| Passed { finding: passed(name, call, function, global), is_certain });
                    known.is_certain |= is_certain;
                }
                Some(_) => {}
                None => pending.extend(passed_on(module, call.value(), call.argument(index), is_certain)),
            }
        }
    }
    let mut found: Vec<Passed> = found.into_values().collect();
    found.sort_by_cached_key(|passed| passed.finding.to_string());
    found
}

fn passed(name: &str, call: Call, function: Value, global: Value) -> Diagnostic {
    let (function, global) = (function.name(), global.name());
    let message = format!(
        "@{function} is given the address of the global @{global}, and writes references through it, of which no root is made"
    );
    let help = "name the variable in the write itself: only then are its words registered as roots \
                (TALLY_WRITE_GLOBAL takes the variable, not a pointer to it)";
    Diagnostic::at(name, call.value(), message).help(help)
}

/// The parameters of its function that an address may be which an instruction writes to or passes on.
fn passed_on(module: Module, instruction: Value, address: Value, is_certain: bool) -> Vec<Written> {
    let function = instruction.function();
    let sources = made::sources(module, address, Nulls::Ignored);
    if !sources.iter().any(|source| source.value.is_argument()) || dead_code::holds(instruction) {
        return Vec::new();
    }
    let is_certain = is_certain && sources.len() == 1 && certain::is_always_run(instruction);
    let index_of = |value| (0..function.parameter_count()).find(|&index| function.parameter(index) == value);
    // A parameter by value is a copy of what the caller names.
    let passed = sources.iter().filter(|source| !source.value.is_parameter_with("byval"));
    let indices = passed.filter_map(|source| index_of(source.value));
    indices.map(|index| Written { function, index, is_certain }).collect()
}
