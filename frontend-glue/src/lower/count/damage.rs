//! One operation left out, or done twice, so that a test can see the checker of counts refuse it.
//!
//! For tests only, as `Cure` is: a checker that nobody has seen refuse anything checks nothing.

use super::operation::Operations;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Value};

/// Which operation of the module, in the order in which they are placed, and what is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The operation's number.
    pub number: usize,
    /// It is done twice; otherwise it is left out.
    pub twice: bool,
}

/// Does the damage if the operation is one of `function`, whose first is number `before`. Answers how many operations there
/// are, and what was damaged.
pub(super) fn apply(
    builder: &Builder,
    operations: &Operations,
    function: Value,
    damage: Damage,
    before: usize,
) -> (usize, Option<String>) {
    let calls: Vec<Call> = function.calls().filter(|&call| operations.of_call(call).is_some()).collect();
    let victim = damage.number.checked_sub(before).and_then(|place| calls.get(place));
    let name = victim.map(|call| {
        let name = call.callee().name();
        if damage.twice {
            builder.before(call.value());
            builder.call(call.function_type(), call.callee(), &call.arguments());
        } else {
            call.remove();
        }
        name
    });
    (calls.len(), name)
}
