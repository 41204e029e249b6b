//! The tests of the lowering's surroundings and of the `tally` command, in one executable: each module is a suite. `cargo test -p tally-llvm --test suite boundaries::` runs one alone.

mod address_taken_roots;
mod asked_safepoints;
mod boundaries;
mod cli;
mod damaged_counts;
mod hazards;
mod inferred_roots;
mod ir_contract;
mod map_formats;
mod objc_arc;
mod readers;
mod scale;
mod strategies;
mod untouched;

tally_kit::counting_allocator!();
