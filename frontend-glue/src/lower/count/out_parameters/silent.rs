//! Roots whose address only goes to functions that come to no safepoint, and no further.
//!
//! ```text
//!   while (find(list, key, &hit)) …        find, a helper in C that has no roots, stores to the caller's root
//! ```
//!
//! Nothing dies while such a function runs, and its caller counts what it finds in its roots at its own next safepoint. So a root of
//! any shape may be lent so: what the callee stores is as if the caller had stored it.

use super::{is_check, is_told_nobody, is_variable};
use crate::analysis::callee::Callees;
use crate::llvm::call::Call;
use crate::llvm::{HandleMap, HandleSet, Opcode, Value};

/// What is known of the functions of a module.
pub(super) struct Silence<'a> {
    callees: &'a Callees,
    managed: &'a HandleSet<Value>,
    /// Whether a function comes to no safepoint. One that is looked at comes to none but by other calls than those to itself.
    known: HandleMap<Value, bool>,
}

impl<'a> Silence<'a> {
    pub(super) fn of(callees: &'a Callees, managed: &'a HandleSet<Value>) -> Silence<'a> {
        Silence { callees, managed, known: HandleMap::default() }
    }

    /// Whether the address of the root goes to nothing but such functions.
    pub(super) fn surrounds(&mut self, slot: Value) -> bool {
        let (mut seen, mut queue) = (HandleSet::default(), vec![slot]);
        while let Some(address) = queue.pop() {
            if !seen.insert(address) {
                continue;
            }
            for user in address.users().collect::<Vec<_>>() {
                match user.opcode() {
                    Some(Opcode::LLVMLoad | Opcode::LLVMICmp) => {}
                    Some(Opcode::LLVMStore) if user.operand(0) != address => {}
                    // Without optimisation a parameter goes through a variable of its own.
                    Some(Opcode::LLVMStore) if is_variable(self.callees, user.operand(1)) => {
                        queue.extend(user.operand(1).users().filter(|user| user.is(Opcode::LLVMLoad)));
                    }
                    Some(
                        Opcode::LLVMGetElementPtr
                        | Opcode::LLVMBitCast
                        | Opcode::LLVMPHI
                        | Opcode::LLVMSelect
                        | Opcode::LLVMFreeze,
                    ) => queue.push(user),
                    Some(Opcode::LLVMCall | Opcode::LLVMInvoke) => {
                        let call = user.as_call().expect("a call or invoke");
                        let callee = self.callees.of_call(call);
                        if is_told_nobody(callee) || is_check(callee, call) {
                            continue;
                        }
                        let Some(parameters) = self.parameters(call, address) else { return false };
                        queue.extend(parameters);
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    /// The parameters as which such a function gets the address; `None` if it is another function.
    fn parameters(&mut self, call: Call, address: Value) -> Option<Vec<Value>> {
        let callee = call.callee();
        let by_value = call.arguments_by_value().iter().any(|&(value, _)| value == address);
        if by_value || !self.is_silent(callee) {
            return None;
        }
        let arguments = call.arguments();
        let places = arguments.iter().enumerate().filter(|(_, argument)| **argument == address).map(|(place, _)| place);
        places
            .map(|place| (place < callee.parameter_count() as usize).then(|| callee.parameter(place as u32)))
            .collect()
    }

    /// Whether a function of this module without roots comes to no safepoint.
    fn is_silent(&mut self, function: Value) -> bool {
        let is_candidate = |function: Value| {
            function.is_function()
                && function.has_body()
                && !function.may_be_replaced()
                && !self.managed.contains(&function)
        };
        // All functions that it calls, and they call.
        let (mut reached, mut queue) = (Vec::new(), vec![function]);
        let mut is_silent = true;
        let mut seen = HandleSet::default();
        while let Some(next) = queue.pop() {
            if !seen.insert(next) {
                continue;
            }
            match self.known.get(&next) {
                Some(true) => {}
                Some(false) => is_silent = false,
                None if is_candidate(next) => {
                    reached.push(next);
                    queue.extend(next.calls().filter(|&call| self.callees.is_safepoint(call)).map(Call::callee));
                }
                None => is_silent = false,
            }
            if !is_silent {
                self.known.insert(function, false);
                return false;
            }
        }
        self.known.extend(reached.into_iter().map(|function| (function, true)));
        true
    }
}
