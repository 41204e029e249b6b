//! What a write of a reference means, clause by clause: a property test for each clause of docs/port/barriers.md, which names them.
//!
//! The tests look at the heap's own tables (unlogged bits, log, counts), because the clauses speak of these. What a program
//! sees of all this is tested in `tests/tests/suite/barriers.rs` and with random programs.

mod deferred;
mod moves;
mod prompt;
mod scene;
