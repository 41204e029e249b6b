//! The `tally` command as a user meets it: what it prints, what it leaves, how it ends.

mod build;
mod deaths;
mod diagnostics;
mod gdb;
mod global_tables;
mod headers;
mod input_errors;
mod jit_in_tools;
mod machine;
mod managed;
mod mixed;
mod plans;
mod riscv;
mod run;
mod size;
mod toolchain;
mod usage;
