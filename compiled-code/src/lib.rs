//! What exists only because compiled programs run: their C symbols, their modules, their stacks, threads and life.
//!
//! | room | question it answers |
//! |---|---|
//! | [`symbols`], [`abi`] | what do compiled programs and hosts in C call? |
//! | [`module`] | what does a compiled module tell us about itself, and which modules are loaded? |
//! | [`stack`] | which roots do the frames of compiled code hold, and when does the program come back to one? |
//! | [`program`] | the life of a program around its `main`: options, heap, statistics, leak check |
//! | [`thread`] | the life of a thread's heap, and what a full stack says |
//!
//! The heap and the collector know nothing of this crate: a heap is made with a
//! [`RootSource`](tally_collector::root_source::RootSource), which asks the stack for roots.

pub mod abi;
pub mod module;
pub mod program;
pub mod stack;
pub mod symbols;
pub mod thread;

pub use thread::stack_overflow;
