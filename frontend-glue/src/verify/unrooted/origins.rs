//! The origin of the memory at an address, as far as the module itself shows it.
//!
//! It is used for the few addresses to which references are stored plainly: an object of some type, a global
//! variable, memory from malloc, or a variable of some function. An address is followed through variables that are
//! only loaded and stored, results of the module's functions, and parameters of functions whose callers are all
//! known.

use super::memory::split;
use super::summaries::only_called;
use crate::analysis::callee::{Callee, Callees, runtime_symbol};
use crate::llvm::{HandleSet, Module, Opcode, Value};
use crate::lower::global_slots::base_global;
use tally_compiled::symbols::RuntimeSymbol;

/// Addresses with more sources than this are not followed.
const MOST_STEPS: usize = 500;

/// The origin of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// An object, and its descriptor if it is known.
    Object(Option<Value>),
    Global(Value),
    /// Memory from the C library's allocator.
    Allocated,
    /// A local variable, which may be a root.
    Variable,
    Unknown,
}

/// All origins that an address may have; empty if it is null.
pub(super) fn origins(callees: &Callees, module: Module, address: Value) -> Vec<Origin> {
    let mut found = Vec::new();
    let mut pending = vec![address];
    let mut seen = HandleSet::default();
    while let Some(value) = pending.pop() {
        let base = split(module, value).0;
        if !seen.insert(base) {
            continue;
        }
        if seen.len() > MOST_STEPS {
            return vec![Origin::Unknown];
        }
        match step(callees, base) {
            Step::Is(origin) if !found.contains(&origin) => found.push(origin),
            Step::Is(_) => {}
            Step::From(sources) => pending.extend(sources),
        }
    }
    found
}

enum Step {
    Is(Origin),
    From(Vec<Value>),
}

fn step(callees: &Callees, base: Value) -> Step {
    if base.is_null() || base.is_undef() {
        return Step::From(Vec::new());
    }
    if let Some(global) = base_global(base) {
        return Step::Is(if global.is_function() { Origin::Unknown } else { Origin::Global(global) });
    }
    if base.is_argument() {
        return argument(base);
    }
    match base.opcode() {
        Some(Opcode::LLVMAlloca) => Step::Is(Origin::Variable),
        Some(Opcode::LLVMPHI) => Step::From(base.incoming().into_iter().map(|(value, _)| value).collect()),
        Some(Opcode::LLVMSelect) => Step::From(vec![base.operand(1), base.operand(2)]),
        Some(Opcode::LLVMLoad) => loaded(callees, base.operand(0)).map_or(Step::Is(Origin::Unknown), Step::From),
        Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => result(callees, base),
        _ => Step::Is(Origin::Unknown),
    }
}

fn argument(argument: Value) -> Step {
    let Some(function) = argument.users().next().map(Value::function) else { return Step::Is(Origin::Unknown) };
    if argument.is_parameter_with("byval") || argument.is_parameter_with("sret") {
        return Step::Is(Origin::Variable);
    }
    let index = (0..function.parameter_count()).find(|&index| function.parameter(index) == argument);
    match index {
        Some(index) if only_called(function) => {
            Step::From(function.users().filter_map(Value::as_call).map(|call| call.argument(index)).collect())
        }
        _ => Step::Is(Origin::Unknown),
    }
}

/// The values that a variable of this module may hold, if it is only loaded and stored.
fn loaded(callees: &Callees, variable: Value) -> Option<Vec<Value>> {
    let is_own = variable.is(Opcode::LLVMAlloca) || variable.is_global_variable() && variable.is_internal();
    if !is_own {
        return None;
    }
    let mut sources: Vec<Value> =
        variable.initializer().filter(|_| variable.is_global_variable()).into_iter().collect();
    for user in variable.users() {
        match user.opcode() {
            Some(Opcode::LLVMLoad) => {}
            Some(Opcode::LLVMStore) if user.operand(1) == variable && user.operand(0) != variable => {
                sources.push(user.operand(0));
            }
            Some(Opcode::LLVMCall) => match user.as_call().map(|call| (callees.of_call(call), call)) {
                Some((Callee::GcRoot | Callee::LifetimeStart | Callee::LifetimeEnd, _)) => {}
                Some((Callee::GcWrite, call)) if call.argument(0) != variable => sources.push(call.argument(0)),
                _ => return None,
            },
            _ => return None,
        }
    }
    Some(sources)
}

fn result(callees: &Callees, value: Value) -> Step {
    let call = value.as_call().expect("a call");
    let callee = call.callee();
    let name = callee.name();
    match callees.of_call(call) {
        Callee::New | Callee::NewArray => Step::Is(Origin::Object(Some(call.argument(0)))),
        Callee::GcRead => Step::Is(Origin::Object(None)),
        Callee::Runtime(_) if runtime_symbol(&name).is_some_and(RuntimeSymbol::returns_reference) => {
            Step::Is(Origin::Object(None))
        }
        Callee::OtherIntrinsic if name.starts_with("llvm.threadlocal.address") => Step::From(vec![call.argument(0)]),
        Callee::Ordinary if callee.is_function() && callee.has_body() => {
            let returns = callee.blocks().filter_map(|block| block.terminator()).filter(|it| it.is(Opcode::LLVMRet));
            Step::From(returns.filter_map(|it| it.operands().next()).collect())
        }
        Callee::Ordinary
            if ["malloc", "calloc", "realloc", "aligned_alloc", "reallocarray"].contains(&name.as_str()) =>
        {
            Step::Is(Origin::Allocated)
        }
        _ => Step::Is(Origin::Unknown),
    }
}
