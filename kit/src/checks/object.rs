//! Any bytes as an object: finished, placed, listed. Nothing may panic, read out of bounds or take memory without end.

use tally_llvm::emit::object_file;
use tally_llvm::maps::placed_object::PlacedObject;
use tally_llvm::maps::root_listing;

/// Returns the number of listed calls; `None` when the object was refused.
pub fn check(bytes: &[u8]) -> Option<usize> {
    let _ = object_file::finish(&mut bytes.to_vec());
    let placed = PlacedObject::read(bytes).ok()?;
    let calls = root_listing::list(&placed).ok()?;
    assert!(calls.len() <= bytes.len(), "a call takes a byte at least");
    Some(calls.len())
}
