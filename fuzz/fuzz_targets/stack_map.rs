//! Any bytes as a stack map section: read, tabulated, looked up. Nothing may panic or read out of bounds.
//!
//! `cargo fuzz run stack_map`; the same check runs on mutated real sections in `stack-roots`' tests.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stack_roots::{FrameTable, Lookup, stack_map};

fuzz_target!(|bytes: &[u8]| {
    let Ok(map) = stack_map::read(bytes) else { return };
    let records = map.records().count();
    if let Ok(table) = FrameTable::build(&map, |function| Some(function.address)) {
        assert!(table.len() + table.foreign_records() <= records);
        for frame in table.frames() {
            assert!(table.lookup(frame.pc).is_some(), "a frame that is listed is found");
        }
    }
});
