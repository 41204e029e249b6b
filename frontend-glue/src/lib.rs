//! The compiler side of Tally: from LLVM IR, or C, to a running program.
//!
//! The story is told in `pipeline`: load, verify, lower, verify, optimise, emit. Around it stand
//! the two ways to run what comes out (`jit`, `aot`) and the `tally` command, which is `main.rs`
//! with one file per subcommand under `command/`. LLVM appears in this crate only; the heap and
//! the collector know nothing of it, and this crate knows of them what
//! `tally_heap::for_each_runtime_symbol!` and the `repr(C)` layouts say.

pub mod aot;
mod appending;
pub mod c_frontend;
mod callee;
pub mod callee_copy;
pub mod callers;
pub mod clang;
pub mod constructors;
pub mod crash_net;
pub mod diagnostic;
pub mod emit;
mod flow;
pub mod jit;
pub mod level;
pub mod line_table;
mod llvm;
pub mod llvm_messages;
pub mod load;
pub mod lower;
pub mod memory_limit;
pub mod object_file;
pub mod orc;
mod out_of_memory;
pub mod output_file;
pub mod pipeline;
pub mod placed_object;
pub mod root_listing;
mod sibling_calls;
pub mod source_file;
pub mod target;
pub mod thread_locals;
pub mod type_description;
mod undefined_symbols;
pub mod verify;
pub mod whole_program;
pub mod zeal_default;

/// The example in the document for hosts, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
struct EmbeddingDocument;
