//! Analyses of functions for the lowering and the verifier: the meaning of their calls, their callers, sets of functions that
//! depend on each other through calls, control flow, dominators, and the calls that return what they were given.

pub(crate) mod callee;
pub mod callers;
pub(crate) mod dominators;
pub(crate) mod fixed_point;
pub(crate) mod flow;
pub(crate) mod same_object;
