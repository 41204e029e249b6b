//! Any bytes as a type descriptor, and an object of that type.
//!
//! `cargo fuzz run descriptor`; `rc-runtime/tests/damaged_descriptors.rs` runs the corpus and a second of damage to it.
#![no_main]

#[path = "../checks/descriptor.rs"]
mod descriptor;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    descriptor::check(bytes);
});
