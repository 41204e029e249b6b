//! Roots whose address only goes to functions that come to no safepoint, and no further.
//!
//! ```text
//!   while (find(list, key, &hit)) …        find, a helper in C that has no roots, stores to the caller's root
//! ```
//!
//! Nothing dies while such a function runs, and its caller counts what it finds in its roots at its own next safepoint. So a root of
//! any shape may be lent so: what the callee stores is as if the caller had stored it.

use super::super::slots::{is_told_nobody, stays_within};
use super::{is_check, is_variable};
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
        stays_within(slot, |user, address| self.behind(user, address))
    }

    /// What is the address behind an instruction that passes it on.
    fn behind(&mut self, user: Value, address: Value) -> Option<Vec<Value>> {
        if let Some(call) = user.as_call() {
            let callee = self.callees.of_call(call);
            let is_known = is_told_nobody(callee) || is_check(callee, call);
            return if is_known { Some(Vec::new()) } else { self.parameters(call, address) };
        }
        // Without optimisation a parameter goes through a variable of its own.
        let variable =
            user.is(Opcode::LLVMStore).then(|| user.operand(1)).filter(|&it| is_variable(self.callees, it))?;
        Some(variable.users().filter(|user| user.is(Opcode::LLVMLoad)).collect())
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
        let (mut seen, mut queue) = (HandleSet::default(), vec![function]);
        while let Some(next) = queue.pop() {
            if self.known.get(&next) == Some(&true) || !seen.insert(next) {
                continue;
            }
            if self.known.contains_key(&next) || !is_candidate(next) {
                self.known.insert(function, false);
                return false;
            }
            queue.extend(next.calls().filter(|&call| self.callees.is_safepoint(call)).map(Call::callee));
        }
        self.known.extend(seen.into_iter().map(|function| (function, true)));
        true
    }
}
