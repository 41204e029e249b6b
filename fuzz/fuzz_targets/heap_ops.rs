//! Any bytes as an op program, on the heap and on the model heap, in the setup that the first byte names.
//!
//! `cargo fuzz run heap_ops`; `tests/tests/suite/heap_ops.rs` runs the corpus and edits to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_tests::op_text;

fuzz_target!(|bytes: &[u8]| {
    op_text::check(bytes);
});
