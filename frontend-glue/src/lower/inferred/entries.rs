//! The arguments of coroutines' entries.
//!
//! Where every pointer is a reference, a function has no root of its plain arguments: its caller keeps them. What calls an entry is
//! a switch, which returns at the coroutine's first. So the stack keeps the argument, by a call in front of each switch that may be
//! the first to it. The value of a switch is an object's address, as a result is.

use crate::llvm::{Builder, Opcode, Value};
use crate::lower::runtime::declare;

const SWITCH: &str = "tally_stack_switch";
const KEEP: &str = "tally_stack_keep";

/// Puts those calls in front of the function's switches.
pub(super) fn keep_arguments(builder: &Builder, function: Value) {
    // A switch to null yields: that stack has begun.
    let hands_over = |arguments: &[Value]| arguments.len() == 2 && !arguments.iter().any(|it| it.is_null());
    for call in function.calls().filter(|call| call.callee().name() == SWITCH).collect::<Vec<_>>() {
        let arguments = call.arguments();
        if !hands_over(&arguments) {
            continue;
        }
        let pointer = builder.module().pointer();
        builder.before(call.value());
        let plain = |value: Value| match value.type_of().is_plain_pointer() {
            true => value,
            false => builder.cast(Opcode::LLVMAddrSpaceCast, value, pointer),
        };
        let keep = declare(builder.module(), KEEP);
        builder.call(keep.value_type(), keep, &[plain(arguments[0]), plain(arguments[1])]);
    }
}
