//! Any bytes as a compact stack map.
//!
//! `cargo fuzz run compact_map`; `stack-roots/tests/suite/damaged_maps.rs` runs the same over damage to sound maps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::compact_map;

fuzz_target!(|bytes: &[u8]| {
    compact_map::check(bytes);
});
