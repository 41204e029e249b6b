//! The oracle: a second, much simpler definition of the heap's behaviour, and machinery to compare the two.
//!
//! * `shape.rs`: the kinds of object programs allocate; `op.rs`: the Op language, with the heap's services in
//!   `op/service.rs` and the actions of finalizers in `op/deed.rs`; `op_text.rs`: any text as a program;
//!   `strategies.rs`: random programs
//! * `model_heap.rs`: the plain graph that knows what must be live and what must be gone
//! * `heap_under_test.rs`: the interface of a heap for the driver; `tally_heap.rs`: the real one behind it (with
//!   `descriptors.rs`); `toy_heap.rs`: a simple one that can be made wrong, to test the oracle
//! * `replay.rs`: the driver, which runs a program on both and compares; `recount.rs`: a second recount of the real
//!   heap
//! * `setup.rs`: the ways a heap is set up for a run, and `check`, which most tests call
//! * `shrink.rs`: makes a failing program short, `minimise.rs` one that may kill its process; `failure_report.rs`:
//!   its report and picture; `origin.rs`: its place in a series; `journal.rs`: the program that killed a process
//! * `protocol.rs`: the protocol between the mutator's log and the sliced passes as a model that is searched whole
//! * `random_program.rs`: random C programs through the whole pipeline, compared with the same over `calloc`
//! * `second_opinion.rs`: roots as LLVM's shadow stack has them, against the maps
//! * `destruction.rs`: random C programs whose destructors print, and the definition of when each should
//!
//! The runtime uses nothing from here. Tests that need it are in `tests/tests/`; `src/bin/soak.rs` runs for any
//! length of time, `src/bin/replay.rs` runs a failed program again (`cargo xtask replay`).

/// The example in the document of services, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/use/services.md")]
struct ServicesDocument;

pub mod descriptors;
pub mod destruction;
pub mod failure_report;
pub mod heap_under_test;
pub mod journal;
pub mod minimise;
pub mod model_heap;
pub mod op;
pub mod op_text;
pub mod origin;
pub mod protocol;
pub mod random_program;
pub mod recount;
pub mod replay;
pub mod second_opinion;
pub mod setup;
pub mod shape;
pub mod shrink;
pub mod strategies;
pub mod tally_heap;
pub mod toy_heap;
