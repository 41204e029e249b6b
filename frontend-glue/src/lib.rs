//! The compiler side of Tally: from LLVM IR, or C, to a running program.
//!
//! The story is told in `pipeline`: load, verify, lower, verify, optimise, emit. Around it stand
//! the two ways to run what comes out (`jit`, `aot`) and the `tally` command, which is `main.rs`
//! with one file per subcommand under `command/`. LLVM appears in this crate only; the heap and
//! the collector know nothing of it, and this crate knows of them what
//! `rc_runtime::for_each_runtime_symbol!` and the `repr(C)` layouts say.

pub mod aot;
pub mod c_frontend;
pub mod clang;
pub mod constructors;
pub mod emit;
pub mod jit;
pub mod level;
pub mod line_table;
pub mod llvm_messages;
pub mod load;
pub mod object_file;
pub mod orc;
pub mod output_file;
pub mod pipeline;
pub mod placed_object;
pub mod root_listing;
pub mod target;
pub mod thread_locals;
pub mod whole_program;
mod callee;
pub mod diagnostic;
mod flow;
mod llvm;
pub mod lower;
pub mod verify;
