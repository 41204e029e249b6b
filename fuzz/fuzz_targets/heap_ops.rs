//! Any bytes as an op program, on the heap and on the model heap, in the setup that the first byte names.
//!
//! `cargo fuzz run heap_ops`; `tests/tests/heap_ops.rs` runs the corpus and a second of random bytes.
#![no_main]

#[path = "../checks/heap_ops.rs"]
mod heap_ops;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    heap_ops::check(bytes);
});
