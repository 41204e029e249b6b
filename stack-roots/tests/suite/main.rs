//! The tests of the stack map's readers and of walks, in one executable: each module is a suite. `cargo test -p stack-roots --test suite damaged_sections::` runs one alone.

mod damaged_maps;
mod damaged_sections;
mod damaged_tables;
mod frames_of_aarch64;
mod frames_of_riscv64;
mod native_frames;

tally_kit::counting_allocator!();
