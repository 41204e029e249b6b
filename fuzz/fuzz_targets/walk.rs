//! Any words as a stack, under the table of a real section.
//!
//! `cargo fuzz run walk`; `stack-roots/tests/damaged_sections.rs` runs the corpus, and walks a second of damaged stacks.
#![no_main]

#[path = "../checks/walk.rs"]
mod walk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    walk::check(bytes);
});
