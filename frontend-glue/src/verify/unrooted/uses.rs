//! The instructions that use the object of a reference.
//!
//! Comparing, converting and keeping a reference in local memory are no uses. The arguments of a call are used when it
//! starts; a variable whose address is passed is, too, if the callee may read it.

use super::state::{Facts, State};
use super::watch::{Event, Watch};
use crate::analysis::callee::Callee;
use crate::llvm::call::Call;
use crate::llvm::{HandleSet, Opcode, Value};

impl Watch<'_> {
    pub(super) fn uses(&self, state: &State, instruction: Value, number: usize, tell: &mut dyn FnMut(Event)) {
        let operands: Vec<Value> = match instruction.opcode() {
            Some(Opcode::LLVMLoad) => vec![instruction.operand(0)],
            Some(Opcode::LLVMStore) => {
                let (value, address) = (instruction.operand(0), instruction.operand(1));
                let memory = &self.references.memory;
                // A reference kept in a variable is not used yet; loads of the variable are followed.
                let is_kept = memory.place(address).is_some() && !memory.is_root_at(address);
                if is_kept { vec![address] } else { vec![value, address] }
            }
            Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => instruction.operands().collect(),
            Some(Opcode::LLVMRet) => {
                self.leave(state, instruction, tell);
                instruction.operands().collect()
            }
            Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                return self.uses_of_call(state, instruction.as_call().expect("a call"), number, tell);
            }
            _ => return,
        };
        for (_, facts) in operands.into_iter().flat_map(|operand| self.parts_of(state, operand)) {
            use_of(facts, number, tell);
        }
    }

    fn leave(&self, state: &State, instruction: Value, tell: &mut dyn FnMut(Event)) {
        let results = instruction.operands().flat_map(|result| self.parts_of(state, result));
        for (offset, facts) in results.filter(|(_, facts)| facts.is_whole_reference()) {
            tell(Event::Returned { offset, immortal: facts.sheltered });
        }
        for &parameter in self.places[..self.parameters].iter().filter(|it| it.is_parameter_with("sret")) {
            for (offset, word) in self.references.memory.words_of(parameter) {
                if self.held(state, word.number, word.kind).is_some_and(|facts| facts.is_whole_reference()) {
                    tell(Event::LeftInResult { parameter, offset });
                }
            }
        }
    }

    fn uses_of_call(&self, state: &State, call: Call, number: usize, tell: &mut dyn FnMut(Event)) {
        let count = match self.callees.of_call(call) {
            Callee::GcRoot | Callee::LifetimeStart | Callee::LifetimeEnd => return,
            Callee::Fill => 1,
            Callee::Copy => 2,
            _ => call.argument_count(),
        };
        // A new holder of the reference: the object that it is written to, or the handle or table that gets it.
        let is_kept = |index| match self.callees.of_call(call) {
            Callee::GcWrite => index == 0,
            Callee::WriteWord => index == 0,
            Callee::WritePair | Callee::Runtime(_) => true,
            _ => false,
        };
        let by_value = call.arguments_by_value();
        for index in 0..count {
            let argument = call.argument(index);
            for (offset, facts) in self.parts_of(state, argument) {
                if facts.is_whole_reference() && offset == 0 {
                    tell(Event::Passed { call: call.value(), parameter: index, offset: None, born: facts.born });
                }
                if is_kept(index) {
                    tell(Event::Kept { origin: facts.origin });
                }
                use_of(facts, number, tell);
            }
            let Some((region, start)) = self.references.memory.place(argument) else { continue };
            let is_copied = by_value.iter().any(|(value, _)| *value == argument);
            if self.references.memory.is_root_region(region) || !(is_copied || may_read(call, index, region)) {
                continue;
            }
            for (offset, word) in self.references.memory.words_of(region) {
                let Some(facts) = self.held(state, word.number, word.kind) else { continue };
                if is_copied && facts.is_whole_reference() {
                    let offset = Some(offset.wrapping_sub(start.unwrap_or(0)));
                    tell(Event::Passed { call: call.value(), parameter: index, offset, born: false });
                }
                use_of(facts, number, tell);
            }
        }
    }
}

fn use_of(facts: Facts, user: usize, tell: &mut dyn FnMut(Event)) {
    if !(facts.integer && facts.partial) {
        tell(Event::Used { facts, user });
    }
}

/// Whether the callee may read the variable whose address is this argument, rather than only fill it.
fn may_read(call: Call, argument: u32, variable: Value) -> bool {
    let callee = call.callee();
    if callee.is_function() && callee.intrinsic_id() != 0 {
        return false;
    }
    if !callee.is_function() || !callee.has_body() {
        // A pointer to a single pointer is most likely the place for a result.
        let is_single = variable.is(Opcode::LLVMAlloca) && variable.allocated_type().members().is_empty();
        return !is_single && !callee.name().contains("memset");
    }
    if argument >= callee.parameter_count() {
        return true;
    }
    // A pointer that is incremented in a variable leads back to itself.
    let mut seen = HandleSet::default();
    let mut pending = vec![callee.parameter(argument)];
    while let Some(address) = pending.pop() {
        if !seen.insert(address) {
            continue;
        }
        for user in address.users() {
            match user.opcode() {
                Some(Opcode::LLVMLoad) => return true,
                Some(Opcode::LLVMGetElementPtr | Opcode::LLVMBitCast) => pending.push(user),
                // Kept in the variable of a parameter, as unoptimised code does.
                Some(Opcode::LLVMStore) if user.operand(0) == address && user.operand(1).is(Opcode::LLVMAlloca) => {
                    pending.extend(user.operand(1).users().filter(|user| user.is(Opcode::LLVMLoad)));
                }
                _ => {}
            }
        }
    }
    false
}
