//! Landing pads of type `token`, which LLVM wants for `RewriteStatepointsForGC`: a relocation behind a call that unwinds
//! names the pad. Where roots are inferred there are no relocations, and a pad is as in any other language.

use crate::llvm::{Builder, Opcode, TypeKind, Value};

/// Gives the landing pads whose token nobody uses the type that C and C++ have.
pub(super) fn adapt(builder: &Builder, function: Value) {
    if !function.has_personality() {
        return;
    }
    let module = builder.module();
    let of = module.structure(&[module.pointer(), module.integer(32)]);
    let is_unused = |pad: &Value| {
        pad.is(Opcode::LLVMLandingPad)
            && pad.type_of().kind() == TypeKind::LLVMTokenTypeKind
            && pad.users().next().is_none()
    };
    for pad in function.instructions().into_iter().filter(is_unused) {
        builder.landing_pad_like(pad, of);
        pad.erase();
    }
}
