//! The compiler side of Tally: from LLVM IR, or C, to a running program.
//!
//! `pipeline` has the stages in order: load, verify, lower, verify, optimise, emit. Around it are the two ways to run
//! the result (`jit`, `aot`) and the `tally` command, which is `command`, with one file per subcommand, and which `main.rs` calls. LLVM appears in this crate only: the heap and the collector know nothing of it. This crate knows of
//! them only the list `tally_compiled::for_each_runtime_symbol!` and the `repr(C)` layouts.

#![warn(unreachable_pub)]

pub mod analysis;
pub mod aot;
mod command;
pub mod diagnostic;
pub mod emit;
pub mod guard;
pub mod jit;
mod llvm;
pub mod load;
pub mod lower;
pub mod maps;
pub mod pipeline;
pub mod verify;

#[doc(hidden)]
pub use command::{main as run_command, parse_command_line};

/// The wrapper of LLVM whose modules the functions here take.
pub use inkwell;

/// The example of the document for hosts, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/port/embedding.md")]
struct EmbeddingDocument;
