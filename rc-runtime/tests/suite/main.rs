//! The tests of descriptors that somebody else wrote: each module is a suite. `cargo test -p tally-heap --test suite damaged_descriptors::` runs one alone.

mod damaged_descriptors;

tally_kit::counting_allocator!();
