//! Modules of LLVM's `statepoint-example` and `coreclr` whose references no slot can root get LLVM's statepoints instead.
//!
//! A vector of references that outlives a safepoint, and `llvm.experimental.deoptimize`, whose callee is given references of a frame
//! that is gone: for both LLVM's own pass `rewrite-statepoints-for-gc` names the roots, and the maps of statepoints are read on the
//! trace plan anyway (`verify/source/foreign.rs`). The pass knows less than Tally elsewhere: references in aggregates, variables and global
//! variables are lost to it. So a module that has those as well is left to the checks, which refuse it.

use super::references::References;
use crate::llvm::{Module, Opcode, Type, TypeKind, Value};
use crate::lower::global_slots::global_behind;

const DEOPTIMIZE: &str = "llvm.experimental.deoptimize.";

/// Puts statepoints into the module, whose functions all have a strategy that LLVM compiles to some, where that is the way to name its
/// roots. Whether it did.
pub(crate) fn put_in(module: Module, functions: &[Value]) -> bool {
    let references = References { every: false, plain_arguments: false };
    let instructions = || functions.iter().flat_map(|function| function.instructions());
    let has_vectors = |of: Type| of.kind() == TypeKind::LLVMVectorTypeKind && references.may_carry(of);
    let is_wanted = instructions().any(|place| {
        let deoptimizes = || place.as_call().is_some_and(|call| call.callee().name().starts_with(DEOPTIMIZE));
        types_at(place).any(has_vectors) || deoptimizes()
    });
    let has_slots = module.function("llvm.gcroot").is_some_and(|intrinsic| intrinsic.users().next().is_some());
    if !is_wanted || has_slots || instructions().any(|place| is_lost(references, place)) {
        return false;
    }
    module.run_passes("rewrite-statepoints-for-gc");
    true
}

fn types_at(place: Value) -> impl Iterator<Item = Type> {
    place.operands().chain([place]).map(Value::type_of)
}

/// Whether the pass would not see a reference here.
fn is_lost(references: References, place: Value) -> bool {
    let is_apart = |of: Type| {
        let is_single = of.is_pointer() || of.kind() == TypeKind::LLVMVectorTypeKind;
        references.may_carry(of) && !is_single
    };
    let is_variable = || place.is(Opcode::LLVMAlloca) && references.may_carry(place.allocated_type());
    let is_in_global = || {
        place.is(Opcode::LLVMStore)
            && references.may_carry(place.operand(0).type_of())
            && global_behind(place.operand(1)).is_some()
    };
    types_at(place).any(is_apart) || is_variable() || is_in_global()
}
