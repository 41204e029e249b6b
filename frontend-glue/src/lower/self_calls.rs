//! Functions whose last call is one of themselves become loops, before that call carries roots: LLVM makes none of it then.
//!
//! Where callers keep the objects of plain arguments, that comes before roots are inferred: the loop has no caller of its own.

use crate::analysis::fixed_point::callers;
use crate::llvm::Value;

/// Runs LLVM's pass for it, only where a function calls itself: with its analyses it costs as much as half of the lowering.
pub(super) fn become_loops(bodies: &[Value]) {
    for function in bodies.iter().filter(|function| calls_itself(**function)) {
        function.run_function_passes("tailcallelim");
    }
}

fn calls_itself(function: Value) -> bool {
    callers(function).any(|caller| caller == function)
}
