//! Any bytes as an object: finished, placed, listed.
//!
//! `cargo fuzz run object -- -rss_limit_mb=1024`, with more objects of `tally lower` and `llc` if they may be large;
//! `frontend-glue/tests/readers/damaged.rs` runs the corpus, and a second of damage to the objects of examples.
#![no_main]

#[path = "../checks/object.rs"]
mod object;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    object::check(bytes);
});
