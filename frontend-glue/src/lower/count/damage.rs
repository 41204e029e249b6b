//! Leaves one operation out, or does it twice, so that a test can show that the checker of counts refuses it.
//!
//! For tests only: they show that the checker refuses something at all.

use super::operation::Operations;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Value};

/// An operation of the module, in the order in which they are placed, and the damage to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The operation's number.
    pub number: usize,
    /// It is done twice; otherwise it is left out.
    pub twice: bool,
}

/// Does the damage if the operation is one of `function`, whose first is number `before`. Returns the number of
/// operations, and the one that was damaged.
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
            let of = call.value().type_of();
            if !of.is_void() {
                call.value().replace_all_uses(of.null());
            }
            call.remove();
        }
        name
    });
    (calls.len(), name)
}
