//! What lowering and verifying both ask of a function: what a call means, who calls it, and how control flows.
pub(crate) mod callee;
pub mod callers;
pub(crate) mod flow;
