//! Damaged input: bytes that are changed by a seed, and limits for the cost of reading them.

pub mod budget;
pub mod mutation;
