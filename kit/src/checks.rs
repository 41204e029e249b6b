//! Checks that give any bytes to a reader, one module for each kind of input. The fuzz target and the suite of
//! damaged input run the same check.

pub mod compact_map;
pub mod descriptor;
pub mod foreign_tables;
#[cfg(feature = "llvm")]
pub mod module;
#[cfg(feature = "llvm")]
pub mod object;
pub mod stack_map;
pub mod walk;
