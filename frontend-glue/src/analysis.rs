//! Analyses of a function for the lowering and the verifier: the meaning of its calls, its callers, its control flow,
//! its dominators, and the calls that return what they were given.
pub(crate) mod callee;
pub mod callers;
pub(crate) mod dominators;
pub(crate) mod flow;
pub(crate) mod same_object;
