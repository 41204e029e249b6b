//! The runtime of compiled programs: their C symbols, modules, stacks, threads and life.
//!
//! | module | content |
//! |---|---|
//! | [`symbols`], [`abi`] | the functions that compiled programs and hosts in C call |
//! | [`module`] | the records of compiled modules, and the modules that are loaded |
//! | [`stack`] | the roots in frames of compiled code, and the return of the program to a frame |
//! | [`program`] | the life of a program around its `main`: options, heap, statistics, leak check |
//! | [`thread`] | the life of a thread's heap, and the message about a full stack |
//!
//! The heap and the collector know nothing of this crate: a heap is made with a
//! [`RootSource`](tally_collector::root_source::RootSource), which asks the stack for roots.

#![warn(unreachable_pub)]

#[macro_use]
mod leaf;

pub mod abi;
mod arch;
pub mod module;
pub mod program;
pub mod stack;
pub mod symbols;
pub mod thread;

pub use thread::stack_overflow;
