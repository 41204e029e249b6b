//! Any bytes as a stack map section.
//!
//! `cargo fuzz run stack_map`; `stack-roots/tests/damaged_sections.rs` runs the corpus, and a second of damage to real sections.
#![no_main]

#[path = "../checks/stack_map.rs"]
mod stack_map;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    stack_map::check(bytes);
});
