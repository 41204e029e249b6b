//! The values of a function that are references, which the analysis of unrooted references follows.
//!
//! LLVM's pointers do not have the type of their target, so the sources and uses of a value decide. Sources: an
//! allocation, gcread, a load from a root, a call of a managed function that returns one of these. Uses: the operands
//! of gcwrite and gcread, and root slots; such a use makes a reference of an argument, a loaded field or any call's
//! result. Values read from global variables do not count here: a global that holds a reference is a root itself.

use super::memory::{Memory, rooted_slot};
use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::smallest;
use crate::llvm::{HandleSet, Opcode, Value};
use std::collections::HashSet;
use tally_compiled::symbols::RuntimeSymbol;

/// The references of one function.
#[derive(Debug)]
pub(super) struct References {
    values: HashSet<Value>,
    pub(super) memory: Memory,
}

impl References {
    pub(super) fn of(callees: &Callees, function: Value, returning: &HandleSet<Value>) -> References {
        let instructions = function.instructions();
        let memory = Memory::of(callees, function, &instructions);
        let mut all = References { values: HashSet::new(), memory };
        for &instruction in &instructions {
            if is_source(callees, returning, instruction) || all.is_root_load(instruction) {
                all.values.insert(instruction);
            }
        }
        all.learn_from_uses(callees, &instructions);
        all
    }

    pub(super) fn is_reference(&self, value: Value) -> bool {
        self.values.contains(&value)
    }

    /// A reference for messages: the name of the local variable it was stored to, or its own.
    pub(super) fn describe(&self, callees: &Callees, origin: Value) -> String {
        let stores = origin.users().filter(|user| user.is(Opcode::LLVMStore) && user.operand(0) == origin);
        let places = stores.filter_map(|store| self.memory.place(store.operand(1))).map(|(variable, _)| variable);
        let variables = places.filter(|&it| !origin.is_argument() && !self.memory.is_root_region(it));
        let mut names = variables.map(Value::name).chain([origin.name()]).filter(|name| !name.is_empty());
        let source = match origin.as_call() {
            Some(call) if callees.of_call(call) == Callee::GcRead => " from gcread".to_owned(),
            Some(call) if call.callee().is_function() => format!(" from @{}", call.callee().name()),
            _ if origin.is_argument() => ", an argument,".to_owned(),
            _ => String::new(),
        };
        match names.next() {
            Some(name) => format!("the reference %{name}{source}"),
            None => format!("a reference{source}"),
        }
    }

    fn is_root_load(&self, instruction: Value) -> bool {
        instruction.is(Opcode::LLVMLoad)
            && instruction.type_of().is_pointer()
            && self.memory.is_root_at(instruction.operand(0))
    }

    /// A value used where only references are allowed is one, and so are the values of its variable or phi.
    fn learn_from_uses(&mut self, callees: &Callees, instructions: &[Value]) {
        let mut pending: Vec<Value> = Vec::new();
        for &instruction in instructions {
            pending.extend(reference_operands(callees, instruction));
            if instruction.is(Opcode::LLVMStore) && self.memory.is_root_at(instruction.operand(1)) {
                pending.push(instruction.operand(0));
            }
        }
        let mut seen = HashSet::new();
        while let Some(value) = pending.pop() {
            if !value.is_local() || !value.type_of().is_pointer() || !seen.insert(value) {
                continue;
            }
            match value.opcode() {
                Some(Opcode::LLVMPHI) => pending.extend(value.incoming().into_iter().map(|(incoming, _)| incoming)),
                Some(Opcode::LLVMSelect) => pending.extend([value.operand(1), value.operand(2)]),
                Some(Opcode::LLVMLoad) => self.learn_from_load(value, &mut pending),
                Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => _ = self.values.insert(value),
                None => _ = self.values.insert(value),
                _ => {}
            }
        }
    }

    fn learn_from_load(&mut self, load: Value, pending: &mut Vec<Value>) {
        let address = load.operand(0);
        match self.memory.place(address) {
            Some((region, _)) if self.memory.is_root_region(region) => {}
            Some((region, _)) if region == address && region.is(Opcode::LLVMAlloca) => {
                let stores = region.users().filter(|user| user.is(Opcode::LLVMStore));
                pending.extend(stores.map(|store| store.operand(0)));
                if !region.allocated_type().is_pointer() || is_passed_on(region) {
                    self.values.insert(load);
                }
            }
            None if address.is_constant() => {}
            _ => _ = self.values.insert(load),
        }
    }
}

/// Whether a callee may fill this variable.
fn is_passed_on(variable: Value) -> bool {
    variable.users().filter_map(Value::as_call).any(|call| !call.callee().name().starts_with("llvm.lifetime."))
}

/// Operands that can only be references.
fn reference_operands(callees: &Callees, instruction: Value) -> Vec<Value> {
    let Some(call) = instruction.as_call() else { return Vec::new() };
    match callees.of_call(call) {
        Callee::GcWrite => vec![call.argument(0), call.argument(1)],
        Callee::WriteWord => vec![call.argument(1)],
        Callee::GcRead => vec![call.argument(0)],
        _ => Vec::new(),
    }
}

fn is_source(callees: &Callees, returning: &HandleSet<Value>, instruction: Value) -> bool {
    instruction.as_call().is_some_and(|call| match callees.of_call(call) {
        Callee::New | Callee::NewArray => true,
        Callee::GcRead => !call.argument(1).is_constant(),
        Callee::Runtime(_) => {
            crate::analysis::callee::runtime_symbol(&call.callee().name()).is_some_and(RuntimeSymbol::returns_reference)
        }
        _ => returning.contains(&call.callee()),
    })
}

/// The managed functions that return a reference, as far as their own code shows it.
pub(super) fn returning_references(callees: &Callees, managed: &[Value]) -> HandleSet<Value> {
    let all = managed.iter().copied().collect();
    smallest(managed.iter().copied(), &all, |returning, function| returns_one(callees, returning, function))
}

fn returns_one(callees: &Callees, returning: &HandleSet<Value>, function: Value) -> bool {
    if !function.value_type().return_type().is_pointer() {
        return false;
    }
    let instructions = function.instructions();
    let roots: HashSet<Value> = instructions.iter().filter_map(|&value| rooted_slot(callees, value)).collect();
    let mut pending: Vec<Value> =
        instructions.iter().filter(|value| value.is(Opcode::LLVMRet)).map(|value| value.operand(0)).collect();
    let mut seen = HashSet::new();
    while let Some(value) = pending.pop() {
        if !seen.insert(value) {
            continue;
        }
        match value.opcode() {
            Some(Opcode::LLVMPHI) => pending.extend(value.incoming().into_iter().map(|(incoming, _)| incoming)),
            Some(Opcode::LLVMSelect) => pending.extend([value.operand(1), value.operand(2)]),
            Some(Opcode::LLVMLoad) if roots.contains(&value.operand(0)) => return true,
            Some(Opcode::LLVMLoad) if value.operand(0).is(Opcode::LLVMAlloca) => {
                let stores = value.operand(0).users().filter(|user| user.is(Opcode::LLVMStore));
                pending.extend(stores.map(|store| store.operand(0)));
            }
            _ if is_source(callees, returning, value) => return true,
            _ => {}
        }
    }
    false
}
