//! Objects that functions without a strategy make. Such a function has no roots, so only an object, a handle or a callee can hold
//! them: where the object goes to none of these, the first safepoint frees it.

use crate::analysis::callee::{Callee, Callees, runtime_symbol};
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Module, Opcode, Value};
use tally_compiled::symbols::RuntimeSymbol;

/// The functions without a strategy that make objects.
pub(super) fn makers(callees: &Callees, module: Module) -> Vec<Value> {
    let may_make = |callee| matches!(callee, Callee::New | Callee::NewArray | Callee::Runtime(_));
    let made = callees.calls_of(may_make).filter(|&call| makes_object(callees, call));
    let makers: HandleSet<Value> = made.map(|call| call.value().function()).collect();
    module.functions().filter(|function| function.gc().is_none() && makers.contains(function)).collect()
}

fn makes_object(callees: &Callees, call: Call) -> bool {
    match callees.of_call(call) {
        Callee::New | Callee::NewArray => true,
        Callee::Runtime(_) => runtime_symbol(&call.callee().name()).is_some_and(RuntimeSymbol::allocates),
        _ => false,
    }
}

/// Whether the value is an object that its function makes and only reads, writes to, compares and keeps in variables of its own.
pub(super) fn is_held_by_nothing(callees: &Callees, made: Value) -> bool {
    if !made.as_call().is_some_and(|call| makes_object(callees, call)) {
        return false;
    }
    let (mut seen, mut queue) = (HandleSet::default(), vec![made]);
    while let Some(pointer) = queue.pop() {
        if !seen.insert(pointer) {
            continue;
        }
        for user in pointer.users() {
            match user.opcode() {
                Some(Opcode::LLVMLoad | Opcode::LLVMICmp) => {}
                Some(Opcode::LLVMGetElementPtr | Opcode::LLVMPHI | Opcode::LLVMSelect) => queue.push(user),
                Some(Opcode::LLVMStore) if user.operand(0) != pointer => {}
                Some(Opcode::LLVMStore) => match loads_of(callees, user.operand(1)) {
                    Some(loads) => queue.extend(loads),
                    None => return false,
                },
                _ => return false,
            }
        }
    }
    true
}

/// What is loaded from a variable that is only loaded from and stored to.
fn loads_of(callees: &Callees, variable: Value) -> Option<Vec<Value>> {
    let is_access = |user: &Value| match user.as_call() {
        Some(call) => matches!(callees.of_call(call), Callee::LifetimeStart | Callee::LifetimeEnd),
        None => user.is(Opcode::LLVMLoad) || user.is(Opcode::LLVMStore) && user.operand(0) != variable,
    };
    let is_plain = variable.is(Opcode::LLVMAlloca) && variable.users().all(|user| is_access(&user));
    is_plain.then(|| variable.users().filter(|user| user.is(Opcode::LLVMLoad)).collect())
}
