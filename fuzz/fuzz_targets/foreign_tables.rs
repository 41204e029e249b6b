//! Any bytes as a table of frames that another tool wrote.
//!
//! `cargo fuzz run foreign_tables`; `stack-roots/tests/suite/damaged_tables.rs` runs damage to sound tables.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::foreign_tables;

fuzz_target!(|bytes: &[u8]| {
    foreign_tables::check(bytes);
});
