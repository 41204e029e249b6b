//! The library from outside, in one executable: each module is a suite. `cargo test -p tally-c --test suite host::` runs one alone.

mod frontends;
mod host;
