//! The parameters that their functions keep to themselves: nothing that the caller can meet later holds the address that was passed.
//!
//! The function's own body shows it, and the bodies of what it calls: no attribute is believed. A body that another may
//! replace shows nothing. A parameter that a reference is written to is not kept to itself either: `gcwrite` works on the heap.

use super::uses::Uses;
use crate::analysis::callee::{Callee, Callees};
use crate::llvm::{HandleMap, HandleSet, Value};

/// A function, and the number of a parameter.
type Parameter = (Value, u32);

/// Attributes of parameters that are more, or something else, than an address.
const ODD: [&str; 9] =
    ["byval", "sret", "inalloca", "preallocated", "swifterror", "swiftself", "swiftasync", "nest", "returned"];

/// Answers that were found, while no function is changed.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// The parameters that each is passed on to; `None` if its function lets it out.
    passed_on: HandleMap<Parameter, Option<Vec<Parameter>>>,
}

impl Parameters {
    /// Whether a function, and all that it passes the parameter on to, keep it to themselves.
    pub(super) fn is_kept(&mut self, callees: &Callees, parameter: Parameter) -> bool {
        let (mut seen, mut queue) = (HandleSet::default(), vec![parameter]);
        while let Some(parameter) = queue.pop() {
            if !seen.insert(parameter) {
                continue;
            }
            let passed_on = self.passed_on.entry(parameter).or_insert_with(|| passed_on(callees, parameter));
            match passed_on {
                None => return false,
                Some(others) => queue.extend(others.iter().copied()),
            }
        }
        true
    }
}

fn passed_on(callees: &Callees, (function, index): Parameter) -> Option<Vec<Parameter>> {
    let shows_all = function.has_body()
        && !function.may_be_replaced()
        && !function.value_type().is_variadic()
        && !function.has_attribute("naked")
        && index < function.parameter_count();
    if !shows_all {
        return None;
    }
    let parameter = function.parameter(index);
    if ODD.iter().any(|attribute| parameter.is_parameter_with(attribute)) {
        return None;
    }
    let uses = Uses::follow(function.module(), callees, parameter)?;
    let is_written = |access: &Value| access.as_call().is_some_and(|call| callees.of_call(call) == Callee::GcWrite);
    if !uses.returns.is_empty() || uses.accesses.iter().any(is_written) {
        return None;
    }
    Some(uses.passed.iter().map(|&(call, index)| (call.callee(), index)).collect())
}
