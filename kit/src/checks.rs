//! Any bytes before a reader, one module for each kind of input: the fuzz target and the suite of damaged input run the same.

pub mod descriptor;
#[cfg(feature = "llvm")]
pub mod module;
#[cfg(feature = "llvm")]
pub mod object;
pub mod stack_map;
pub mod walk;
