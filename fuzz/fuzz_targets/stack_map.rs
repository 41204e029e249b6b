//! Any bytes as a stack map section.
//!
//! `cargo fuzz run stack_map`; `stack-roots/tests/suite/damaged_sections.rs` runs the corpus, and damage to real sections.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::stack_map;

fuzz_target!(|bytes: &[u8]| {
    stack_map::check(bytes);
});
