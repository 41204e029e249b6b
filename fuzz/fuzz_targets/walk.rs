//! Any words as a stack, under the table of a real section.
//!
//! `cargo fuzz run walk`; `stack-roots/tests/suite/damaged_sections.rs` runs the corpus, and walks damaged stacks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::walk;

fuzz_target!(|bytes: &[u8]| {
    walk::check(bytes);
});
