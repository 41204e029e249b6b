//! Any bytes as a stack map section: read, tabulated, looked up. Nothing may panic or read out of bounds.

use stack_roots::{FrameTable, Lookup, stack_map};

/// Returns whether a table was made of the section.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(map) = stack_map::read(bytes) else { return false };
    let records = map.records().count();
    let Ok(table) = FrameTable::build(&map, |function| Some(function.address)) else { return false };
    assert!(table.len() + table.foreign_records() <= records);
    for frame in table.frames() {
        assert!(table.lookup(frame.pc).is_some(), "a frame that is listed is found");
    }
    true
}
