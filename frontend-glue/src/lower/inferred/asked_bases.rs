//! `llvm.experimental.gc.get.pointer.base` and `.offset`: a frontend asks which object a pointer leads into, and how far
//! (LLVM's *Garbage Collection Safepoints in LLVM*). `RewriteStatepointsForGC` answers that where statepoints are put in; where
//! roots are inferred the bases are known as well, and LLVM's code generator knows neither intrinsic.

use super::bases::Bases;
use crate::llvm::call::Call;
use crate::llvm::{Builder, Opcode, Value};

const BASE: &str = "llvm.experimental.gc.get.pointer.base.";
const OFFSET: &str = "llvm.experimental.gc.get.pointer.offset.";

/// Puts bases and offsets in place of the calls that ask for them. A pointer that leads into no object is its own base.
pub(super) fn answer(builder: &Builder, bases: &Bases, function: Value) {
    let asks = |call: &Call, what: &str| call.callee().is_function() && call.callee().name().starts_with(what);
    let (offsets, others): (Vec<Call>, Vec<Call>) = function.calls().partition(|call| asks(call, OFFSET));
    for call in offsets {
        let pointer = call.argument(0);
        builder.before(call.value());
        let number = |pointer: Value| builder.cast(Opcode::LLVMPtrToInt, pointer, call.value().type_of());
        let offset = builder.binary(Opcode::LLVMSub, number(pointer), number(base(builder, bases, pointer)));
        replace(call, offset);
    }
    for call in others.into_iter().filter(|call| asks(call, BASE)) {
        builder.before(call.value());
        let of = base(builder, bases, call.argument(0));
        replace(
            call,
            if of.type_of() == call.value().type_of() {
                of
            } else {
                builder.cast(Opcode::LLVMAddrSpaceCast, of, call.value().type_of())
            },
        );
    }
}

fn base(builder: &Builder, bases: &Bases, pointer: Value) -> Value {
    match bases.of(pointer).map(|number| bases.all[number]) {
        Some(base) if base.type_of() == pointer.type_of() => base,
        Some(base) => builder.cast(Opcode::LLVMAddrSpaceCast, base, pointer.type_of()),
        None => pointer,
    }
}

fn replace(call: Call, answer: Value) {
    call.value().replace_all_uses(answer);
    call.value().erase();
}
