//! Any bytes as a type descriptor, and an object of that type.
//!
//! `cargo fuzz run descriptor`; `rc-runtime/tests/suite/damaged_descriptors.rs` runs the corpus and damage to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::descriptor;

fuzz_target!(|bytes: &[u8]| {
    descriptor::check(bytes);
});
