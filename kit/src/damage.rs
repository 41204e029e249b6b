//! Damaged input: bytes that are changed by a seed, and what reading them may cost.

pub mod budget;
pub mod mutation;
