//! The parameters that their functions keep to themselves: nothing that the caller can meet later holds the address that was passed.
//!
//! The function's own body shows it, and the bodies of what it calls: no attribute is believed. A body that another may
//! replace shows nothing. `gcwrite` works on the heap: where a function writes a reference to its parameter, its body must first take the
//! place of the call.

use super::uses::Uses;
use crate::analysis::callee::Callees;
use crate::llvm::{HandleMap, HandleSet, Value};

/// A function, and the number of a parameter.
type Parameter = (Value, u32);

/// Attributes of parameters that are more, or something else, than an address.
const ODD: [&str; 9] =
    ["byval", "sret", "inalloca", "preallocated", "swifterror", "swiftself", "swiftasync", "nest", "returned"];

/// What a function, and all that it passes a parameter on to, do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Its address may be met later.
    LetOut,
    /// It is kept to themselves, and references are written to it.
    Written,
    /// It is kept to themselves.
    Kept,
}

/// Answers that were found, while no function is changed.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// `None` if its function lets it out.
    known: HandleMap<Parameter, Option<OneBody>>,
}

/// What a body alone does with a parameter.
#[derive(Debug)]
struct OneBody {
    is_written: bool,
    passed_on: Vec<Parameter>,
}

impl Parameters {
    /// What becomes of a parameter.
    pub(super) fn treatment(&mut self, callees: &Callees, parameter: Parameter) -> Treatment {
        let (mut seen, mut queue, mut treatment) = (HandleSet::default(), vec![parameter], Treatment::Kept);
        while let Some(parameter) = queue.pop() {
            if !seen.insert(parameter) {
                continue;
            }
            match self.known.entry(parameter).or_insert_with(|| one_body(callees, parameter)) {
                None => return Treatment::LetOut,
                Some(body) => {
                    treatment = if body.is_written { Treatment::Written } else { treatment };
                    queue.extend(body.passed_on.iter().copied());
                }
            }
        }
        treatment
    }
}

fn one_body(callees: &Callees, (function, index): Parameter) -> Option<OneBody> {
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
    if !uses.returns.is_empty() || !uses.writes_lie_in_it(callees) {
        return None;
    }
    Some(OneBody {
        is_written: uses.writes(callees).next().is_some(),
        passed_on: uses.passed.iter().map(|&(call, index)| (call.callee(), index)).collect(),
    })
}
