//! Any bytes as an object: finished, placed, listed. Nothing may panic, read out of bounds or take memory without end.
//!
//! `cargo fuzz run object corpus/object -- -rss_limit_mb=1024`, with objects of `tally lower` and `llc` in the corpus; the
//! same check runs on damaged examples in `frontend-glue`'s tests.
#![no_main]

use frontend_glue::object_file;
use frontend_glue::placed_object::PlacedObject;
use frontend_glue::root_listing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = object_file::finish(&mut bytes.to_vec());
    let Ok(placed) = PlacedObject::read(bytes) else { return };
    if let Ok(calls) = root_listing::list(&placed) {
        assert!(calls.len() * 24 <= bytes.len(), "a record takes 24 bytes");
    }
});
