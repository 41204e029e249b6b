//! Deoptimisation state of the frontend's own, the operands of the "deopt" bundles that it has written, is kept beside roots.
//!
//! Both travel to the stack map in the one bundle that LLVM knows there (`bundle.rs`). Each operand of the frontend's becomes a
//! pair of [`STATE_ID`] and itself: the inliner concatenates bundles, and pairs stay pairs. The frontend reads its operands where
//! LLVM describes them, in the record of the call; Tally steps over them.

use crate::llvm::call::{Call, DEOPT};
use crate::llvm::{Builder, Module, Value};
use stack_roots::STATE_ID;

/// Pairs up the operands of all "deopt" bundles of calls; those of intrinsics are the intrinsics' own business.
pub(super) fn pair_up(module: Module) {
    let builder = Builder::new(module);
    let marker = builder.i64(STATE_ID);
    for function in module.functions().filter(|function| function.has_body()) {
        let carries: Vec<Call> = function.calls().filter(|call| call.has_bundles()).collect();
        for call in carries {
            if let Some(state) = call.bundle(DEOPT)
                && call.callee().intrinsic_id() == 0
            {
                let pairs: Vec<Value> = state.into_iter().flat_map(|operand| [marker, operand]).collect();
                call.without_bundle(&builder, DEOPT).rebuild(&builder, &pairs);
            }
        }
    }
}
