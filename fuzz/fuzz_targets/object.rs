//! Any bytes as an object: finished, placed, listed.
//!
//! `cargo fuzz run object -- -rss_limit_mb=1024`, with more objects of `tally lower` and `llc` if they may be large;
//! `frontend-glue/tests/suite/readers/damaged.rs` runs the corpus, and damage to the objects of examples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tally_kit::checks::object;

fuzz_target!(|bytes: &[u8]| {
    object::check(bytes);
});
