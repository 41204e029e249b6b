//! The oracle: what the heap must do, said a second time and much more simply, and machinery to compare.
//!
//! * `shape.rs`: the kinds of object programs allocate; `op.rs`: the Op language; `strategies.rs`: random programs
//! * `model_heap.rs`: the plain graph that knows what must be live and what must be gone
//! * `heap_under_test.rs`: what the driver asks of a heap; `tally_heap.rs`: the real one behind it (with
//!   `descriptors.rs`); `toy_heap.rs`: a simple one that can be made wrong, to test the oracle
//! * `replay.rs`: the driver, which runs a program on both and compares; `recount.rs`: a second recount of the real heap
//! * `shrink.rs`: makes a failing program short
//!
//! Nothing here is used by the runtime. Tests that need it stand in `tests/tests/`; `src/bin/soak.rs` runs as long as one
//! likes.

pub mod descriptors;
pub mod heap_under_test;
pub mod model_heap;
pub mod op;
pub mod replay;
pub mod shape;
pub mod shrink;
pub mod strategies;
pub mod tally_command;
pub mod toy_heap;
