//! Any bytes as a compact stack map: read, looked up where it lies. Nothing may panic or read out of bounds.

use stack_roots::{CompactTable, Lookup, compact_map};

/// The address that the map is taken to have.
const MAP: u64 = 1 << 40;

/// Returns whether the map was read and its code found.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(map) = compact_map::read(bytes) else { return false };
    assert!(map.bytes().len() <= bytes.len());
    let Ok(table) = CompactTable::new(map, |group| Some(group.address(MAP))) else { return false };
    for frame in table.frames().take(4096) {
        assert!(table.lookup(frame.pc).is_some(), "a frame that is listed is found");
        assert_eq!(frame.roots.iter().count(), frame.roots.len());
        let _ = frame.function();
    }
    true
}
