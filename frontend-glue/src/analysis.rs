//! Analyses of a function for the lowering and the verifier: the meaning of its calls, its callers, and its control
//! flow.
pub(crate) mod callee;
pub mod callers;
pub(crate) mod flow;
