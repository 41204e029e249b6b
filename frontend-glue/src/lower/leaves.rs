//! Plain functions that reach no managed code: their calls need no bundles, and keep their tail calls.
//!
//! A bundle names slots of the frame that makes the call, so LLVM keeps that frame, and a loop made of sibling calls
//! fills the stack. Every function of the module gets bundles because a bare call, inlined into a rooted function,
//! would lose the caller's roots. A function that calls only leaves and functions of its kind is the exception: none
//! of its calls ever reaches a safepoint, wherever it is inlined. Functions that call each other in a circle are of
//! that kind together. A call through a pointer, or of a function of another module, may reach anything.

use crate::analysis::callee::{Callee, Callees};
use crate::analysis::fixed_point::largest;
use crate::llvm::{HandleSet, Value};
use crate::verify::library;

/// Those of the module's functions that are neither managed nor reach a safepoint.
pub(super) fn plain_leaves(callees: &Callees, bodies: &[Value], managed: &HandleSet<Value>) -> HandleSet<Value> {
    let candidates = bodies.iter().copied().filter(|function| {
        // The runtime's functions are safepoints by name, wherever they are defined.
        let is_ours = crate::analysis::callee::runtime_symbol(&function.name()).is_some();
        !managed.contains(function) && !function.may_be_replaced() && function.gc().is_none() && !is_ours
    });
    largest(candidates, |leaves, function| {
        function.calls().all(|call| {
            let callee = call.callee();
            match callees.of_call(call) {
                Callee::PatchPoint => false,
                Callee::Ordinary if callees.is_safepoint(call) => {
                    leaves.contains(&callee) || library::may_be_called_bare(callee)
                }
                _ => !callees.is_safepoint(call),
            }
        })
    })
}
